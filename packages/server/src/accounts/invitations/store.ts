import { type RawBuilder, sql } from 'kysely'
import { now, secondsFromNow } from '#platform/clock.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Role } from '#platform/tables.ts'

/**
 * An invitation is good until its time is over, and only while whoever made it may invite: somebody who is no owner any
 * more must not come back through one.
 */
const isGood: RawBuilder<boolean> = sql<boolean>`invitations.expires_at > guild_now() and exists (
  select 1 from workspace_members inviter
  where inviter.workspace_id = invitations.workspace_id and inviter.user_id = invitations.invited_by
    and inviter.role = 'owner')`

const columns = ['id', 'email', 'role', 'created_at', 'expires_at'] as const

export interface NewInvitation {
  workspace_id: string
  email: string
  role: Role
  invited_by: string
}

/** Equal ones share a row; the newest says the role and begins its time anew. */
export async function insertInvitation(tx: Tx, invitation: NewInvitation, lifetimeSeconds: number) {
  const { role, invited_by } = invitation
  const expires_at = secondsFromNow(lifetimeSeconds) as never
  return tx
    .insertInto('invitations')
    .values({ ...invitation, expires_at })
    .onConflict((conflict) =>
      conflict.columns(['workspace_id', 'email']).doUpdateSet({ role, invited_by, expires_at }),
    )
    .returning(columns)
    .executeTakeFirstOrThrow()
}

/** Held until the transaction ends, so that what waits for one address is counted by one at a time. */
export async function lockAddress(tx: Tx, email: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('invitations:' || ${email}, 0))`.execute(tx)
}

/** Those that wait, but the one that this would replace. */
export async function countInvitations(tx: Tx, { workspace_id, email, invited_by }: NewInvitation) {
  const isThis = sql`workspace_id = ${workspace_id}::uuid and email = ${email}`
  const { rows } = await sql<{ inWorkspace: number; forAddress: number; byInviter: number }>`
    select
      count(*) filter (where workspace_id = ${workspace_id}::uuid) as "inWorkspace",
      count(*) filter (where email = ${email}) as "forAddress",
      count(*) filter (where email = ${email} and invited_by = ${invited_by}::uuid) as "byInviter"
    from invitations
    where (workspace_id = ${workspace_id}::uuid or email = ${email}) and ${isGood} and not (${isThis})`.execute(
    tx,
  )
  const [counts] = rows
  return counts ?? { inWorkspace: 0, forAddress: 0, byInviter: 0 }
}

export async function listOfWorkspace(db: Db, workspaceId: string) {
  return db
    .selectFrom('invitations')
    .select(columns)
    .where('workspace_id', '=', workspaceId)
    .where(isGood)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
}

export async function listForAddress(db: Db, email: string) {
  return db
    .selectFrom('invitations')
    .innerJoin('workspaces', 'workspaces.id', 'invitations.workspace_id')
    .innerJoin('users', 'users.id', 'invitations.invited_by')
    .select([
      'invitations.id',
      'invitations.workspace_id',
      'invitations.role',
      'invitations.created_at',
      'invitations.expires_at',
      'workspaces.name as workspace_name',
      'users.name as inviter_name',
      'users.email as inviter_email',
    ])
    .where('invitations.email', '=', email)
    .where(isGood)
    .orderBy('invitations.created_at', 'desc')
    .orderBy('invitations.id')
    .execute()
}

export async function findForAddress(db: Db, email: string, id: string) {
  return db
    .selectFrom('invitations')
    .select(['id', 'workspace_id'])
    .where('id', '=', id)
    .where('email', '=', email)
    .where(isGood)
    .executeTakeFirst()
}

/** Whoever answers it first gets it, be it by accepting, declining or withdrawing. */
export async function claimInvitation(tx: Tx, id: string, of: { email: string } | { workspaceId: string }) {
  return tx
    .deleteFrom('invitations')
    .where('id', '=', id)
    .where((e) => ('email' in of ? e('email', '=', of.email) : e('workspace_id', '=', of.workspaceId)))
    .where(isGood)
    .returning(['id', 'workspace_id', 'email', 'role'])
    .executeTakeFirst()
}

export async function deleteEndedInvitations(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('invitations')
    .where('expires_at', '<=', now)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
