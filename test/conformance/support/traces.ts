import { must, type Person } from './actors.ts'
import type { Caller, SendOptions } from './client.ts'
import { mustRun, prepare, quick, readLog, statusOf } from './executions.ts'

export interface Trace {
  id: string
  kind: string
  title: string
  status: string
  actor: { userId: string; apiKeyId: number | null; agentSlug: string | null }
  target: { kind: string; executionId?: string }
  totalCost: number
  ownCost: number
  startedAt: string
  lastActivityAt: string
  traceKey: string
  parentTraceId: string | null
  lastSeq: number
}

export interface Turn {
  seq: number
  type: string
  payload: Record<string, unknown>
  actorAgentSlug: string | null
  at: string
  origin: string
}

export interface TracePage {
  items: Trace[]
  nextCursor: string | null
  asOf: string
}

export interface TurnPage {
  items: Turn[]
  lastSeq: number
}

export interface Appended {
  appended: number
  lastSeq: number
}

export interface Continuation {
  status: string
  traceId: string
  kind: string
  traceKey: string
  continueWith: { method: string; path: string; body: { sessionId: string } }
  appendEventsTo: string
}

export const said = (text: string, fields: object = {}) => ({
  type: 'agent.text',
  payload: { content: [{ type: 'text', text }] },
  ...fields,
})

export async function listTraces(caller: Caller, query = '', options?: SendOptions): Promise<TracePage> {
  return must(await caller.get<TracePage>(`/traces${query}`, options), 200)
}

export async function traceOf(caller: Caller, id: string): Promise<Trace> {
  return must(await caller.get<Trace>(`/traces/${id}`), 200)
}

export async function turnsOf(caller: Caller, id: string, query = ''): Promise<TurnPage> {
  return must(await caller.get<TurnPage>(`/traces/${id}/events${query}`), 200)
}

export function append(caller: Caller, id: string, events: unknown, options?: SendOptions) {
  return caller.post<Appended>(`/traces/${id}/events`, { events }, options)
}

export async function continuationOf(caller: Caller, id: string): Promise<Continuation> {
  return must(await caller.post<Continuation>(`/traces/${id}/continue`), 200)
}

export async function traceIdOf(caller: Caller, executionId: string): Promise<string> {
  return ((await statusOf(caller, executionId)) as unknown as { traceId: string }).traceId
}

/** A trace of something that was prepared and never runs: nothing but what is appended is on it. */
export async function newIdleTrace(caller: Caller, options?: SendOptions): Promise<string> {
  return traceIdOf(caller, await prepare(caller, {}, options))
}

/** A trace of something that ran to its end. */
export async function newTrace(person: Person, input = quick, caller: Caller = person) {
  const executionId = await mustRun(caller, input)
  await readLog(person, executionId)
  return { executionId, id: await traceIdOf(person, executionId) }
}
