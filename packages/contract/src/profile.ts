import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Nullable, namePattern, Timestamp } from './shapes.ts'

const Facts = Type.Record(
  Type.String({ pattern: '^[a-z0-9][a-z0-9_.-]{0,63}$' }),
  Type.String({ minLength: 1, maxLength: 2000 }),
  { description: 'What the person wants agents to know, by name' },
)

export const Profile = Type.Object(
  {
    name: Nullable(Type.String()),
    email: Nullable(Type.String()),
    bio: Nullable(Type.String()),
    timezone: Nullable(Type.String()),
    facts: Facts,
    updatedAt: Nullable(Timestamp),
  },
  { title: 'Profile' },
)
export type Profile = Static<typeof Profile>

export const factsPerProfile = 200

export const profileRoutes = defineRoutes({
  getProfile: {
    method: 'GET',
    path: '/api/v1/profile',
    summary: 'What the person lets agents know',
    description: 'Facts have names; agents read what the person wrote there.',
    resource: 'profile',
    verb: 'get',
    tag: 'profile',
    audience: 'credential',
    scopes: ['profile:read'],
    limits: ['rest'],
    responses: { 200: Profile },
    errors: [],
  },
  updateProfile: {
    method: 'PATCH',
    path: '/api/v1/profile',
    summary: 'Change the profile; a fact set to null is removed',
    description: 'What is left out stays. 400 with details.limit beyond 200 facts.',
    resource: 'profile',
    verb: 'update',
    tag: 'profile',
    audience: 'credential',
    changes: ['profile', 'session'],
    scopes: ['profile:write'],
    limits: ['rest'],
    body: Type.Object({
      name: Type.Optional(Nullable(Type.String({ maxLength: 200, pattern: `^$|${namePattern.source}` }))),
      bio: Type.Optional(Nullable(Type.String({ maxLength: 4000 }))),
      timezone: Type.Optional(Nullable(Type.String({ maxLength: 64 }))),
      facts: Type.Optional(
        Type.Record(
          Type.String({ pattern: '^[a-z0-9][a-z0-9_.-]{0,63}$' }),
          Nullable(Type.String({ minLength: 1, maxLength: 2000 })),
        ),
      ),
    }),
    responses: { 200: Profile },
    errors: ['INVALID_INPUT'],
    example: { body: { timezone: 'Europe/London', facts: { tone: 'Short sentences' } } },
  },
  searchProfile: {
    method: 'GET',
    path: '/api/v1/profile/search',
    summary: 'Find facts of the profile by a word in their name or text',
    description: 'Answers the names and texts of the facts that fit.',
    resource: 'profile',
    verb: 'search',
    page: 'cursor',
    tag: 'profile',
    audience: 'credential',
    scopes: ['profile:search'],
    limits: ['rest'],
    query: Type.Object({ q: Type.String({ minLength: 1, maxLength: 200 }) }),
    responses: {
      200: Type.Object({
        items: Type.Array(Type.Object({ name: Type.String(), text: Type.String() })),
        nextCursor: Nullable(Type.String()),
      }),
    },
    errors: ['INVALID_INPUT'],
    example: { answers: { 200: { items: [{ name: 'tone', text: 'Short sentences' }], nextCursor: null } } },
  },
})
