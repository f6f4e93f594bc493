import type { Db, HotStatement, Tx } from '#platform/database.ts'
import type { Role } from '#platform/tables.ts'

const workspaceColumns = [
  'workspaces.id',
  'workspaces.name',
  'workspaces.kind',
  'workspace_members.role',
  'workspaces.created_at',
] as const

export interface WorkspaceRow {
  id: string
  name: string | null
  kind: 'personal' | 'team'
  role: Role
  created_at: string
}

export async function listWorkspaces(db: Db, userId: string): Promise<WorkspaceRow[]> {
  return db
    .selectFrom('workspace_members')
    .innerJoin('workspaces', 'workspaces.id', 'workspace_members.workspace_id')
    .select(workspaceColumns)
    .where('workspace_members.user_id', '=', userId)
    .orderBy('workspaces.kind')
    .orderBy('workspaces.created_at')
    .orderBy('workspaces.id')
    .execute()
}

/** Read at every use of a key, hence without the query builder. */
export const findWorkspaceStatement: HotStatement = {
  name: 'find-workspace',
  text: `select w.id, w.name, w.kind, m.role, w.created_at
         from workspaces w join workspace_members m on m.workspace_id = w.id
         where w.id = $1 and m.user_id = $2`,
}

export async function insertWorkspace(
  tx: Tx,
  ownerId: string,
  workspace: { name: string | null; kind: 'personal' | 'team' },
): Promise<WorkspaceRow> {
  const row = await tx
    .insertInto('workspaces')
    .values(workspace)
    .returning(['id', 'name', 'kind', 'created_at'])
    .executeTakeFirstOrThrow()
  await tx
    .insertInto('workspace_members')
    .values({ workspace_id: row.id, user_id: ownerId, role: 'owner' })
    .execute()
  return { ...row, role: 'owner' }
}

export async function findPersonalWorkspace(db: Db, userId: string) {
  return db
    .selectFrom('workspace_members')
    .innerJoin('workspaces', 'workspaces.id', 'workspace_members.workspace_id')
    .select(workspaceColumns)
    .where('workspace_members.user_id', '=', userId)
    .where('workspaces.kind', '=', 'personal')
    .executeTakeFirst()
}

export async function findWorkspaceOf(db: Db, workspaceId: string, userId: string) {
  return db
    .selectFrom('workspace_members')
    .innerJoin('workspaces', 'workspaces.id', 'workspace_members.workspace_id')
    .select(workspaceColumns)
    .where('workspace_members.workspace_id', '=', workspaceId)
    .where('workspace_members.user_id', '=', userId)
    .executeTakeFirst()
}

export async function countMemberships(db: Db, userId: string): Promise<number> {
  const row = await db
    .selectFrom('workspace_members')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return row.count
}

const memberColumns = [
  'users.id as userId',
  'users.email',
  'users.name',
  'role',
  'joined_at as joinedAt',
] as const

export async function listMembers(
  db: Db,
  workspaceId: string,
  page: { limit: number; after: { joinedAt: string; userId: string } | undefined },
) {
  let query = db
    .selectFrom('workspace_members')
    .innerJoin('users', 'users.id', 'workspace_members.user_id')
    .select(memberColumns)
    .where('workspace_id', '=', workspaceId)
    .orderBy('joined_at')
    .orderBy('user_id')
    .limit(page.limit)
  if (page.after) {
    const { joinedAt, userId } = page.after
    query = query.where((e) => e(e.refTuple('joined_at', 'user_id'), '>', e.tuple(joinedAt, userId)))
  }
  return query.execute()
}

export async function listMemberIds(db: Db, workspaceId: string): Promise<string[]> {
  const query = db.selectFrom('workspace_members').select('user_id').where('workspace_id', '=', workspaceId)
  return (await query.execute()).map(({ user_id }) => user_id)
}

/**
 * What a workspace has (members, agents, skills, workflows) is counted and changed by one at a time. Rows that refer to
 * the workspace are written meanwhile: whoever holds one of its keys and writes a line about it does not wait for this.
 */
export async function lockWorkspace(tx: Tx, workspaceId: string) {
  return tx
    .selectFrom('workspaces')
    .select(['id', 'kind'])
    .where('id', '=', workspaceId)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

export async function holdMember(tx: Tx, workspaceId: string, userId: string) {
  return tx
    .selectFrom('workspace_members')
    .select('user_id')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .forKeyShare()
    .executeTakeFirst()
}

export async function findMember(db: Db, workspaceId: string, userId: string) {
  return db
    .selectFrom('workspace_members')
    .innerJoin('users', 'users.id', 'workspace_members.user_id')
    .select(memberColumns)
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
}

export async function countMembers(
  db: Db,
  workspaceId: string,
): Promise<{ members: number; owners: number }> {
  return db
    .selectFrom('workspace_members')
    .select((e) => [
      e.fn.countAll<number>().as('members'),
      e.fn.countAll<number>().filterWhere('role', '=', 'owner').as('owners'),
    ])
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()
}

/** Undefined when the person is a member already. */
export async function insertMember(tx: Tx, workspaceId: string, userId: string, role: Role) {
  return tx
    .insertInto('workspace_members')
    .values({ workspace_id: workspaceId, user_id: userId, role })
    .onConflict((conflict) => conflict.doNothing())
    .returning('user_id')
    .executeTakeFirst()
}

export async function deleteMember(tx: Tx, workspaceId: string, userId: string): Promise<void> {
  await tx
    .deleteFrom('workspace_members')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .execute()
}

/** The one place of a workspace where an execution can work; made when it is first asked for. */
export async function lockSlot(tx: Tx, workspaceId: string, how: 'share' | 'update') {
  const find = () => {
    const query = tx
      .selectFrom('workspace_slots')
      .select('execution_id')
      .where('workspace_id', '=', workspaceId)
    return (how === 'share' ? query.forShare() : query.forUpdate()).executeTakeFirst()
  }
  const found = await find()
  if (found) return found
  await tx
    .insertInto('workspace_slots')
    .values({ workspace_id: workspaceId, execution_id: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return (await find()) ?? { execution_id: null }
}

export async function updateSlot(tx: Tx, workspaceId: string, executionId: number | null): Promise<void> {
  await tx
    .updateTable('workspace_slots')
    .set({ execution_id: executionId })
    .where('workspace_id', '=', workspaceId)
    .execute()
}

export async function findSlot(db: Db, workspaceId: string) {
  return db
    .selectFrom('workspace_slots')
    .select('execution_id')
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
}

/** What works in the workspace, by the name it has outside. */
export async function findRunning(db: Db, workspaceId: string) {
  return db
    .selectFrom('workspace_slots')
    .innerJoin('executions', 'executions.id', 'workspace_slots.execution_id')
    .select('executions.execution_id')
    .where('workspace_slots.workspace_id', '=', workspaceId)
    .executeTakeFirst()
}
