import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Extended, Limit, Offset } from './shapes.ts'

export const MarketplaceSkill = Type.Object(
  {
    slug: Type.String(),
    name: Type.String(),
    description: Type.String(),
    category: Type.String(),
    repository: Type.String(),
  },
  { title: 'MarketplaceSkill' },
)
export type MarketplaceSkill = Static<typeof MarketplaceSkill>
export const MarketplaceSkillDetail = Extended(MarketplaceSkill, 'MarketplaceSkillDetail', {
  prompt: Type.String(),
  author: Type.String(),
  version: Type.String(),
  commitHash: Type.String(),
  filesCount: Type.Number(),
  contentChecksum: Type.String(),
})
export type MarketplaceSkillDetail = Static<typeof MarketplaceSkillDetail>

const SlugParam = Type.Object({ slug: Type.String() })

/** What anybody may read without a credential. */
export const marketplaceRoutes = defineRoutes({
  listMarketplaceSkills: {
    method: 'GET',
    path: '/api/v1/marketplace/skills',
    summary:
      'The catalog in the order of slugs, without limit to its end; a search by relevance, at most 1000',
    description: 'Answers an ETag: send it as If-None-Match and get 304 while nothing changed.',
    resource: 'marketplace',
    verb: 'search',
    page: 'offset',
    tag: 'marketplace',
    audience: 'public',
    limits: ['rest'],
    answers: 'json',
    revalidates: true,
    query: Type.Object({
      limit: Limit(1000),
      offset: Offset(),
      category: Type.Optional(Type.String({ maxLength: 64 })),
      q: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Full-text search' })),
    }),
    responses: { 200: Type.Array(MarketplaceSkill) },
    errors: ['INVALID_INPUT'],
  },
  listMarketplaceCategories: {
    method: 'GET',
    path: '/api/v1/marketplace/skills/categories',
    summary: 'The categories of the catalog and how many skills each has',
    description: 'Their ids are what the parameter `category` of the list takes.',
    resource: 'marketplace',
    verb: 'categories',
    page: 'bare',
    tag: 'marketplace',
    audience: 'public',
    limits: ['rest'],
    responses: {
      200: Type.Array(Type.Object({ id: Type.String(), name: Type.String(), count: Type.Number() })),
    },
    errors: [],
    example: { answers: { 200: [{ id: 'writing', name: 'Writing', count: 4 }] } },
  },
  getMarketplaceSkill: {
    method: 'GET',
    path: '/api/v1/marketplace/skills/:slug',
    summary: 'One skill of the catalog',
    description: 'With its whole prompt, to be read before it is installed.',
    resource: 'marketplace',
    verb: 'get',
    tag: 'marketplace',
    audience: 'public',
    limits: ['rest'],
    params: SlugParam,
    responses: {
      200: MarketplaceSkillDetail,
    },
    errors: ['NOT_FOUND'],
  },
  getMarketplaceBundle: {
    method: 'GET',
    path: '/api/v1/marketplace/skills/:slug/bundle',
    summary: 'A skill of the catalog as a zip; the header x-commit-hash says which state it is',
    description: 'What an install of it would take.',
    resource: 'marketplace',
    verb: 'bundle',
    tag: 'marketplace',
    audience: 'public',
    limits: ['rest'],
    answers: 'file',
    params: SlugParam,
    responses: { 200: Type.Any() },
    errors: ['NOT_FOUND'],
  },
  syncCatalog: {
    method: 'POST',
    path: '/api/v1/operator/catalog/sync',
    summary:
      'Bring every skill of a git repository into the catalog; needs the operator token as a bearer token',
    description:
      'Skills that cannot be read are skipped and named; the others are written. 401 without the token.',
    resource: 'operations',
    verb: 'syncCatalog',
    tag: 'operations',
    audience: 'operator',
    changes: [],
    operatorToken: 'operator',
    limits: ['rest'],
    body: Type.Object({
      repository: Type.String({ minLength: 1, maxLength: 2000 }),
      ref: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
      path: Type.Optional(Type.String({ minLength: 1, maxLength: 300 })),
    }),
    responses: {
      200: Type.Object({
        repository: Type.String(),
        commitHash: Type.String(),
        revision: Type.Number({ description: 'Of the catalog; as before when nothing changed' }),
        skills: Type.Number({ description: 'How many the catalog has of this source now' }),
        written: Type.Number(),
        removed: Type.Number(),
        skipped: Type.Array(Type.Object({ path: Type.String(), reason: Type.String() })),
      }),
    },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'UNAUTHORIZED'],
    example: {
      body: { repository: 'https://example.com/skills.git', ref: 'main' },
      answers: {
        200: {
          repository: 'https://example.com/skills.git',
          commitHash: '3b18e51',
          revision: 9,
          skills: 12,
          written: 1,
          removed: 0,
          skipped: [],
        },
      },
    },
  },
})
