import {
  agentsPerWorkspace,
  agentVersionsKept,
  bundleLimits,
  invitationsPerWorkspace,
  oauthClientsPerUser,
  passkeysPerUser,
  pushSubscriptionsPerUser,
  type Route,
} from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withDatabase } from '../../../../test/support/database.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'
import { multiplyRows } from '../support/many-rows.ts'
import { readingCase, readingRoutes } from '../support/reading-cases.ts'
import { countStatements, type StatementCounter } from '../support/statement-counter.ts'
import {
  models,
  operatorToken,
  sendBy,
  stageIn,
  writingCase,
  writingRoutes,
} from '../support/writing-cases.ts'
import type { Make, WritingCall } from '../support/writing-stage.ts'

/**
 * However much there is, a read takes a page of it at a time. Everything that the reading routes read is there hundreds of
 * times, and what PostgreSQL gives for each statement is counted as it goes by.
 */
const times = 250
/** The longest page of most lists, and the row that says whether there are more. */
const pageRows = 201

/** Read whole, since there can be no more: whoever makes another is refused, or the oldest goes. */
const readWhole: Readonly<Record<string, number>> = {
  getArtifact: bundleLimits.files,
  getArtifactContent: bundleLimits.files,
  exportSkill: bundleLimits.files,
  diffSkillVersions: bundleLimits.files,
  listAgents: agentsPerWorkspace,
  listAgentVersions: agentVersionsKept,
  listWorkspaceInvitations: invitationsPerWorkspace,
  listPasskeys: passkeysPerUser,
  listOAuthClients: oauthClientsPerUser,
  listPushSubscriptions: pushSubscriptionsPerUser,
  // One of each provider that the service knows.
  listProviderKeys: 2,
  // Its longest page.
  listMarketplaceSkills: 1000,
}

test('what is read whole is little', () => {
  for (const [name, most] of Object.entries(readWhole)) expect(most, name).toBeLessThanOrEqual(1000)
})

/** Lists of which there is one thing for a person, or that only somebody outside can fill. */
const short: readonly string[] = [
  'listProviders',
  'listWorkspaces',
  'listInvitations',
  'listMarketplaceCategories',
  'listOAuthGrants',
  'listTraceReceipts',
  'searchProfile',
]

/** What has to be done before there is something in a list: the request of another case. */
const filledBy: Readonly<Record<string, string>> = {
  listWorkspaces: 'createWorkspace',
  listWorkspaceInvitations: 'inviteMember',
  listKeys: 'createKey',
  listPasskeys: 'createPasskey',
  listArtifacts: 'createArtifact',
  listSkills: 'installSkill',
  listAgents: 'createAgent',
  listWorkflows: 'installWorkflow',
  listWorkflowDefinitions: 'installWorkflow',
  listWorkflowRuns: 'launchWorkflow',
  listWorkflowQueue: 'launchWorkflow',
  listProviderKeys: 'storeProviderKey',
  listPushSubscriptions: 'subscribePush',
  listApprovals: 'requestPermission',
  listOAuthClients: 'createOAuthClient',
  searchProfile: 'updateProfile',
  getTraceEvents: 'appendTraceEvents',
  exportTrace: 'appendTraceEvents',
  getTraceBrief: 'appendTraceEvents',
  listHandovers: 'createHandover',
}
/** Or only prepared. */
const preparedBy: Readonly<Record<string, string>> = {
  listInvitations: 'acceptInvitation',
  listNotifications: 'seeNotification',
  listThreadNotifications: 'seeThreadNotifications',
  getPasskeyRecovery: 'createPasskey',
}

let ingress: Ingress
let house: House
let counter: StatementCounter
let databaseUrl: string
const made = new Map<string, WritingCall>()

beforeAll(async () => {
  ingress = await openIngress()
  databaseUrl = await createDatabase()
  counter = await countStatements(databaseUrl)
  house = await openHouse({
    DATABASE_URL: counter.url,
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000',
    OPERATOR_TOKEN: operatorToken,
    MODELS: JSON.stringify(models),
  })
})

afterAll(async () => {
  await house?.close()
  await ingress?.close()
  counter?.close()
})

/** The call of a case, and who came first in it. */
async function play(name: string, make: Make) {
  const stage = stageIn(house, name.toLowerCase())
  const tokens: string[] = []
  const call = await make({
    ...stage,
    newPerson: async (mode) => {
      const person = await stage.newPerson(mode)
      tokens.push(person.token)
      return person
    },
  })
  return { call, token: tokens[0] ?? '' }
}

async function prepare(name: string): Promise<WritingCall> {
  const filling = filledBy[name] ?? preparedBy[name]
  if (!filling) return (await play(name, readingCase(name))).call
  const { call, token } = await play(name, writingCase(filling))
  if (filledBy[name]) {
    const { route } = writingRoutes.find((each) => each.name === filling) as { route: Route }
    const answer = await sendBy(house, route, call)
    expect(answer.status, answer.text).toBeLessThan(300)
  }
  return { params: call.params ?? {}, headers: call.headers ?? {}, token }
}

test.each(readingRoutes)('what $name reads is there', async ({ name }) => {
  made.set(name, await prepare(name))
})

test('hundreds of times', { timeout: 300_000 }, async () => {
  await withDatabase(databaseUrl, async (client) => {
    // Of what is under way there is one.
    await client.query(`update executions set status = 'completed'`)
    await client.query(`update thread_runs set status = 'completed'`)
    await client.query(
      `insert into catalog_skills (slug, source, repository, commit_hash, bundle_checksum, name, description, category,
         prompt, author, version, allowed_tools, scopes)
       select 'skill', 'test', 'https://git.test/skills', repeat('b', 40), checksum, 'Skill', 'Does it.', 'writing', 'Do.',
         'A', '1.0.0', '{}', '{}' from bundles limit 1`,
    )
    expect(await multiplyRows(client, times)).toEqual(['catalog_state'])
  })
})

describe.each(readingRoutes)('$name', ({ name, route }) => {
  const read = async (query: string) => {
    const call = made.get(name) as WritingCall
    const sent = name === 'searchProfile' ? `${query}&q=text` : query
    // Who is asking is believed from now on.
    await sendBy(house, route, call, sent)
    counter.take()
    await sendBy(house, route, call, sent)
    return counter.take()
  }

  test.each(['?', '?limit=7', '?limit=1000000000'])('%s', async (query) => {
    const { mostRows } = await read(query)
    if (!readWhole[name]) expect(mostRows).toBeLessThanOrEqual(pageRows)
  })

  test('is long here', async () => {
    const { rows, mostRows } = await read('?limit=1000000000')
    if (readWhole[name]) expect(mostRows).toBeGreaterThan(pageRows)
    else if (route.page && !short.includes(name)) expect(rows).toBeGreaterThan(20)
  })
})

describe('what is walked a page at a time is whole, each once and in order', () => {
  const read = async (name: string) => {
    const { route } = readingRoutes.find((each) => each.name === name) as { route: Route }
    return (await sendBy(house, route, made.get(name) as WritingCall)).body
  }

  test('keys', async () => {
    const ids = (await read('listKeys')).map(({ id }: { id: number }) => id)
    expect(ids.length).toBe(2 * times + 1)
    expect(ids).toEqual([...new Set<number>(ids)].sort((a, b) => b - a))
  })

  test('the queue', async () => {
    const { queued, total } = await read('listWorkflowQueue')
    expect(queued.length).toBeGreaterThan(2 * times)
    expect(new Set(queued.map(({ runId }: { runId: string }) => runId)).size).toBe(queued.length)
    expect(total).toBe(queued.length)
  })
})
