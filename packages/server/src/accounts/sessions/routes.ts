import { sessionRoutes, succeeded } from '@guildhall/contract'
import { findUser, foldAddress } from '#accounts/users/users.ts'
import { describeWorkspace, listWorkspaces } from '#accounts/workspaces/workspaces.ts'
import type { CookieChange } from '#operations/answer.ts'
import { bindRoutes, type Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import type { Principal } from '#operations/principal.ts'
import type { Deps } from '#platform/deps.ts'
import { parseRowId } from '#platform/ids.ts'
import { hashSecret, mintSecret } from '#platform/secrets.ts'
import { type BrowserSignIn, isSameBrowser, reasonOfRefusal, signInPage } from './browser-sign-in.ts'
import {
  cookieSeconds,
  type EndAlong,
  endSessions,
  freshSignInSeconds,
  openBrowserSession,
  openSession,
  type SessionCheck,
  type WhichSessions,
} from './sessions.ts'
import { markSeconds, matchesChallenge, SignIn, type SignInTicket } from './sign-in.ts'
import { signInUser } from './sign-in-user.ts'
import * as store from './store.ts'

const signInCodeSeconds = 60
/** A code that a person carries from a page to another machine. */
const typedCodeSeconds = 300
/** Marks accounts made by development sign-in; no identity provider can have this issuer. */
const developmentIssuer = 'urn:guildhall:development'

const forgetMark: CookieChange = { cookie: 'signIn', value: '', seconds: 0 }
const forgetSession: CookieChange = { cookie: 'session', value: '', seconds: 0 }
const keepSession = (value: string): CookieChange => ({ cookie: 'session', value, seconds: cookieSeconds })

type Finishing = Call<typeof sessionRoutes.finishSignIn>

interface SessionHooks {
  /** How many requests wait for a person. */
  countPending(userId: string): Promise<number>
  readonly endAlong: EndAlong
}

export function sessionFeature(
  { config, database }: Deps,
  check: SessionCheck,
  { countPending, endAlong }: SessionHooks,
): Feature {
  const signIn = new SignIn(config)
  const end = async ({ database }: Pick<Deps, 'database'>, { userId }: Principal, which: WhichSessions) => {
    const ended = await database.transaction((tx) => endSessions(tx, userId, which, endAlong))
    await Promise.all(ended.map((id) => check.announceChange(id)))
    return ended.length
  }
  /** The session goes into a cookie: neither a code nor a token comes by the address or before a script. */
  const finishInBrowser = async (ticket: SignInTicket, browser: BrowserSignIn, call: Finishing) => {
    const { query, deps, client, cookies } = call
    if (!isSameBrowser(browser, cookies.signIn))
      throw new ApiError('INVALID_INPUT', {
        message: 'state: begun in another browser, or too long ago; start the sign-in again in this one',
      })
    const failed = (error: string) => {
      const location = signInPage(config, browser, error)
      return { answer: { location }, cookies: [forgetMark] }
    }
    if (query.error !== undefined) return failed(query.error)
    const identity = await signIn.finish(ticket, query).catch(reasonOfRefusal)
    if (typeof identity === 'string') return failed(identity)
    const user = await signInUser(deps, identity)
    const { token, ended } = await deps.database.transaction((tx) => openBrowserSession(tx, user, client))
    await Promise.all(ended.map((id) => check.announceChange(id)))
    return { answer: { location: browser.returnTo }, cookies: [keepSession(token), forgetMark] }
  }
  const routes = bindRoutes(sessionRoutes, {
    listProviders: async () => signIn.providers.map(({ id, name }) => ({ id, name })),

    startSignIn: async ({ query, cookies }) => {
      const { location, mark, browser } = await signIn.start(query, cookies.signIn)
      // Who is known at the provider would be signed in anew without a word, as often as some page likes, each time in the
      // place of another device of theirs.
      if (browser && cookies.isForeign)
        return { answer: { location: signInPage(config, browser) }, cookies: [] }
      const kept: CookieChange[] = mark ? [{ cookie: 'signIn', value: mark, seconds: markSeconds }] : []
      return { answer: { location }, cookies: kept }
    },

    finishSignIn: async (call) => {
      const { query, deps } = call
      const ticket = signIn.readTicket(query.state)
      if (!ticket)
        throw new ApiError('INVALID_INPUT', { message: 'state: unknown or too old; start the sign-in again' })
      if (ticket.browser) return finishInBrowser(ticket, ticket.browser, call)
      const back = new URL(ticket.redirect)
      if (query.error !== undefined) {
        back.searchParams.set('error', query.error)
        return { answer: { location: back.href }, cookies: [] }
      }
      const identity = await signIn.finish(ticket, query)
      const user = await signInUser(deps, identity)
      const code = mintSecret('signIn')
      await store.insertSignInCode(
        deps.database.db,
        { code_hash: hashSecret(code), user_id: user.id, challenge: ticket.challenge },
        signIn.isTyped(ticket) ? typedCodeSeconds : signInCodeSeconds,
      )
      back.searchParams.set('code', code)
      return { answer: { location: back.href }, cookies: [] }
    },

    exchangeSignIn: ({ body, deps, client }) =>
      deps.database.transaction(async (tx) => {
        const claimed = await store.claimSignInCode(tx, hashSecret(body.code))
        const user = claimed && (await findUser(tx, claimed.user_id))
        if (!user || !matchesChallenge(claimed.challenge, body.verifier)) {
          throw new ApiError('UNAUTHORIZED', { message: 'This sign-in code is unknown, used or too old' })
        }
        const { label, lifetimeSeconds } = body
        return openSession(tx, user, client, { label, lifetimeSeconds })
      }),

    signInForDevelopment: async ({ body, deps, client }) => {
      if (!deps.config.authDev) throw new ApiError('NOT_FOUND')
      const email = foldAddress(body.email)
      const identity = { issuer: developmentIssuer, subject: email, email, emailVerified: true, name: null }
      const user = await signInUser(deps, identity, body.mode)
      return deps.database.transaction((tx) => openSession(tx, user, client))
    },

    getSession: async ({ principal, deps, cookies }) => {
      const { db } = deps.database
      const session = await store.findSession(db, principal.credentialId)
      if (!session) throw new ApiError('UNAUTHORIZED', { message: 'Invalid auth token' })
      const { expires_at, created_at, kind, ...user } = session
      const [workspaces, pending] = await Promise.all([
        listWorkspaces(db, principal.userId),
        countPending(principal.userId),
      ])
      const answer = {
        expires_at,
        user,
        workspaces: workspaces.map((workspace) => describeWorkspace(workspace, principal.workspaceId)),
        current_workspace_id: principal.workspaceId,
        session_id: principal.credentialId,
        kind,
        signed_in_at: created_at,
        fresh_until: new Date(Date.parse(created_at) + freshSignInSeconds * 1000).toISOString(),
        pending,
      }
      // Such a session is known by its cookie alone, which thus is its own; it lasts as long as the row does.
      const renewed = kind === 'browser' && cookies.session ? [keepSession(cookies.session)] : []
      return { answer, cookies: renewed }
    },

    listSessions: async ({ principal, deps }) => {
      const rows = await store.listSessions(deps.database.db, principal.userId)
      return rows.map((row) => ({
        id: row.id,
        kind: row.kind,
        current: row.id === principal.credentialId,
        label: row.label,
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
      return { answer: succeeded, cookies: principal.sessionKind === 'browser' ? [forgetSession] : [] }
    },
  })
  return {
    routes,
    sweeps: [{ table: 'sessions', run: () => store.deleteEndedSessions(database.db) }],
  }
}
