import type { Access } from '#operations/access.ts'
import { requireOwnOr } from '#operations/authorize.ts'
import type { Principal } from '#operations/principal.ts'
import type { Deps } from '#platform/deps.ts'
import { hasEarlierTurns, requireTraceToGoOn } from '#running/traces/traces.ts'
import type { ExecutionRow } from './store.ts'

/**
 * What an execution finds in its workspace is told to whoever says what it does with it. So of what others attached or
 * did before, a key has it done only with what it could read itself, or was handed.
 */
interface Caller {
  readonly principal: Principal
  readonly access: Access
  readonly deps: Pick<Deps, 'database'>
}

/** For a run to which the attachments of this one are given. */
export async function requireAttached(
  call: Caller,
  { attachments_checksum: attachments, api_key_id: madeBy }: ExecutionRow,
): Promise<void> {
  if (attachments !== null) await requireOwnOr(['workspace:files:read'], call, [madeBy])
}

/** To start what is prepared: whoever prepared it was asked for what it goes on with. */
export async function requirePrepared(call: Caller, row: ExecutionRow): Promise<void> {
  const { principal, deps } = call
  if (row.status !== 'idle' || principal.kind !== 'key' || principal.apiKeyId === row.api_key_id) return
  await requireAttached(call, row)
  if (await hasEarlierTurns(deps.database.db, row.trace_id, row.id))
    await requireTraceToGoOn(call, row.trace_id)
}
