import { inject } from 'vitest'
import { must, newPerson, type Person } from './actors.ts'
import type { Answer, Caller, SendOptions } from './client.ts'
import { type OpenStream, openStream } from './event-streams.ts'

export interface WorkflowRecord {
  id: number
  slug: string
  name: string
  description: string
  category: string
  storagePath: string
  installedAt: string
  workspaceId: string
  requiresConnector: string | null
  definition: string
}

interface Snapshot {
  status: string
  result?: unknown
  error?: { code: string; message: string; stepId?: string; details?: Record<string, unknown> }
  context: Record<string, { status: string; output?: unknown; startedAt: number; endedAt?: number }>
  value: unknown
}

export interface RunRecord {
  runId: string
  workflowId: string
  status: string
  resourceId: string
  updatedAt: string
  snapshot: Snapshot
}

export interface RunDetail {
  run: RunRecord
  steps: Record<string, { status: string; output?: unknown; error?: { code: string } }>
}

export interface Launched {
  runId: string
  workflowId: string
  status: string
}

type Definition = Record<string, unknown>
type Entry = Record<string, unknown>

/** A definition that takes and gives anything. */
export function flow(graph: readonly unknown[], fields: Definition = {}): Definition {
  return { id: 'flow', inputSchema: {}, outputSchema: {}, graph, ...fields }
}

export const echo: Entry = { type: 'tool', id: 'echo', toolId: 'echo' }
export const ask: Entry = { type: 'tool', id: 'ask', toolId: 'ask-human' }
/** Longer than any test takes. */
export const nap: Entry = { type: 'sleep', id: 'nap', duration: 600_000 }

export function tool(toolId: string, id = toolId, fields: Entry = {}): Entry {
  return { type: 'tool', id, toolId, ...fields }
}

export function mapping(config: Record<string, unknown>, id = 'map'): Entry {
  return { type: 'mapping', id, mapConfig: JSON.stringify(config) }
}

export const question = mapping({ question: { value: 'Go on?' } }, 'question')

export function install(
  caller: Caller,
  definition: unknown,
  slug = 'flow',
  options?: SendOptions,
): Promise<Answer<WorkflowRecord>> {
  return caller.post<WorkflowRecord>(`/workflows/${slug}/install`, { definition }, options)
}

export async function mustInstall(
  caller: Caller,
  definition: unknown,
  slug?: string,
  options?: SendOptions,
): Promise<WorkflowRecord> {
  return must(await install(caller, definition, slug, options), 201)
}

/** Whether it would be installed: 201, or the codes and places of all that is wrong with it. */
export async function verdictOn(person: Person, graph: readonly unknown[], fields: Definition = {}) {
  return verdictOf(await install(person, flow(graph, fields), 'trial'))
}

export function verdictOf(answer: Answer): number | string[] {
  return answer.status === 400 ? issuesOf(answer).map(({ code, path }) => `${code} ${path}`) : answer.status
}

export function issuesOf({ body, text }: Answer): { code: string; path: string; message: string }[] {
  const { error } = body as { error?: { code: string; details?: { issues?: never[] } } }
  if (error?.code !== 'INVALID_INPUT') throw new Error(`No refusal of a definition: ${text}`)
  return error.details?.issues ?? []
}

export function launch(caller: Caller, inputs: unknown = {}, id = 'flow'): Promise<Answer<Launched>> {
  return caller.post<Launched>(`/workflows/${encodeURIComponent(id)}/launch`, { inputs })
}

export async function mustLaunch(caller: Caller, inputs?: unknown, id?: string): Promise<string> {
  return must(await launch(caller, inputs, id), 201).runId
}

/** Installs and launches. */
export async function begin(
  person: Person,
  graph: readonly unknown[],
  inputs?: unknown,
  fields?: Definition,
): Promise<string> {
  await mustInstall(person, flow(graph, fields))
  return mustLaunch(person, inputs)
}

export async function getRun(caller: Caller, runId: string): Promise<RunDetail> {
  return must(await caller.get<RunDetail>(`/workflows/runs/${runId}`), 200)
}

export function watch(runId: string, { token }: Pick<Person, 'token'>): Promise<OpenStream> {
  const url = `${inject('baseUrl')}/api/v1/workflows/runs/${runId}/events`
  return openStream(url, { 'x-auth-token': token })
}

export interface Frame extends Omit<RunRecord, 'resourceId'> {
  type: string
}

export function framesOf({ frames }: OpenStream): Frame[] {
  return frames.map(({ data }) => JSON.parse(data) as Frame)
}

/** Waits until the run stands still, and tells how. */
export async function settled(person: Person, runId: string): Promise<RunDetail> {
  const stream = await watch(runId, person)
  await stream.ended
  return getRun(person, runId)
}

/** From the install to where the run ends or waits. */
export async function runThrough(
  person: Person,
  graph: readonly unknown[],
  inputs?: unknown,
  fields?: Definition,
): Promise<RunDetail> {
  return settled(person, await begin(person, graph, inputs, fields))
}

/** The result of a graph, of which nothing is expected but that it succeeds. */
export async function resultOf(
  graph: readonly unknown[],
  inputs?: unknown,
  fields?: Definition,
): Promise<unknown> {
  const { run } = await runThrough(await newPerson(), graph, inputs, fields)
  if (run.status !== 'success') throw new Error(`The run ended otherwise: ${JSON.stringify(run.snapshot)}`)
  return run.snapshot.result
}

/** Waits until a step of a run that goes on has been begun. */
export async function reached(person: Person, runId: string, stepId: string): Promise<void> {
  const stream = await watch(runId, person)
  await stream.next(({ data }) => stepId in (JSON.parse(data) as Frame).snapshot.context)
  stream.close()
}

export function resume(caller: Caller, runId: string, body: unknown): Promise<Answer<Launched>> {
  return caller.post<Launched>(`/workflows/runs/${runId}/resume`, body)
}

export function cancel(caller: Caller, runId: string): Promise<Answer<{ success: boolean; runId: string }>> {
  return caller.post(`/workflows/runs/${runId}/cancel`)
}

export async function listRuns(caller: Caller, query = ''): Promise<RunRecord[]> {
  return must(await caller.get<{ runs: RunRecord[] }>(`/workflows/runs${query}`), 200).runs
}

export interface Queue {
  queued: { runId: string; workflowSlug: string; enqueuedAt: string; status: string }[]
  total: number
}

export async function getQueue(caller: Caller): Promise<Queue> {
  return must(await caller.get<Queue>('/workflows/queue'), 200)
}

export async function newWorkflowArtifact(
  caller: Caller,
  definition: unknown,
  fields: Record<string, unknown> = {},
  others: { path: string; content: string }[] = [],
): Promise<string> {
  const files = [{ path: 'workflow.json', content: JSON.stringify(definition) }, ...others]
  const body = { type: 'workflow', slug: 'brought', files, ...fields }
  return must(await caller.post<{ id: string }>('/artifacts', body), 201).id
}

export async function primaryAgent(caller: Caller): Promise<{ id: string; slug: string }> {
  const answer = await caller.get<unknown>('/agents')
  const body = must(answer, 200) as { id: string; slug: string }[] | { items: { id: string; slug: string }[] }
  const [first] = Array.isArray(body) ? body : body.items
  if (!first) throw new Error('A workspace without an agent')
  return first
}
