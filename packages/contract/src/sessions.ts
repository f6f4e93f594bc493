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
const Opaque = Type.String({ minLength: 1, maxLength: 4096 })

export const sessionRoutes = defineRoutes({
  listProviders: {
    method: 'GET',
    path: '/api/v1/auth/providers',
    summary: 'The identity providers a person can sign in with',
    tag: 'sign-in',
    audience: 'public',
    limits: ['rest'],
    responses: { 200: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })) },
    errors: [],
  },
  startSignIn: {
    method: 'GET',
    path: '/api/v1/auth/start',
    summary: 'Send the browser to the identity provider',
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
    tag: 'sign-in',
    audience: 'public',
    limits: ['rest'],
    body: Type.Object({ code: Opaque, verifier: Type.Optional(Opaque) }),
    responses: { 200: SignedIn },
    errors: ['INVALID_INPUT', 'UNAUTHORIZED'],
  },
  signInForDevelopment: {
    method: 'POST',
    path: '/api/v1/auth/dev',
    summary: 'Sign in as anybody; exists only on a development deployment',
    tag: 'sign-in',
    audience: 'public',
    limits: ['rest'],
    body: Type.Object({
      email: Type.String({ minLength: 3, maxLength: 320, pattern: '^[^\\s@]+@[^\\s@]+$' }),
      mode: Type.Optional(Mode),
    }),
    responses: { 200: SignedIn },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
  },
  getSession: {
    method: 'GET',
    path: '/api/v1/auth/session',
    summary: 'Who is signed in, and where',
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
    tag: 'sign-in',
    audience: 'session',
    limits: ['rest'],
    responses: {
      200: Type.Array(
        Type.Object({
          id: Type.Number(),
          current: Type.Boolean(),
          client_ua: Nullable(Type.String({ description: 'What the client said it is' })),
          client_ip: Nullable(Type.String({ description: 'Where it signed in from' })),
          created_at: Timestamp,
          last_used_at: Timestamp,
          expires_at: Timestamp,
        }),
      ),
    },
    errors: [],
  },
  endSession: {
    method: 'DELETE',
    path: '/api/v1/auth/sessions/:id',
    summary: 'End one session, with its sockets and streams',
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
    tag: 'sign-in',
    audience: 'session',
    limits: ['rest'],
    responses: { 200: Type.Object({ success: Type.Literal(true), ended: Type.Number() }) },
    errors: [],
  },
  signOut: {
    method: 'POST',
    path: '/api/v1/auth/sign-out',
    summary: 'End this session',
    tag: 'sign-in',
    audience: 'session',
    limits: ['rest'],
    responses: { 200: Success },
    errors: [],
  },
})
