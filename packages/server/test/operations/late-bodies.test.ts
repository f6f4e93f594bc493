import { createHash } from 'node:crypto'
import { type Route, routes } from '@guildhall/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { beginLate, type Late } from '../support/late-request.ts'
import { bearer, newTokens, type OAuthHouse, openOAuthHouse, registerApp } from '../support/oauth.ts'

/** A body that is still on its way when the access of whoever sends it ends: nothing comes of it any more. */
let set: OAuthHouse

beforeAll(async () => {
  set = await openOAuthHouse()
})

afterAll(() => set?.close())

type Credential = Readonly<Record<string, string>>

/** Every request of the contract that carries a body and a credential. */
const writing = Object.values(routes as Readonly<Record<string, Route>>).filter(
  ({ method, audience }) => method !== 'GET' && audience !== 'public' && audience !== 'operator',
)
/** More than a credential is believed for. */
const lateMs = 1000
const body = JSON.stringify({ label: 'late', access: 'full', name: 'late', input: 'late' })

interface LateCall extends Late {
  readonly what: string
}

async function begin(
  { method, path }: Pick<Route, 'method' | 'path'>,
  headers: Credential,
): Promise<LateCall> {
  const late = await beginLate(set.house.url + path.replace(/:\w+/g, '1'), { method, headers, body })
  return { what: `${method} ${path}`, ...late }
}

async function finishAll(late: readonly LateCall[]): Promise<Record<string, number>> {
  return Object.fromEntries(
    await Promise.all(late.map(async ({ what, finish }) => [what, (await finish()).status])),
  )
}

async function answersAfter(headers: Credential, end: () => Promise<{ status: number; text: string }>) {
  const late = await Promise.all(writing.map((route) => begin(route, headers)))
  // Until all of them have been admitted, who it is is known.
  await wait(200)
  const { status, text } = await end()
  expect(status, text).toBe(200)
  await wait(lateMs)
  return finishAll(late)
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const all = (status: number) =>
  Object.fromEntries(writing.map(({ method, path }) => [`${method} ${path}`, status]))

/** Those that are not for this kind of credential at all say so before they read anything. */
function expectRefused(given: Record<string, number>): void {
  const asked = Object.entries(given).filter(([, status]) => status !== 403)
  expect(asked.length).toBeGreaterThan(10)
  expect(asked.filter(([, status]) => status !== 401)).toEqual([])
}

test('a session that was signed out finishes no request that it began', async () => {
  const { house } = set
  const person = await house.newPerson()
  const end = () => house.call('POST', '/api/v1/auth/sign-out', { token: person.token })
  expectRefused(await answersAfter({ 'x-auth-token': person.token }, end))
  expect(await set.query('select id from api_keys where user_id = $1', [person.userId])).toEqual([])
})

test('nor does a key that was revoked', async () => {
  const { house } = set
  const person = await house.newPerson()
  const { id, secret } = await house.newKey(person, { access: 'full' })
  const end = () => house.call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
  expectRefused(await answersAfter({ 'x-api-key': secret }, end))
})

test('nor a person who was removed from the workspace', async () => {
  const { house, owner } = set
  const [member, team] = [await house.newPerson(), await house.newTeam(owner)]
  await house.addMember(owner, team, member)
  const inTeam = { 'x-workspace-id': team }
  const remove = (person: Person) =>
    house.call('DELETE', `/api/v1/workspaces/current/members/${person.userId}`, {
      token: owner.token,
      headers: inTeam,
    })
  const given = await answersAfter({ 'x-auth-token': member.token, ...inTeam }, () => remove(member))
  expect(given).toEqual(all(403))
})

test('nor an app whose grant was ended', async () => {
  const { house, owner } = set
  const app = await registerApp(house, owner)
  const tokens = await newTokens(house, app)
  const [grant] = await set.query(`select id, user_id from oauth_records where model = 'Grant'`)
  const end = async () => {
    const ended = await set.query(`delete from oauth_records where id = $1 returning id`, [grant.id])
    return { status: ended.length === 1 ? 200 : 0, text: '' }
  }
  expectRefused(await answersAfter(bearer(tokens.access_token).headers, end))
})

test('nor does one whose content took long to be stored', async () => {
  const { house } = set
  const person = await house.newPerson()
  const { id, secret } = await house.newKey(person, { access: 'full' })
  const content = `kept of ${id}`
  const checksum = createHash('sha256').update(content).digest('hex')
  const made = await withDatabase(set.databaseUrl, async (holder) => {
    await holder.query('begin')
    await holder.query('insert into blobs (checksum, size_bytes) values ($1, $2)', [checksum, content.length])
    const body = { type: 'file', name: 'late', files: [{ path: 'a.txt', content }] }
    const making = house.call('POST', '/api/v1/artifacts', { key: secret, body })
    await wait(200)
    const revoked = await house.call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
    expect(revoked.status).toBe(200)
    await wait(lateMs)
    await holder.query('rollback')
    return making
  })
  expect(made.status, made.text).toBe(401)
})
