import { type SqlBool, sql } from 'kysely'
import { now, secondsFromNow, thisMoment } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import { hashSecret } from '#platform/secrets.ts'

export const grantModel = 'Grant'
const grantMaxSeconds = 180 * 24 * 3600
const grantsShown = 200

export async function listGrants(db: Db, userId: string) {
  return db
    .selectFrom('oauth_records')
    .innerJoin('oauth_clients', 'oauth_clients.id', 'oauth_records.client_id')
    .innerJoin('workspaces', 'workspaces.id', 'oauth_records.workspace_id')
    .select([
      'oauth_records.id',
      'oauth_records.client_id',
      // What an app calls itself now is not what its person allowed.
      sql<string>`coalesce(oauth_records.payload->>'shownAs', oauth_clients.name)`.as('name'),
      sql<string>`coalesce(oauth_records.payload->'openid'->>'scope', '')`.as('scope'),
      'oauth_records.workspace_id',
      'workspaces.name as workspace_name',
      'oauth_records.created_at',
      'oauth_records.last_used_at',
      'oauth_records.expires_at',
    ])
    .where('oauth_records.model', '=', grantModel)
    .where('oauth_records.user_id', '=', userId)
    .where('oauth_records.expires_at', '>', now)
    .orderBy('oauth_records.id', 'desc')
    .limit(grantsShown)
    .$narrowType<{ client_id: string; workspace_id: string }>()
    .execute()
}

/** What the library calls a grant of this person's. */
export async function findGrantId(db: Db, userId: string, id: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('oauth_records')
    .select('grant_id')
    .where('model', '=', grantModel)
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row?.grant_id ?? undefined
}

export interface NewGrant {
  readonly grantId: string
  readonly clientId: string
  readonly userId: string
  readonly workspaceId: string
  /** As the library reads it. */
  readonly payload: object
}

/** Not by the library's own `save`, which knows no transaction: a grant is written with the decision that gives it. */
export async function insertGrant(tx: Tx, grant: NewGrant, lifetimeSeconds: number): Promise<void> {
  const { grantId, clientId, userId, workspaceId, payload } = grant
  await tx
    .insertInto('oauth_records')
    .values({
      model: grantModel,
      id_hash: hashSecret(grantId),
      payload: JSON.stringify({ kind: grantModel, accountId: userId, clientId, ...payload }),
      grant_id: grantId,
      client_id: clientId,
      user_id: userId,
      workspace_id: workspaceId,
      expires_at: secondsFromNow(lifetimeSeconds) as never,
    })
    .execute()
}

/** A grant lives as long as the newest of its tokens, but not for ever: then the person is asked anew. */
export async function updateGrantExpiry(db: Db, grantId: string, lifetimeSeconds: number): Promise<void> {
  await db
    .updateTable('oauth_records')
    .set({
      expires_at: sql<string>`least(greatest(expires_at, ${secondsFromNow(lifetimeSeconds)}),
        created_at + interval '1 second' * ${grantMaxSeconds})`,
    })
    .where('model', '=', grantModel)
    .where('grant_id', '=', grantId)
    .execute()
}

/** At most one write a minute and grant, whichever processes see it. */
export async function touchGrant(db: Db, grantRow: number): Promise<void> {
  await db
    .updateTable('oauth_records')
    .set({ last_used_at: thisMoment })
    .where('id', '=', grantRow)
    .where(sql<SqlBool>`coalesce(last_used_at < guild_now() - interval '1 minute', true)`)
    .execute()
}

/** Whoever ends a grant first gets its row; its codes and tokens go with it. */
export async function claimGrantEnd(tx: Tx, grantId: string) {
  const grant = await tx
    .deleteFrom('oauth_records')
    .where('model', '=', grantModel)
    .where('grant_id', '=', grantId)
    .returning(['id', 'client_id', 'user_id', 'workspace_id'])
    .executeTakeFirst()
  if (grant) await tx.deleteFrom('oauth_records').where('grant_id', '=', grantId).execute()
  return grant
}

/** Every grant with which apps acted for somebody there, with what was issued under it. */
export async function claimGrantEnds(
  tx: Tx,
  { workspaceId, userId }: { workspaceId: string; userId: string },
): Promise<number[]> {
  const grants = await tx
    .deleteFrom('oauth_records')
    .where('model', '=', grantModel)
    .where('user_id', '=', userId)
    .where('workspace_id', '=', workspaceId)
    .returning(['id', 'grant_id'])
    .execute()
  const names = grants.map(({ grant_id }) => grant_id)
  await tx
    .deleteFrom('oauth_records')
    .where((e) => e('grant_id', '=', e.fn.any(e.val(names))))
    .execute()
  return grants.map(({ id }) => id)
}
