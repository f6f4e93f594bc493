// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { Resource } from '../resource.ts'
import type { AccountMode, CurrentSession, Me, Session, SignedIn, Success } from './records.ts'

/** What {@link listProviders} answers. */
export type ListProvidersAnswer = {
  id: string
  name: string
}[]

/**
 * The identity providers a person can sign in with.
 *
 * Name one of them to auth/start; with a single one the name may be left out.
 */
export const listProviders: Operation<object, ListProvidersAnswer> = {
  name: 'listProviders',
  path: '/api/v1/auth/providers',
  public: true,
}

/** What {@link startSignIn} can be asked for. */
export interface StartSignInQuery {
  provider?: string | undefined
  redirect?: string | undefined
  /** base64url SHA-256 of a verifier the app keeps and sends to exchange */
  challenge?: string | undefined
  /** Ends in a session of this browser's, where the app is served here */
  browser?: '1' | undefined
  /** With browser: the page of the app to go back to */
  return?: string | undefined
  /** With browser: the provider must ask who it is, now */
  fresh?: '1' | undefined
}

/** What {@link startSignIn} answers. */
export type StartSignInAnswer = unknown

/**
 * Send the browser to the identity provider.
 *
 * Open it in a browser. With a challenge, only whoever holds the verifier can exchange the code. For a program on a machine without a browser the redirect is /oauth/code of this service: a page that shows the code to be typed there, for five minutes; it needs a challenge. The app itself asks with `browser=1` and where to `return`: its session is then a cookie that no script can read.
 */
export const startSignIn: Operation<{ query?: StartSignInQuery | undefined }, StartSignInAnswer> = {
  name: 'startSignIn',
  path: '/api/v1/auth/start',
  public: true,
  answers: 'redirect',
}

/** What {@link finishSignIn} can be asked for. */
export interface FinishSignInQuery {
  state: string
  code?: string | undefined
  iss?: string | undefined
  error?: string | undefined
  error_description?: string | undefined
}

/** What {@link finishSignIn} answers. */
export type FinishSignInAnswer = unknown

/**
 * Where the identity provider returns to; hands a one-time code to the app's redirect.
 *
 * Called by the provider's page, not by apps. A state that is unknown or used is 400: start again.
 */
export const finishSignIn: Operation<{ query: FinishSignInQuery }, FinishSignInAnswer> = {
  name: 'finishSignIn',
  path: '/api/v1/auth/callback',
  public: true,
  answers: 'redirect',
}

/** What is sent to {@link exchangeSignIn}. */
export interface ExchangeSignInBody {
  code: string
  verifier?: string | undefined
  /** By which the person knows the session among theirs */
  label?: string | undefined
  /** The session ends so long after the sign-in, however much it is used */
  lifetimeSeconds?: number | undefined
}

/**
 * Turn the one-time code into a session.
 *
 * The code works once and briefly; 401 means it is used or expired: start again.
 */
export const exchangeSignIn: Operation<{ body: ExchangeSignInBody }, SignedIn> = {
  name: 'exchangeSignIn',
  path: '/api/v1/auth/exchange',
  method: 'POST',
  public: true,
}

/** What is sent to {@link signInForDevelopment}. */
export interface SignInForDevelopmentBody {
  email: string
  mode?: AccountMode | undefined
}

/**
 * Sign in as anybody; exists only on a development deployment.
 *
 * 404 wherever development sign-in is off, as it must be in production.
 */
export const signInForDevelopment: Operation<{ body: SignInForDevelopmentBody }, SignedIn> = {
  name: 'signInForDevelopment',
  path: '/api/v1/auth/dev',
  method: 'POST',
  public: true,
}

/**
 * Who is signed in, and where.
 *
 * 401 means: sign in again.
 */
export const getSession: Operation<object, CurrentSession> = {
  name: 'getSession',
  path: '/api/v1/auth/session',
}

/**
 * Where this person is signed in, newest first.
 *
 * A session that nobody uses ends after 30 days, every one after 180.
 */
export const listSessions: Operation<object, Session[]> = {
  name: 'listSessions',
  path: '/api/v1/auth/sessions',
}

/**
 * End one session, with its sockets and streams.
 *
 * The present one may be ended too. 404 for one that is another person's or has ended.
 */
export const endSession: Operation<{ params: { id: string } }, Success> = {
  name: 'endSession',
  path: '/api/v1/auth/sessions/:id',
  method: 'DELETE',
}

/** What {@link endOtherSessions} answers. */
export interface EndOtherSessionsAnswer {
  success: true
  ended: number
}

/**
 * End every session of this person but this one.
 *
 * For a lost device; answers how many were ended.
 */
