import { sessionRoutes, succeeded } from '@guildhall/contract'
import type { Deps } from '../deps.ts'
import { bindRoutes } from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import type { Principal } from '../operations/principal.ts'
import type { Config } from '../platform/config.ts'
import { parseRowId } from '../platform/ids.ts'
import { hashSecret, mintSecret } from '../platform/secrets.ts'
import { findUser } from '../users/users.ts'
import { describeWorkspace, listWorkspaces } from '../workspaces/workspaces.ts'
import { endSessions, openSession, type SessionCheck, signInUser, type WhichSessions } from './sessions.ts'
import { matchesChallenge, SignIn } from './sign-in.ts'
import * as store from './store.ts'

const signInCodeSeconds = 60
/** Marks accounts made by development sign-in; no identity provider can have this issuer. */
const developmentIssuer = 'urn:guildhall:development'

export function sessionHandlers(config: Config, check: SessionCheck) {
  const signIn = new SignIn(config)
  const end = async ({ database }: Pick<Deps, 'database'>, { userId }: Principal, which: WhichSessions) => {
    const ended = await database.transaction((tx) => endSessions(tx, userId, which))
    await Promise.all(ended.map((id) => check.announceChange(id)))
    return ended.length
  }
  return bindRoutes(sessionRoutes, {
    listProviders: async () => signIn.providers.map(({ id, name }) => ({ id, name })),

    startSignIn: async ({ query }) => ({ location: await signIn.start(query) }),

    finishSignIn: async ({ query, deps }) => {
      const note = signIn.readNote(query.state)
      if (!note)
        throw new ApiError('INVALID_INPUT', { message: 'state: unknown or too old; start the sign-in again' })
      const back = new URL(note.redirect)
      if (query.error !== undefined) {
        back.searchParams.set('error', query.error)
        return { location: back.href }
      }
      const identity = await signIn.finish(note, query)
      const user = await signInUser(deps, identity)
      const code = mintSecret('signIn')
      await store.insertSignInCode(
        deps.database.db,
        { code_hash: hashSecret(code), user_id: user.id, challenge: note.challenge },
        signInCodeSeconds,
      )
      back.searchParams.set('code', code)
      return { location: back.href }
    },

    exchangeSignIn: ({ body, deps, client }) =>
      deps.database.transaction(async (tx) => {
        const claimed = await store.claimSignInCode(tx, hashSecret(body.code))
        const user = claimed && (await findUser(tx, claimed.user_id))
        if (!user || !matchesChallenge(claimed.challenge, body.verifier)) {
          throw new ApiError('UNAUTHORIZED', { message: 'This sign-in code is unknown, used or too old' })
        }
        return openSession(tx, user, client)
      }),

    signInForDevelopment: async ({ body, deps, client }) => {
      if (!deps.config.authDev) throw new ApiError('NOT_FOUND')
      const email = body.email.trim().toLowerCase()
      const identity = { issuer: developmentIssuer, subject: email, email, emailVerified: true, name: null }
      const user = await signInUser(deps, identity, body.mode)
      return deps.database.transaction((tx) => openSession(tx, user, client))
    },

    getSession: async ({ principal, deps }) => {
      const { db } = deps.database
      const session = await store.findSession(db, principal.credentialId)
      if (!session) throw new ApiError('UNAUTHORIZED', { message: 'Invalid auth token' })
      const { expires_at, ...user } = session
      const workspaces = await listWorkspaces(db, principal.userId)
      return {
        expires_at,
        user,
        workspaces: workspaces.map((workspace) => describeWorkspace(workspace, principal.workspaceId)),
        current_workspace_id: principal.workspaceId,
      }
    },

    listSessions: async ({ principal, deps }) => {
      const rows = await store.listSessions(deps.database.db, principal.userId)
      return rows.map((row) => ({
        id: row.id,
        current: row.id === principal.credentialId,
        client_ua: row.client_ua,
        client_ip: row.client_ip,
        created_at: row.created_at,
        last_used_at: row.last_used_at,
        expires_at: row.expires_at,
      }))
    },

    endSession: async ({ principal, params, deps }) => {
      const id = parseRowId(params.id)
      if (id === undefined || (await end(deps, principal, { only: id })) === 0)
        throw new ApiError('NOT_FOUND')
      return succeeded
    },

    endOtherSessions: async ({ principal, deps }) => {
      const ended = await end(deps, principal, { allBut: principal.credentialId })
      return { ...succeeded, ended }
    },

    signOut: async ({ principal, deps }) => {
      await end(deps, principal, { only: principal.credentialId })
      return succeeded
    },
  })
}
