import type { Selectable } from 'kysely'
import { sql } from 'kysely'
import { now, secondsFromNow, thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Tables } from '#platform/tables.ts'

type Row = Selectable<Tables['handovers']>
export type HandoverRow = Omit<Row, 'code_hash'> & { readonly expired: boolean }

const shown = [
  'id',
  'trace_id',
  'workspace_id',
  'reach',
  'note',
  'to_slug',
  'created_by_user',
  'created_by_key',
  'created_by_slug',
  'status',
  'claimed_by_user',
  'claimed_by_key',
  'claimed_by_slug',
  'claimed_at',
  'copy_trace_id',
  'created_at',
  'expires_at',
] as const
const expired = sql<boolean>`status = 'pending' and expires_at <= guild_now()`.as('expired')

export interface NewHandover {
  readonly id: string
  readonly traceId: string
  readonly workspaceId: string
  readonly codeHash: Buffer
  readonly reach: 'workspace' | 'person'
  readonly note: string | null
  readonly toSlug: string | null
  readonly userId: string
  readonly apiKeyId: number | null
  readonly agentSlug: string | null
  readonly seconds: number
}

/** Undefined when the same code happens to be there already. */
export async function insertHandover(tx: Tx, given: NewHandover) {
  return tx
    .insertInto('handovers')
    .values({
      id: given.id,
      trace_id: given.traceId,
      workspace_id: given.workspaceId,
      code_hash: given.codeHash,
      reach: given.reach,
      note: given.note,
      to_slug: given.toSlug,
      created_by_user: given.userId,
      created_by_key: given.apiKeyId,
      created_by_slug: given.agentSlug,
      expires_at: secondsFromNow(given.seconds),
    })
    .onConflict((conflict) => conflict.column('code_hash').doNothing())
    .returning('expires_at')
    .executeTakeFirst()
}

export async function countPending(tx: Tx, traceId: string): Promise<number> {
  const { count } = await tx
    .selectFrom('handovers')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('trace_id', '=', traceId)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function listHandovers(db: Db, workspaceId: string, traceId: string): Promise<HandoverRow[]> {
  return db
    .selectFrom('handovers')
    .select([...shown, expired])
    .where('workspace_id', '=', workspaceId)
    .where('trace_id', '=', traceId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(200)
    .execute()
}

export async function findHandover(db: Db, workspaceId: string, traceId: string, id: string) {
  return db
    .selectFrom('handovers')
    .select([...shown, expired])
    .where('workspace_id', '=', workspaceId)
    .where('trace_id', '=', traceId)
    .where('id', '=', id)
    .executeTakeFirst()
}

export interface Claimant {
  readonly workspaceId: string
  readonly userId: string
  readonly apiKeyId: number | null
  readonly agentSlug: string | null
}

/** What a code stands for, for those whom it may reach: to all others it is a code that never was. */
export async function findByCode(
  db: Db,
  codeHashes: readonly Buffer[],
  { workspaceId, userId }: Claimant,
): Promise<HandoverRow | undefined> {
  return db
    .selectFrom('handovers')
    .select([...shown, expired])
    .where('code_hash', 'in', codeHashes)
    .where((e) =>
      e.or([
        e('workspace_id', '=', workspaceId),
        e.and([e('reach', '=', 'person'), e('created_by_user', '=', userId)]),
      ]),
    )
    .executeTakeFirst()
}

/** Of all who try, one: the row, or undefined for whoever came second or too late. */
export async function claimHandover(
  tx: Tx,
  id: string,
  by: Claimant,
  copyTraceId: string | null,
): Promise<{ id: string } | undefined> {
  return tx
    .updateTable('handovers')
    .set({
      status: 'claimed',
      claimed_by_user: by.userId,
      claimed_by_key: by.apiKeyId,
      claimed_by_slug: by.agentSlug,
      claimed_at: thisMoment,
      copy_trace_id: copyTraceId,
    })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now)
    .returning('id')
    .executeTakeFirst()
}

export async function updateRevoked(db: Db, id: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('handovers')
    .set({ status: 'revoked' })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** A day after their end nobody asks for them. */
export async function deleteEndedHandovers(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('handovers')
    .where('expires_at', '<', sql<string>`guild_now() - interval '1 day'`)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