export const endOtherSessions: Operation<object, EndOtherSessionsAnswer> = {
  name: 'endOtherSessions',
  path: '/api/v1/auth/sessions/end-others',
  method: 'POST',
}

/**
 * End this session.
 *
 * The token stops working in every process at once. A browser is told to forget all that the app kept in it.
 */
export const signOut: Operation<object, Success> = {
  name: 'signOut',
  path: '/api/v1/auth/sign-out',
  method: 'POST',
}

/**
 * Whose credential this is, where it works and what it may do.
 *
 * For every credential alike: the quickest way to find out whether one still works. 401 means that it does not.
 */
export const getMe: Operation<object, Me> = { name: 'getMe', path: '/api/v1/me' }

/** One method for each of these operations. */
export class SessionResource extends Resource {
  /**
   * The identity providers a person can sign in with.
   *
   * Name one of them to auth/start; with a single one the name may be left out.
   */
  providers(options?: CallOptions): Promise<ListProvidersAnswer> {
    return this.client.call(
      { name: 'listProviders', path: '/api/v1/auth/providers', public: true },
      {},
      options,
    )
  }
  /**
   * Send the browser to the identity provider.
   *
   * Open it in a browser. With a challenge, only whoever holds the verifier can exchange the code. For a program on a machine without a browser the redirect is /oauth/code of this service: a page that shows the code to be typed there, for five minutes; it needs a challenge. The app itself asks with `browser=1` and where to `return`: its session is then a cookie that no script can read.
   */
  start(query?: StartSignInQuery, options?: CallOptions): Promise<StartSignInAnswer> {
    return this.client.call(
      { name: 'startSignIn', path: '/api/v1/auth/start', public: true, answers: 'redirect' },
      { query },
      options,
    )
  }
  /**
   * Where the identity provider returns to; hands a one-time code to the app's redirect.
   *
   * Called by the provider's page, not by apps. A state that is unknown or used is 400: start again.
   */
  callback(query: FinishSignInQuery, options?: CallOptions): Promise<FinishSignInAnswer> {
    return this.client.call(
      { name: 'finishSignIn', path: '/api/v1/auth/callback', public: true, answers: 'redirect' },
      { query },
      options,
    )
  }
  /**
   * Turn the one-time code into a session.
   *
   * The code works once and briefly; 401 means it is used or expired: start again.
   */
  exchange(body: ExchangeSignInBody, options?: CallOptions): Promise<SignedIn> {
    return this.client.call(
      { name: 'exchangeSignIn', path: '/api/v1/auth/exchange', method: 'POST', public: true },
      { body },
      options,
    )
  }
  /**
   * Sign in as anybody; exists only on a development deployment.
   *
   * 404 wherever development sign-in is off, as it must be in production.
   */
  dev(body: SignInForDevelopmentBody, options?: CallOptions): Promise<SignedIn> {
    return this.client.call(
      { name: 'signInForDevelopment', path: '/api/v1/auth/dev', method: 'POST', public: true },
      { body },
      options,
    )
  }
  /**
   * Who is signed in, and where.
   *
   * 401 means: sign in again.
   */
  get(options?: CallOptions): Promise<CurrentSession> {
    return this.client.call({ name: 'getSession', path: '/api/v1/auth/session' }, {}, options)
  }
  /**
   * Where this person is signed in, newest first.
   *
   * A session that nobody uses ends after 30 days, every one after 180.
   */
  list(options?: CallOptions): Promise<Session[]> {
    return this.client.call({ name: 'listSessions', path: '/api/v1/auth/sessions' }, {}, options)
  }
  /**
   * End one session, with its sockets and streams.
   *
   * The present one may be ended too. 404 for one that is another person's or has ended.
   */
  end(id: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'endSession', path: '/api/v1/auth/sessions/:id', method: 'DELETE' },
      { params: { id } },
      options,
    )
  }
  /**
   * End every session of this person but this one.
   *
   * For a lost device; answers how many were ended.
   */
  endOthers(options?: CallOptions): Promise<EndOtherSessionsAnswer> {
    return this.client.call(
      { name: 'endOtherSessions', path: '/api/v1/auth/sessions/end-others', method: 'POST' },
      {},
      options,
    )
  }
  /**
   * End this session.
   *
   * The token stops working in every process at once. A browser is told to forget all that the app kept in it.
   */
  signOut(options?: CallOptions): Promise<Success> {
    return this.client.call({ name: 'signOut', path: '/api/v1/auth/sign-out', method: 'POST' }, {}, options)
  }
  /**
   * Whose credential this is, where it works and what it may do.
   *
   * For every credential alike: the quickest way to find out whether one still works. 401 means that it does not.
   */
  me(options?: CallOptions): Promise<Me> {
    return this.client.call({ name: 'getMe', path: '/api/v1/me' }, {}, options)
  }
}
