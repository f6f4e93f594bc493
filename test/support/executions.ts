import { setTimeout as delay } from 'node:timers/promises'
import type { Step } from '../../stack/model-endpoint/step.ts'
import type { Answer, Caller, Person } from './caller.ts'
import { newSkillArtifact, skillText } from './skills.ts'

export interface ExecutionEvent {
  sequence: number
  type: string
  payload: Record<string, unknown>
}

const errand = 'errand'

/** An input by which the person decides what the stack's scripted model says. It may hold another one. */
export function script(...steps: Step[]): string {
  const text = JSON.stringify({ steps }).replaceAll('`', '\\u0060')
  return `Run this.\n\`\`\`script\n${text}\n\`\`\``
}

export function bash(command: string) {
  return { name: 'bash', input: { command } }
}

export function within(workspaceId: string) {
  return { 'x-workspace-id': workspaceId }
}

/** Something to run, in the person's own workspace or in these. */
export async function installErrand(
  app: Caller,
  person: Person,
  workspaceIds: readonly string[] = [person.workspaceId],
): Promise<void> {
  const files = { 'SKILL.md': skillText(errand, 'Run the errand.') }
  for (const headers of workspaceIds.map(within)) {
    const { id } = await newSkillArtifact(app, person, files, headers)
    const body = { artifactId: id }
    const answer = await app.call('POST', `/api/v1/skills/${errand}/install`, {
      token: person.token,
      headers,
      body,
    })
    if (answer.status !== 200) throw new Error(`expected 200, got ${answer.status}: ${answer.text}`)
  }
}

export async function newRunner(app: Caller): Promise<Person> {
  const person = await app.newPerson()
  await installErrand(app, person)
  return person
}

export function runErrand(
  app: Caller,
  person: Person,
  input: string,
  { headers = {}, ...fields }: { headers?: Record<string, string>; maxCost?: number } = {},
): Promise<Answer> {
  const body = { input, ...fields }
  return app.call('POST', `/api/v1/skills/${errand}/run`, { token: person.token, headers, body })
}

export async function mustRun(...args: Parameters<typeof runErrand>): Promise<string> {
  const answer = await patiently(() => runErrand(...args))
  if (answer.status !== 200) throw new Error(`expected 200, got ${answer.status}: ${answer.text}`)
  return answer.body.executionId
}

export async function prepareErrand(app: Caller, person: Person, input: string): Promise<string> {
  const body = { skill_slug: errand, input }
  const answer = await patiently(() => app.call('POST', '/api/v1/executions', { token: person.token, body }))
  if (answer.status !== 200) throw new Error(`expected 200, got ${answer.status}: ${answer.text}`)
  return answer.body.id
}

export function cancelExecution(app: Caller, person: Person, executionId: string): Promise<Answer> {
  return app.call('POST', `/api/v1/executions/${executionId}/cancel`, { token: person.token })
}

/** Asks again while the answer is 503: on a machine that is busy enough the database's connections run out. */
export async function patiently(ask: () => Promise<Answer>, onBusy: () => void = () => {}): Promise<Answer> {
  for (let tried = 1; ; tried++) {
    const answer = await ask()
    if (answer.status !== 503 || tried === 50) return answer
    onBusy()
    await delay(100 + Math.random() * 400)
  }
}

export async function streamUrlOf(app: Caller, person: Person, executionId: string): Promise<string> {
  const path = `/api/v1/executions/${executionId}/stream-token`
  const answer = await patiently(() => app.call('GET', path, { token: person.token }))
  if (answer.status !== 200) throw new Error(`expected 200, got ${answer.status}: ${answer.text}`)
  return answer.body.sseUrl
}

/** The log of an execution to its end, which this waits for. */
export async function readLog(app: Caller, person: Person, executionId: string): Promise<ExecutionEvent[]> {
  const response = await fetch(await streamUrlOf(app, person, executionId))
  return framesOf(await response.text()).map(eventOf)
}

/** Events as they were sent, byte for byte; comments, which are no events, are left out. */
export function framesOf(text: string): string[] {
  return text.split('\n\n').filter((block) => block.startsWith('id: '))
}

export function eventOf(frame: string): ExecutionEvent {
  return JSON.parse(frame.slice(frame.indexOf('\ndata: ') + 7))
}

/** Waits for an event of this type in an execution that may still be working. */
export async function seen(app: Caller, person: Person, executionId: string, type: string): Promise<void> {
  const leaving = new AbortController()
  const response = await fetch(await streamUrlOf(app, person, executionId), { signal: leaving.signal })
  let text = ''
  try {
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString()
      const whole = framesOf(text.slice(0, text.lastIndexOf('\n\n') + 2))
      if (whole.some((frame) => eventOf(frame).type === type)) leaving.abort()
    }
  } catch (error) {
    if (leaving.signal.aborted) return
    throw error
  }
  throw new Error(`${executionId} ended without ${type}: ${text.slice(-500)}`)
}
