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

export const CurrentSession = Type.Object(
  {
    expires_at: Timestamp,
    user: Person,
    workspaces: Type.Array(Workspace),
    current_workspace_id: Uuid,
  },
  { title: 'CurrentSession' },
)
export type CurrentSession = Static<typeof CurrentSession>

export const SignedIn = Type.Object(
  { auth_token: Type.String(), ...CurrentSession.properties },
  { title: 'SignedIn' },
)
export type SignedIn = Static<typeof SignedIn>
export const Session = Type.Object(
  {
    id: Type.Number(),
    current: Type.Boolean(),
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
      'Open it in a browser. With a challenge, only whoever holds the verifier can exchange the code.',
    resource: 'session',
    verb: 'start',
    tag: 'sign-in',
    audience: 'public',
    limits: ['rest'],
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
    limits: ['rest'],
    body: Type.Object({ code: Opaque, verifier: Type.Optional(Opaque) }),
    responses: { 200: SignedIn },
    errors: ['INVALID_INPUT', 'UNAUTHORIZED'],
    example: { body: { code: 'one-time', verifier: 'kept-by-the-app' } },
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
    limits: ['rest'],
    responses: { 200: Type.Object({ success: Type.Literal(true), ended: Type.Number() }) },
    errors: [],
    example: { answers: { 200: { success: true, ended: 2 } } },
  },
  signOut: {
    method: 'POST',
    path: '/api/v1/auth/sign-out',
    summary: 'End this session',
    description: 'The token stops working in every process at once.',
    resource: 'session',
    verb: 'signOut',
    tag: 'sign-in',
    audience: 'session',
    limits: ['rest'],
    responses: { 200: Success },
    errors: [],
  },
})
