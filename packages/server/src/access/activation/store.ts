import { sql } from 'kysely'
import { now, secondsAgo, secondsFromNow, thisMoment } from '#platform/clock.ts'
import type { Db, HotStatement, Tx } from '#platform/database.ts'
import { stateOf, stateText } from '#platform/deadline.ts'
import type { Tables } from '#platform/tables.ts'
import type { ActivationState } from './lifecycle.ts'

/** Approval does not extend the clock of a code. */
const open: ActivationState[] = ['pending', 'approved']

const keepAfterExpirySeconds = 24 * 3600

export interface NewActivation {
  device_code_hash: Buffer
  user_code: string
  client_label: string
  client_ua: string
  client_ip: string
  client_network: string
  requested_scopes: string[]
  match_number: string | null
  match_choices: string[] | null
}

/** Undefined when the user code is taken: draw another. */
export async function insertActivation(db: Db, row: NewActivation, lifetimeSeconds: number) {
  return db
    .insertInto('activations')
    .values({ ...row, expires_at: secondsFromNow(lifetimeSeconds) as never })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
}

export async function countPending(db: Db, network: string, atMost: number): Promise<number> {
  const rows = await db
    .selectFrom('activations')
    .select('id')
    .where('client_network', '=', network)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now)
    .limit(atMost)
    .execute()
  return rows.length
}

export async function findByUserCode(db: Db, userCode: string) {
  return db
    .selectFrom('activations')
    .select([
      'id',
      'user_code',
      'client_label',
      'client_ua',
      'client_ip',
      'client_network',
      'requested_scopes',
      'match_choices',
      'expires_at',
      'seen_by',
      'decided_at',
      'decided_by',
      'decided_session',
      'decided_device',
      'decided_passkey',
      stateOf<ActivationState>('activations', open).as('state'),
    ])
    .where('user_code', '=', userCode)
    .executeTakeFirst()
}

export async function updateViewer(tx: Tx, activationId: number, userId: string): Promise<void> {
  await tx.updateTable('activations').set({ seen_by: userId }).where('id', '=', activationId).execute()
}

/** What agents ask every two seconds. */
export const findStateStatement: HotStatement = {
  name: 'find-activation-state',
  text: `select ${stateText('activations', open)} as state from activations where device_code_hash = $1`,
}

/**
 * Moves a pending code; undefined when it is not pending any more. Who decides waits for whoever is deciding, and the
 * deadline counts at the end of that wait: nobody is told that a code expired which another decision still approves.
 */
export async function claimDecision(
  tx: Tx,
  userCode: string,
  decision: { status: 'approved' | 'denied' } & Pick<
    Tables['activations'],
    'decided_by' | 'decided_session' | 'decided_device' | 'decided_passkey'
  >,
) {
  await tx.selectFrom('activations').select('id').where('user_code', '=', userCode).forUpdate().execute()
  return tx
    .updateTable('activations')
    .set({ ...decision, decided_at: thisMoment })
    .where('user_code', '=', userCode)
    .where('status', '=', 'pending')
    .where('expires_at', '>', thisMoment)
    .returning([
      'id',
      'device_code_hash',
      'user_code',
      'client_label',
      'client_ua',
      'client_ip',
      'expires_at',
      'requested_scopes',
      'match_number',
    ])
    .executeTakeFirst()
}

/** Of who approved it in this transaction and turned out to have read another number: nobody ever saw it approved. */
export async function updateToDenied(tx: Tx, activationId: number): Promise<void> {
  await tx.updateTable('activations').set({ status: 'denied' }).where('id', '=', activationId).execute()
}

export async function updateKey(tx: Tx, activationId: number, keyId: number): Promise<void> {
  await tx.updateTable('activations').set({ key_id: keyId }).where('id', '=', activationId).execute()
}

/** The one poll that collects the key; undefined for all others. */
export async function claimConsumption(tx: Tx, deviceCodeHash: Buffer) {
  return tx
    .updateTable('activations')
    .set({ status: 'consumed' })
    .where('device_code_hash', '=', deviceCodeHash)
    .where('status', '=', 'approved')
    .where('expires_at', '>', now)
    .returning('key_id')
    .executeTakeFirst()
}

export async function countMisses(tx: Tx, userId: string, windowSeconds: number) {
  return tx
    .selectFrom('code_misses')
    .select((e) => [
      e.fn.countAll<number>().as('misses'),
      sql<number>`coalesce(extract(epoch from min(missed_at) - guild_moment()), 0)::float8 + ${windowSeconds}`.as(
        'freeInSeconds',
      ),
    ])
    .where('user_id', '=', userId)
    .where('missed_at', '>', secondsAgo(windowSeconds))
    .executeTakeFirstOrThrow()
}

export async function insertMiss(tx: Tx, userId: string): Promise<void> {
  await tx
    .insertInto('code_misses')
    .values({ user_id: userId, missed_at: thisMoment as never })
    .execute()
}

export async function deleteOldActivations(db: Db, missWindowSeconds: number): Promise<number> {
  const activations = await db
    .deleteFrom('activations')
    .where('expires_at', '<=', secondsAgo(keepAfterExpirySeconds))
    .executeTakeFirst()
  const misses = await db
    .deleteFrom('code_misses')
    .where('missed_at', '<=', secondsAgo(missWindowSeconds))
    .executeTakeFirst()
  return Number(activations.numDeletedRows) + Number(misses.numDeletedRows)
}
