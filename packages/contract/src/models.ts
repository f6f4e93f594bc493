import { type Static, Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { Success, Timestamp } from './shapes.ts'

const Provider = Type.Enum(['anthropic', 'openai-compatible'], {
  description: 'The protocol that a model provider speaks',
})
export type ModelProvider = Static<typeof Provider>

const ProviderParam = Type.Object({ provider: Provider })

export const ProviderKey = Type.Object(
  {
    provider: Provider,
    baseUrl: Type.String({ description: 'The only address the key is sent to' }),
    hint: Type.String({ description: 'The last four characters of the key' }),
    createdAt: Timestamp,
  },
  { title: 'ProviderKey' },
)
export type ProviderKey = Static<typeof ProviderKey>

export const modelRoutes = defineRoutes({
  listProviderKeys: {
    method: 'GET',
    path: '/api/v1/profile/provider-keys',
    summary: "The person's own keys of model providers, without their secrets",
    description: 'The hint tells them apart.',
    resource: 'providerKeys',
    verb: 'list',
    page: 'bare',
    tag: 'profile',
    audience: 'session',
    limits: ['rest'],
    responses: { 200: Type.Array(ProviderKey) },
    errors: [],
  },
  storeProviderKey: {
    method: 'PUT',
    path: '/api/v1/profile/provider-keys/:provider',
    summary: 'Store a key of a model provider, in place of one stored before; for accounts in byokmode',
    description: "403 outside byokmode; 400 when the address is none of this deployment's.",
    resource: 'providerKeys',
    verb: 'store',
    tag: 'profile',
    audience: 'session',
    changes: ['providerKeys'],
    limits: ['rest'],
    params: ProviderParam,
    body: Type.Object({
      apiKey: Type.String({
        minLength: 8,
        maxLength: 500,
        pattern: '^[!-~]+$',
        description: 'Kept encrypted; no answer shows it again',
      }),
      baseUrl: Type.Optional(
        Type.String({
          maxLength: 500,
          description: "One of the addresses of this deployment's models; needed where it has several",
        }),
      ),
    }),
    responses: { 200: ProviderKey },
    errors: ['INVALID_INPUT', 'FORBIDDEN'],
    example: { body: { apiKey: 'sk-your-own-key' } },
  },
  removeProviderKey: {
    method: 'DELETE',
    path: '/api/v1/profile/provider-keys/:provider',
    summary: 'Remove a stored key',
    description: '404 when none is stored.',
    resource: 'providerKeys',
    verb: 'remove',
    tag: 'profile',
    audience: 'session',
    changes: ['providerKeys'],
    limits: ['rest'],
    params: ProviderParam,
    responses: { 200: Success },
    errors: ['INVALID_INPUT', 'NOT_FOUND'],
  },
})
