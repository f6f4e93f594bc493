import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { repositoryRoot } from '../../stack/spawn.ts'
import { createCaller, type Person } from '../support/caller.ts'
import { atSize, isProof } from '../support/sizes.ts'
import { endStates, type Runs, runsOf } from '../support/workflows.ts'
import { calmStack } from './support/shared-stacks.ts'

interface Case {
  name: string
  kind: 'valid' | 'invalid'
  workspaceId: string
  definition: Record<string, unknown>
  inputs: unknown
  agents?: Record<string, string>
  resumes?: {
    stepId?: string
    resumeData: unknown
    expect: { http: number; code?: string; thenStatus?: string; suspended?: string[] }
  }[]
  expected: {
    status: string
    result?: unknown
    error?: Record<string, unknown>
    steps: Record<string, { status: string; output?: unknown }>
  }
}

const folder = join(repositoryRoot, 'packages/server/test/machinery/graph/corpus')
const valid = readdirSync(folder)
  .sort()
  .map((file): Case => JSON.parse(readFileSync(join(folder, file), 'utf8')))
  .filter(({ kind }) => kind === 'valid')

let person: Person
let runs: Runs

beforeAll(async () => {
  const { baseUrl } = await calmStack()
  const app = createCaller(baseUrl)
  person = await app.newPerson()
  runs = runsOf(app, person)
  for (const slug of ['writer', 'grader']) {
    const body = { slug, name: slug, instructions: 'Answer.' }
    const answer = await app.call('POST', '/api/v1/agents', { token: person.token, body })
    expect(answer.status, answer.text).toBe(201)
  }
})

/** What an agent says is written into its prompt, which is how the scripted model is told. */
const scripts: Record<string, [prompt: string, step: Record<string, unknown>]> = {
  'v22-workspace-interpolation': [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as the definition has it
    'ws=${workspaceId} who=${initData.who}',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as the definition has it
    { say: 'reply:ws=${workspaceId} who=${initData.who}' },
  ],
  'v23-agent-structured-output': ['grade it', { object: { score: 7, label: 'ok' } }],
}

function scripted({ name, definition }: Case): Record<string, unknown> {
  const [prompt, step] = scripts[name] ?? []
  if (prompt === undefined) return definition
  const told = `${prompt}\n\`\`\`script\n${JSON.stringify({ steps: [step] })}\n\`\`\``
  const graph = definition['graph'] as { mapConfig?: string }[]
  const [first, ...rest] = graph
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1)
  const mapConfig = first?.mapConfig?.replace(inJson(prompt), () => inJson(told))
  return { ...definition, graph: [{ ...first, mapConfig }, ...rest] }
}

/** What needs the engine: a timer, a tool that is tried again, an agent, a person. The server's tests run them all. */
const onTheEngine = /^v(12|15|19|21|23|25)-/
const some = valid.filter(({ name }) => isProof || onTheEngine.test(name))

test('all valid definitions are there', () => {
  expect(valid).toHaveLength(26)
  expect(some).toHaveLength(atSize(6, 26))
})

test.each(some.map((one) => [one.name, one] as const))('%s', async (name, one) => {
  const { expected } = JSON.parse(JSON.stringify(one).replaceAll(one.workspaceId, person.workspaceId)) as Case
  await runs.install(name, scripted(one))
  const runId = await runs.start(name, one.inputs)
  for (const { expect: wanted, ...body } of one.resumes ?? []) {
    await runs.reaches(runId, ['suspended'])
    const answer = await runs.resume(runId, body)
    expect(answer.status, answer.text).toBe(wanted.http)
    if (wanted.code) expect(answer.body.error.code).toBe(wanted.code)
    if (!wanted.thenStatus) continue
    const { steps } = await runs.reaches(runId, [wanted.thenStatus])
    if (!wanted.suspended) continue
    const suspended = Object.entries(steps).filter(([, { status }]) => status === 'suspended')
    expect(suspended.map(([stepId]) => stepId)).toEqual(wanted.suspended)
  }
  const { run, steps } = await runs.reaches(runId, endStates)
  expect(run.status, JSON.stringify(run.snapshot.error)).toBe(expected.status)
  if (expected.status === 'success') expect(run.snapshot.result).toEqual(expected.result)
  if (expected.error) expect(run.snapshot.error).toMatchObject(expected.error)
  // A step that prompts an agent also holds what the scripted model is told.
  const prompting = one.agents ? ['ask'] : []
  const seen = Object.keys(steps).filter((stepId) => !prompting.includes(stepId))
  expect(seen.sort()).toEqual(
    Object.keys(expected.steps)
      .filter((id) => !prompting.includes(id))
      .sort(),
  )
  for (const stepId of seen) expect(steps[stepId], stepId).toMatchObject(expected.steps[stepId] ?? {})
})
