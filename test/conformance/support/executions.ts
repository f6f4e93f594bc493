import type { Step } from '../../../stack/model-endpoint/step.ts'
import { must, newPerson, type Person } from './actors.ts'
import type { Answer, Caller, SendOptions } from './client.ts'
import { openStream, type StreamFrame } from './event-streams.ts'

export interface ExecutionEvent {
  id: string
  type: string
  sequence: number
  payload: Record<string, unknown>
}

export interface Started {
  executionId: string
  skillName: string
  status: string
  message: string
  sseUrl: string
  parentExecutionId?: string
}

export interface Status {
  executionId: string
  status: string
  skillSlug: string
  skillName: string
  stopReason: string | null
  cost: number
  startedAt: string | null
  completedAt: string | null
  parentExecutionId?: string
  outputBlocks: ({ sequence: number; type: string } & Record<string, unknown>)[]
}

export interface Item extends Omit<Status, 'outputBlocks'> {
  id: number
  source: string
  interface: string
  inputText: string
}

export interface Page {
  items: Item[]
  hasMore: boolean
  limit: number
  offset: number
}

export interface Canceled {
  success: boolean
  message: string
  processKilled: boolean
  actualStatus: string
}

export const errand = 'errand'
export const interrupt = { type: 'user.interrupt' }

/** An input by which the person decides what the deployment's scripted model says. */
export function script(...steps: Step[]): string {
  return `Run this.\n\`\`\`script\n${JSON.stringify({ steps })}\n\`\`\``
}

export const quick = script({ say: 'Done at once.' })
/** Busy for as long as any test takes. */
export const lasting = script({ say: 'Working.', tools: [bash('sleep 100')] })

/** Its model refuses to answer, as often as it is asked. */
export const broken = script({ fail: { status: 400, times: 1_000_000 } })

export function bash(command: string) {
  return { name: 'bash', input: { command } }
}

export function message(text: string) {
  return { type: 'user.message', content: [{ type: 'text', text }] }
}

/** Somebody who has a skill to run. */
export async function newRunner(): Promise<Person> {
  const person = await newPerson()
  await installSkill(person)
  return person
}

export async function installSkill(caller: Caller, slug = errand, options?: SendOptions): Promise<void> {
  const artifactId = await newSkillArtifact(caller, slug, options)
  must(await caller.post(`/skills/${slug}/install`, { artifactId }, options), 200)
}

export async function newSkillArtifact(caller: Caller, slug: string, options?: SendOptions): Promise<string> {
  const content = `---\nname: ${slug}\ndescription: Runs an errand when asked to.\n---\nRun the errand.\n`
  const body = { type: 'skill', files: [{ path: 'SKILL.md', content }] }
  return must(await caller.post<{ id: string }>('/artifacts', body, options), 201).id
}

export function run(caller: Caller, input: unknown, fields: object = {}, options?: SendOptions) {
  return caller.post<Started>(`/skills/${errand}/run`, { input, ...fields }, options)
}

export async function mustRun(
  caller: Caller,
  input: string,
  fields: object = {},
  options?: SendOptions,
): Promise<string> {
  return must(await run(caller, input, fields, options), 200).executionId
}

export async function prepare(caller: Caller, fields: object = {}, options?: SendOptions): Promise<string> {
  const body = { skill_slug: errand, input: quick, ...fields }
  return must(await caller.post<{ id: string }>('/executions', body, options), 200).id
}

export function post(caller: Caller, executionId: string, event: object, fields: object = {}) {
  return caller.post<{ data: ExecutionEvent[] }>(`/executions/${executionId}/events`, {
    events: [event],
    ...fields,
  })
}

export function rerun(caller: Caller, executionId: string, input: unknown): Promise<Answer<Started>> {
  return caller.post<Started>(`/executions/${executionId}/rerun`, { input })
}

export async function cancel(caller: Caller, executionId: string): Promise<Canceled> {
  return must(await caller.post<Canceled>(`/executions/${executionId}/cancel`), 200)
}

export async function statusOf(caller: Caller, executionId: string): Promise<Status> {
  return must(await caller.get<Status>(`/executions/${executionId}/status`), 200)
}

export async function list(caller: Caller, query = '', options?: SendOptions): Promise<Page> {
  return must(await caller.get<Page>(`/executions${query}`, options), 200)
}

export async function itemOf(caller: Caller, executionId: string): Promise<Item> {
  const { items } = await list(caller, '?limit=50')
  const item = items.find((each) => each.executionId === executionId)
  if (!item) throw new Error(`${executionId} is not in the list`)
  return item
}

export async function streamUrl(
  caller: Caller,
  executionId: string,
  query = '',
  options?: SendOptions,
): Promise<string> {
  const path = `/executions/${executionId}/stream-token`
  return must(await caller.get<{ sseUrl: string }>(path, options), 200).sseUrl + query
}

/** The log of an execution from the beginning to its end, which this waits for. */
export async function readLog(
  caller: Caller,
  executionId: string,
  options?: SendOptions,
): Promise<ExecutionEvent[]> {
  const stream = await openStream(await streamUrl(caller, executionId, '', options))
  await stream.ended
  return stream.frames.map(eventOf)
}

/** Waits for an event of this type in an execution that may still be working. */
export async function seen(caller: Caller, executionId: string, type: string): Promise<ExecutionEvent> {
  const stream = await openStream(await streamUrl(caller, executionId))
  try {
    return eventOf(await stream.next((frame) => eventOf(frame).type === type))
  } finally {
    stream.close()
  }
}

export function eventOf(frame: StreamFrame): ExecutionEvent {
  return JSON.parse(frame.data) as ExecutionEvent
}

/** A run from start to end. */
export async function runThrough(caller: Caller, input: string, fields: object = {}) {
  const executionId = await mustRun(caller, input, fields)
  return { executionId, log: await readLog(caller, executionId) }
}

export function typesOf(log: readonly ExecutionEvent[]): string[] {
  return log.map(({ type }) => type)
}

export function only(log: readonly ExecutionEvent[], type: string): ExecutionEvent[] {
  return log.filter((event) => event.type === type)
}

export function stopReasonOf(log: readonly ExecutionEvent[]): { type?: string; code?: string } {
  return (log.at(-1)?.payload['stop_reason'] ?? {}) as { type?: string; code?: string }
}
