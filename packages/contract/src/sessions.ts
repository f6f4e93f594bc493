import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { IdParam, Mode, Nullable, Success, Timestamp, Uuid } from './shapes.ts'
import { Workspace } from './workspaces.ts'

export const Person = Type.Object(
  {
    id: Uuid,
    email: Nullable(Type.String()),
    name: Nullable(Type.String()),
    mode: Mode,
  },
  { title: 'Person' },
)
export type Person = Static<typeof Person>

const SessionKind = Type.Enum(['token', 'browser'], {
  title: 'SessionKind',
  description: 'token: shown in x-auth-token; browser: a cookie that only pages of the app send',
})
export type SessionKind = Static<typeof SessionKind>

/** Where somebody is signed in, and as whom. */
const place = {
  expires_at: Timestamp,
  user: Person,
  workspaces: Type.Array(Workspace),
  current_workspace_id: Uuid,
}

export const CurrentSession = Type.Object(
  {
    ...place,
    session_id: Type.Number(),
    kind: SessionKind,
    signed_in_at: Timestamp,
    fresh_until: Type.String({
      format: 'date-time',
      description: 'Until then a first passkey may be added; after it, sign in again',
    }),
    pending: Type.Number({ description: 'How many requests wait for the person, over all workspaces' }),
  },
  { title: 'CurrentSession' },
)
export type CurrentSession = Static<typeof CurrentSession>

export const SignedIn = Type.Object({ auth_token: Type.String(), ...place }, { title: 'SignedIn' })
export type SignedIn = Static<typeof SignedIn>
export const Session = Type.Object(
  {
    id: Type.Number(),
    kind: SessionKind,
    current: Type.Boolean(),
    label: Nullable(Type.String({ description: 'What the person called it when they signed in' })),
    client_ua: Nullable(Type.String({ description: 'What the client said it is' })),
    client_ip: Nullable(Type.String({ description: 'Where it signed in from' })),
    created_at: Timestamp,
    last_used_at: Timestamp,
    expires_at: Timestamp,
  },
  { title: 'Session' },
)
export type Session = Static<typeof Session>

const Opaque = Type.String({ minLength: 1, maxLength: 4096 })

