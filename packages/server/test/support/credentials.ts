import { openSession } from '#accounts/sessions/sessions.ts'
import { findUser } from '#accounts/users/users.ts'
import type { Answer } from '../../../../test/support/caller.ts'
import { type App, newTokens, type OAuthHouse } from './oauth.ts'

export type Headers = Readonly<Record<string, string>>

/** Somebody with one credential of every kind, all of them good in one workspace. */
export interface Holder {
  readonly userId: string
  readonly workspaceId: string
  readonly session: Headers
  readonly sessionToken: string
  readonly key: Headers
  readonly keyId: number
  readonly oauth: Headers
  call(through: Headers, method: string, path: string, body?: unknown): Promise<Answer>
  newKey(fields?: object): Promise<{ id: number; headers: Headers }>
}

/** Who signs in at the provider under this login; in their own workspace, or as a member of the given one. */
export async function newHolder(set: OAuthHouse, app: App, login: string, into?: string): Promise<Holder> {
  const { house, query } = set
  // The first visit makes the account, so that it can become a member before the app is let in.
  await newTokens(house, app, { login })
  const [{ id: userId, personal }] = await query(
    `update users u set mode = 'basedmode' from workspace_members m join workspaces w on w.id = m.workspace_id
     where u.email = $1 and m.user_id = u.id and w.kind = 'personal' returning u.id, w.id as personal`,
    [`${login}@example.test`],
  )
  const workspaceId = into ?? personal
  if (into) {
    await query('insert into workspace_members (workspace_id, user_id, role) values ($1, $2, $3)', [
      into,
      userId,
      'member',
    ])
  }
  const { access_token } = await newTokens(house, app, { login, fields: { workspace: workspaceId } })
  const token = await house.deps.database.transaction(async (tx) => {
    const user = await findUser(tx, userId)
    if (!user) throw new Error('nobody signed in')
    return (await openSession(tx, user, { userAgent: 'test', address: '127.0.0.1' })).auth_token
  })
  const session = { 'x-auth-token': token, 'x-workspace-id': workspaceId }
  const call: Holder['call'] = (through, method, path, body) =>
    house.call(method, `/api/v1${path}`, { headers: { ...through }, ...(body === undefined ? {} : { body }) })
  const newKey: Holder['newKey'] = async (fields = {}) => {
    const made = await call(session, 'POST', '/keys', { label: 'test', access: 'full', ...fields })
    if (made.status !== 201) throw new Error(`no key: ${made.text}`)
    return { id: made.body.id, headers: { 'x-api-key': made.body.api_key } }
  }
  const { id: keyId, headers: key } = await newKey()
  const oauth = { authorization: `Bearer ${access_token}` }
  return { userId, workspaceId, session, sessionToken: token, key, keyId, oauth, call, newKey }
}
