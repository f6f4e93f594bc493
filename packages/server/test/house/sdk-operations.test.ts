import { type Route, routes } from '@guildhall/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as table from '../../../sdk/src/generated/table.ts'
import { ApiError, Guildhall } from '../../../sdk/src/index.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'
import { readingCase } from '../support/reading-cases.ts'
import { redisUrl } from '../support/redis.ts'
import { models, operatorToken, writingCase } from '../support/writing-cases.ts'
import {
  activate,
  asPerson,
  type Make,
  newDeclaredKey,
  newRun,
  newThread,
  type Stage,
  stageIn,
} from '../support/writing-stage.ts'

/** Every operation of the library's table, by its method, against a server with real parts. */
let house: House
let stage: Stage
let ingress: Ingress

beforeAll(async () => {
  ingress = await openIngress()
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    REDIS_URL: `${redisUrl()}/3`,
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000',
    OPERATOR_TOKEN: operatorToken,
    METRICS_TOKEN: operatorToken,
    MODELS: JSON.stringify(models),
  })
  stage = stageIn(house, 'library')
})

afterAll(async () => {
  await house?.close()
  await ingress?.close()
})

/** What the other matrices leave out: what stays open, and what is of the moment. */
const others: Record<string, Make> = {
  streamWorkflowRun: asPerson(async (at, person) => ({ params: { runId: await newRun(at, person) } })),
  subscribeThread: asPerson(async (at, person) => ({
    params: { agentId: 'assistant' },
    body: { resourceId: person.workspaceId, threadId: await newThread(at, person) },
  })),
  // Whoever asked waits for the answer: the key, and not the person.
  pollConsent: asPerson(async (at, person) => {
    const key = await newDeclaredKey(at, person)
    const { body } = await askBy(key, 'connect', { requestedScopes: ['agent:list'] })
    return { key, params: { consentId: body.consent_id } }
  }),
  pollPermission: asPerson(async (at, person) => {
    const { secret: key } = await house.newKey(person, { scopes: ['agent:list'] })
    await activate(at, person, key)
    const { body } = await askBy(key, 'request-permission', { scope: 'profile:read', reason: at.mark })
    return { key, params: { requestId: body.request_id } }
  }),
  getHealth: async () => ({}),
  getReadiness: async () => ({}),
  getMetrics: async () => ({ headers: { authorization: `Bearer ${operatorToken}` } }),
  startSignIn: async () => ({}),
  finishSignIn: async () => ({}),
}

const askBy = (key: string, path: string, body: object) =>
  house.call('POST', `/api/v1/agents/${path}`, { key, body })

/** Where a query must be given. */
const queries: Record<string, (at: Stage) => Promise<object>> = {
  lookupActivation: async (at) => ({ code: (await at.house.newCode()).userCode }),
  searchProfile: async () => ({ q: 'anything' }),
  diffSkillVersions: async () => ({ from: 1, to: 1 }),
  finishSignIn: async () => ({ state: 'none', code: 'none' }),
}

/** Who is missing here: then the server says so, in words that the contract has for it. */
const refused: Record<string, string> = {
  // Nothing is in the marketplace, and no repository can be reached to fill it.
  getMarketplaceSkill: 'NOT_FOUND',
  getMarketplaceBundle: 'NOT_FOUND',
  syncCatalog: 'INVALID_INPUT',
  // Only a browser at an identity provider makes a grant, or signs in.
  endOAuthGrant: 'NOT_FOUND',
  startSignIn: 'INVALID_INPUT',
  finishSignIn: 'INVALID_INPUT',
  // Nothing has run, so there is nothing to make a receipt of.
  makeTraceReceipt: 'CONFLICT',
  getReceipt: 'NOT_FOUND',
}

const operations = Object.values(table as unknown as Record<string, { name?: string }>).flatMap(({ name }) =>
  name && name in routes ? [name as keyof typeof routes] : [],
)

test('the table has every operation of the contract', () => {
  expect(operations.toSorted()).toEqual(Object.keys(routes).toSorted())
})

test.each(operations)('%s', async (name) => {
  const route: Route = routes[name]
  const make = others[name] ?? (route.method === 'GET' ? readingCase(name) : writingCase(name))
  const {
    params = {},
    body = {},
    headers: { authorization, ...headers } = {},
    key,
    token,
  } = await make(stage)
  const guild = new Guildhall({
    baseUrl: house.url,
    maxRetries: 0,
    ...credentialOf(key, token, authorization),
  })
  const resource = guild[route.resource as keyof Guildhall] as unknown as Record<
    string,
    (...given: unknown[]) => unknown
  >
  expect(resource[route.verb], `${route.resource}.${route.verb}`).toBeTypeOf('function')
  const given = [
    ...[...route.path.matchAll(/:(\w+)/g)].map(([, param = '']) => params[param]),
    ...(route.body ? [body] : []),
    ...(route.query ? [(await queries[name]?.(stage)) ?? {}] : []),
    { headers },
  ]
  const outcome = await settled(resource[route.verb]?.(...given)).then(
    () => 'answered',
    (error: unknown) => (ApiError.is(error) ? error.code : String(error)),
  )
  expect(outcome).toBe(refused[name] ?? 'answered')
})

function credentialOf(apiKey: string | undefined, authToken = 'none', authorization: string | undefined) {
  if (apiKey) return { apiKey }
  return authorization ? { accessToken: authorization.slice('Bearer '.length) } : { authToken }
}

/** A list gives a page, a stream its first event, everything else what it answers. */
async function settled(given: unknown): Promise<unknown> {
  const stream = given as AsyncGenerator<unknown>
  if (typeof stream?.next !== 'function') return given
  const first = await stream.next()
  await stream.return(undefined)
  return first
}
