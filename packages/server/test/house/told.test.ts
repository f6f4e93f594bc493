import type { ChangeKind } from '@guildhall/contract'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Tables } from '#platform/tables.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { patienceFor } from '../../../../test/support/sizes.ts'
import { type HeardSocket, openSocket, socketUrl } from '../../../../test/support/sockets.ts'
import { createDatabase, type House, newTeamWith, openHouse } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'
import { noteTables, shownBy } from '../support/shown-tables.ts'
import {
  models,
  operatorToken,
  type Stage,
  sendBy,
  stageIn,
  writingCase,
  writingRoutes,
} from '../support/writing-cases.ts'
import type { WritingCall } from '../support/writing-stage.ts'

/**
 * Every route that writes, with everybody listening whom it concerns, at another process: what people look at that is made
 * of the rows it wrote is named to one of them within a second, and a stranger hears nothing of it.
 */
let ingress: Ingress
let house: House
let other: House
let client: pg.Client
let nobody: Person
let stranger: HeardSocket

beforeAll(async () => {
  ingress = await openIngress()
  const databaseUrl = await createDatabase()
  const env = {
    DATABASE_URL: databaseUrl,
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000',
    OPERATOR_TOKEN: operatorToken,
    MODELS: JSON.stringify(models),
  }
  house = await openHouse(env)
  other = await openHouse(env)
  client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(noteTables)
  nobody = await house.newPerson()
  stranger = await openSocket(await socketUrl(other, { token: nobody.token }))
})

afterAll(async () => {
  await client?.end()
  await house?.close()
  await other?.close()
  await ingress?.close()
})

/** What is written and told to nobody, with the reason. */
const untold: Readonly<Record<string, readonly ChangeKind[]>> = {
  // Nobody knows yet whose it will be.
  createActivation: ['approvals'],
  // The primary agent is made for whoever first names it, a list among them.
  sendMessage: ['agents'],
  chat: ['agents'],
  createThread: ['agents'],
}

/** What would end the session of whoever listens. */
const endsOthers = ['endOtherSessions']

const kindsIn = ({ heard }: HeardSocket): ChangeKind[] =>
  heard.flatMap(({ type, keys }) => (type === 'cache-invalidate' ? keys : []))

async function stageWithPeople(name: string): Promise<{ people: Person[]; call: WritingCall }> {
  const people: Person[] = []
  const stage: Stage = stageIn(house, name.toLowerCase())
  const newPerson = async (mode?: string) => {
    const person = await stage.newPerson(mode)
    people.push(person)
    return person
  }
  return { people, call: await writingCase(name)({ ...stage, newPerson }) }
}

/** Of each person a session of their own in each of their workspaces. */
async function listenAs(people: readonly Person[], inTheirOwn: boolean): Promise<HeardSocket[]> {
  const sockets: HeardSocket[] = []
  for (const { email, token: own } of people) {
    const { auth_token } = inTheirOwn
      ? { auth_token: own }
      : (await house.call('POST', '/api/v1/auth/dev', { body: { email } })).body
    const { body: workspaces } = await house.call('GET', '/api/v1/workspaces', { token: auth_token })
    for (const { id } of workspaces) {
      const headers = { 'x-workspace-id': id }
      sockets.push(await openSocket(await socketUrl(other, { token: auth_token, headers })))
    }
  }
  return sockets
}

async function takeChangedTables(): Promise<(keyof Tables)[]> {
  const { rows } = await client.query('delete from changed_tables returning name')
  return rows.map(({ name }) => name).sort()
}

describe.each(writingRoutes)('$name', ({ name, route }) => {
  test('tells whom it concerns of all that it changed', async () => {
    const { people, call } = await stageWithPeople(name)
    const sockets = await listenAs(people, endsOthers.includes(name))
    await takeChangedTables()
    const answer = await sendBy(house, route, call)
    const answered = performance.now()
    expect(answer.status, answer.text).toBeLessThan(500)
    const written = (await takeChangedTables()).flatMap((table) => shownBy[table])
    const declared = answer.status < 300 ? (route.changes ?? []) : []
    const wanted = new Set([...written, ...declared].filter((kind) => !untold[name]?.includes(kind)))
    const missing = () => {
      const heard = new Set(sockets.flatMap(kindsIn))
      return [...wanted].filter((kind) => !heard.has(kind))
    }
    await until(() => missing().length === 0, patienceFor(1000)).catch(() => {})
    expect(missing()).toEqual([])
    expectWithin(performance.now() - answered, 1000)
    for (const { socket } of sockets) socket.close()
  })
})

test('of a private thread nobody else hears in its workspace, until they may see it', async () => {
  const [owner, mate] = [await house.newPerson(), await house.newPerson()]
  const team = await newTeamWith(house, owner, mate)
  const headers = { 'x-workspace-id': team }
  const [own, others] = await Promise.all(
    [owner, mate].map(async ({ token }) => openSocket(await socketUrl(other, { token, headers }))),
  )
  if (!own || !others) throw new Error('Two listen')
  const by = (method: string, path: string, body: unknown) =>
    house.call(method, `/api/v1${path}`, { token: owner.token, headers, body })
  const body = { threadId: 'diary', visibility: 'private' }
  expect((await by('POST', '/threads', body)).status).toBe(201)
  const message = { resourceId: team, threadId: 'diary', message: 'dear diary' }
  expect((await by('POST', '/agents/assistant/send-message', message)).status).toBe(202)
  expect((await by('PATCH', '/threads/diary', { title: 'mine' })).status).toBe(200)
  await until(() => kindsIn(own).filter((kind) => kind === 'threads').length >= 3, patienceFor(1000))
  expect((await by('PATCH', '/threads/diary', { visibility: 'workspace' })).status).toBe(200)
  await until(() => others.heard.length > 0, patienceFor(1000))
  expect(kindsIn(others)).toEqual(['threads', 'traces'])
  for (const { socket } of [own, others]) socket.close()
})

test('a stranger heard nothing of all that', async () => {
  const mark = { type: 'cache-invalidate', workspaceId: nobody.workspaceId, keys: [], ids: [] } as const
  // From both processes, because each has an order of its own.
  for (const { bus } of [house, other]) bus.publish(mark)
  await until(() => stranger.heard.length >= 2, patienceFor(1000))
  expect(stranger.heard).toEqual([expect.objectContaining(mark), expect.objectContaining(mark)])
})
