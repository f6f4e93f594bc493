import { sessionRoutes, succeeded } from '@guildhall/contract'
import { ApiError } from '../http/api-error.ts'
import { bindRoutes } from '../http/bind-routes.ts'
import type { Config } from '../platform/config.ts'
import { hashSecret, mintSecret } from '../platform/secrets.ts'
import { findUser } from '../users/users.ts'
import { describeWorkspace, listWorkspaces } from '../workspaces/workspaces.ts'
import { closeSession, openSession, type SessionCheck, signInUser } from './sessions.ts'
import { matchesChallenge, SignIn } from './sign-in.ts'
import * as store from './store.ts'

const signInCodeSeconds = 60
/** Marks accounts made by development sign-in; no identity provider can have this issuer. */
const developmentIssuer = 'urn:guildhall:development'

export function sessionHandlers(config: Config, check: SessionCheck) {
  const signIn = new SignIn(config)
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

    exchangeSignIn: ({ body, deps }) =>
      deps.database.transaction(async (tx) => {
        const claimed = await store.claimSignInCode(tx, hashSecret(body.code))
        const user = claimed && (await findUser(tx, claimed.user_id))
        if (!user || !matchesChallenge(claimed.challenge, body.verifier)) {
          throw new ApiError('UNAUTHORIZED', { message: 'This sign-in code is unknown, used or too old' })
        }
        return openSession(tx, user)
      }),

    signInForDevelopment: async ({ body, deps }) => {
      if (!deps.config.authDev) throw new ApiError('NOT_FOUND')
      const email = body.email.trim().toLowerCase()
      const identity = { issuer: developmentIssuer, subject: email, email, emailVerified: true, name: null }
      const user = await signInUser(deps, identity, body.mode)
      return deps.database.transaction((tx) => openSession(tx, user))
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

    signOut: async ({ principal, deps }) => {
      await deps.database.transaction((tx) => closeSession(tx, principal))
      await check.announceChange(principal.credentialId)
      return succeeded
    },
  })
}