export const sessionRoutes = defineRoutes({
  listProviders: {
    method: 'GET',
    path: '/api/v1/auth/providers',
    summary: 'The identity providers a person can sign in with',
    description: 'Name one of them to auth/start; with a single one the name may be left out.',
    resource: 'session',
    verb: 'providers',
    page: 'bare',
    tag: 'sign-in',
    audience: 'public',
    limits: ['rest'],
    responses: { 200: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })) },
    errors: [],
    example: { answers: { 200: [{ id: 'google', name: 'Google' }] } },
  },
  startSignIn: {
    method: 'GET',
    path: '/api/v1/auth/start',
    summary: 'Send the browser to the identity provider',
    description:
      'Open it in a browser. With a challenge, only whoever holds the verifier can exchange the code. For a program on a machine without a browser the redirect is /oauth/code of this service: a page that shows the code to be typed there, for five minutes; it needs a challenge. The app itself asks with `browser=1` and where to `return`: its session is then a cookie that no script can read.',
    resource: 'session',
    verb: 'start',
    tag: 'sign-in',
    audience: 'public',
    limits: ['rest'],
    setsCookies: true,
    answers: 'redirect',
    query: Type.Object({
      provider: Type.Optional(Type.String({ maxLength: 64 })),
      redirect: Type.Optional(Type.String({ maxLength: 2048 })),
      challenge: Type.Optional(
        Type.String({
          pattern: '^[A-Za-z0-9_-]{43}$',
          description: 'base64url SHA-256 of a verifier the app keeps and sends to exchange',
        }),
      ),
      browser: Type.Optional(
        Type.Enum(['1'], {
          description: "Ends in a session of this browser's, where the app is served here",
        }),
      ),
      return: Type.Optional(
        Type.String({
          maxLength: 1024,
          pattern: '^/([!-.0-[\\]-~][!-[\\]-~]*)?$',
          description: 'With browser: the page of the app to go back to',
        }),
      ),
      fresh: Type.Optional(
        Type.Enum(['1'], { description: 'With browser: the provider must ask who it is, now' }),
      ),
    }),
    responses: { 302: Type.Object({ location: Type.String() }) },
    errors: ['INVALID_INPUT', 'SERVICE_UNAVAILABLE'],
  },
  finishSignIn: {
    method: 'GET',
    path: '/api/v1/auth/callback',
    summary: "Where the identity provider returns to; hands a one-time code to the app's redirect",
    description:
      "Called by the provider's page, not by apps. A state that is unknown or used is 400: start again.",
    resource: 'session',
    verb: 'callback',
    tag: 'sign-in',
    audience: 'public',
    limits: ['rest'],
    setsCookies: true,
    answers: 'redirect',
    query: Type.Object({
      state: Opaque,
      code: Type.Optional(Opaque),
      iss: Type.Optional(Opaque),
      error: Type.Optional(Type.String({ maxLength: 200 })),
      error_description: Type.Optional(Type.String({ maxLength: 2000 })),
    }),
    responses: { 302: Type.Object({ location: Type.String() }) },
    errors: ['INVALID_INPUT', 'UNAUTHORIZED', 'SERVICE_UNAVAILABLE'],
  },
  exchangeSignIn: {
    method: 'POST',
    path: '/api/v1/auth/exchange',
    summary: 'Turn the one-time code into a session',
    description: 'The code works once and briefly; 401 means it is used or expired: start again.',
    resource: 'session',
    verb: 'exchange',
    tag: 'sign-in',
    audience: 'public',
    changes: [],
    limits: ['rest'],
    body: Type.Object({
      code: Opaque,
      verifier: Type.Optional(Opaque),
      label: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 80,
          description: 'By which the person knows the session among theirs',
        }),
      ),
      lifetimeSeconds: Type.Optional(
        Type.Integer({
          minimum: 300,
          maximum: 2_592_000,
          description: 'The session ends so long after the sign-in, however much it is used',
        }),
      ),
    }),
    responses: { 200: SignedIn },
    errors: ['INVALID_INPUT', 'UNAUTHORIZED'],
    example: {
      body: {
        code: 'one-time',
        verifier: 'kept-by-the-app',
        label: 'guild on build-7',
        lifetimeSeconds: 3600,
      },
    },
  },
  signInForDevelopment: {
    method: 'POST',
    path: '/api/v1/auth/dev',
    summary: 'Sign in as anybody; exists only on a development deployment',
    description: '404 wherever development sign-in is off, as it must be in production.',
    resource: 'session',
    verb: 'dev',
    tag: 'sign-in',
    audience: 'public',
    changes: [],
    limits: ['rest'],
    body: Type.Object({
      email: Type.String({ minLength: 3, maxLength: 320, pattern: '^[^\\s@]+@[^\\s@]+$' }),
      mode: Type.Optional(Mode),
    }),
    responses: { 200: SignedIn },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
    example: { body: { email: 'ada@example.com' } },
  },
  getSession: {
    method: 'GET',
    path: '/api/v1/auth/session',
    summary: 'Who is signed in, and where',
    description: '401 means: sign in again.',
    resource: 'session',
    verb: 'get',
    tag: 'sign-in',
    audience: 'session',
    limits: ['rest'],
    setsCookies: true,
    responses: { 200: CurrentSession },
    errors: [],
  },
  listSessions: {
    method: 'GET',
    path: '/api/v1/auth/sessions',
    summary: 'Where this person is signed in, newest first',
    description: 'A session that nobody uses ends after 30 days, every one after 180.',
    resource: 'session',
    verb: 'list',
    page: 'bare',
    tag: 'sign-in',
    audience: 'session',
    limits: ['rest'],
    responses: {
      200: Type.Array(Session),
    },
    errors: [],
  },
  endSession: {
    method: 'DELETE',
    path: '/api/v1/auth/sessions/:id',
    summary: 'End one session, with its sockets and streams',
    description: "The present one may be ended too. 404 for one that is another person's or has ended.",
    resource: 'session',
    verb: 'end',
    tag: 'sign-in',
    audience: 'session',
    changes: ['session'],
    limits: ['rest'],
    params: IdParam,
    responses: { 200: Success },
    errors: ['NOT_FOUND'],
  },
  endOtherSessions: {
    method: 'POST',
    path: '/api/v1/auth/sessions/end-others',
    summary: 'End every session of this person but this one',
    description: 'For a lost device; answers how many were ended.',
    resource: 'session',
    verb: 'endOthers',
    tag: 'sign-in',
    audience: 'session',
    changes: ['session'],
    limits: ['rest'],
    responses: { 200: Type.Object({ success: Type.Literal(true), ended: Type.Number() }) },
    errors: [],
    example: { answers: { 200: { success: true, ended: 2 } } },
  },
  signOut: {
    method: 'POST',
    path: '/api/v1/auth/sign-out',
    summary: 'End this session',
    description:
      'The token stops working in every process at once. A browser is told to forget all that the app kept in it.',
    resource: 'session',
    verb: 'signOut',
    tag: 'sign-in',
    audience: 'session',
    changes: ['session'],
    limits: ['rest'],
    setsCookies: true,
    responses: { 200: Success },
    errors: [],
  },
})
