import type { Access } from '#operations/access.ts'
import { requireOwnOr } from '#operations/authorize.ts'
import { ApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import type { Deps } from '#platform/deps.ts'
import type { TraceKind } from '#platform/tables.ts'
import type { HandoverRow } from './handover-store.ts'
import * as store from './store.ts'

interface Caller {
  readonly principal: Principal
  readonly access: Access
}
type Asking = Caller & { readonly deps: Pick<Deps, 'database'> }

const conversation = 'agent:message'

/** The record of a conversation says all that was said in it, so a key needs for it what it needs for the thread. */
export async function requireKind({ principal, access }: Caller, kind: TraceKind): Promise<void> {
  if (kind === 'chat' && principal.kind === 'key') await access.require([conversation])
}

/** Whether lists tell of conversations. */
export async function seesConversations({ principal, access }: Caller): Promise<boolean> {
  return principal.kind !== 'key' || access.holds(conversation)
}

/** The trace of that id, for who may read it. */
export async function requireTrace(call: Asking, id: string) {
  return readable(call, call.principal.workspaceId, id)
}

/** To go on with, or to have somebody go on with: what was done comes along, and the files that it left. */
export async function requireTraceToGoOn(call: Asking, id: string) {
  const trace = await requireTrace(call, id)
  await requireGoingOn(call, trace)
  return trace
}

/** Who hands work over has a right to it, and who claims it has it from there: a code of one's own gives nothing more. */
export async function requireClaimable(call: Asking, found: HandoverRow): Promise<void> {
  const trace = await readable(call, found.workspace_id, found.trace_id)
  if (found.created_by_key === call.principal.apiKeyId) await requireGoingOn(call, trace)
}

/** A code is taken back by who made it, or by who may hand on work of others. */
export async function requireRevocable(call: Caller, found: HandoverRow): Promise<void> {
  await requireOwnOr(['trace:write'], call, [found.created_by_key])
}

type Held = Pick<store.FoundTrace, 'api_key_id' | 'holder_key_id'>

async function requireGoingOn(call: Caller, trace: Held): Promise<void> {
  await requireOwnOr(['trace:write'], call, [trace.api_key_id, trace.holder_key_id])
}

async function readable(call: Asking, workspaceId: string, id: string): Promise<store.FoundTrace> {
  const trace = await store.findTrace(call.deps.database.db, workspaceId, id)
  if (!trace) throw new ApiError('NOT_FOUND')
  await requireKind(call, trace.kind)
  return trace
}
