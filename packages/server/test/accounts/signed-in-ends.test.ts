import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { openSocket, socketUrl } from '../../../../test/support/sockets.ts'
import { type Holder, newHolder } from '../support/credentials.ts'
import { type House, openHouse, shiftClock } from '../support/house.ts'
import {
  type App,
  bearer,
  exchange,
  newTokens,
  type OAuthHouse,
  openOAuthHouse,
  registerApp,
} from '../support/oauth.ts'

/** How sessions and what apps were allowed come to an end: by time, and by the person. */
let set: OAuthHouse
let house: House
let far: House

beforeAll(async () => {
  set = await openOAuthHouse()
  house = set.house
  far = await openHouse({ DATABASE_URL: set.databaseUrl })
})

afterAll(async () => {
  await far.close()
  await set.close()
})

const day = 24 * 3600
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const believedMs = 950

async function atDay<T>(days: number, work: () => Promise<T>): Promise<T> {
  await shiftClock(set.databaseUrl, days * day)
  await wait(believedMs)
  return work()
}

describe('sessions', () => {
  const statusOf = async (token: string) =>
    (await house.call('GET', '/api/v1/auth/session', { token })).status
  const signInAgain = async ({ email }: Person, userAgent = 'other') => {
    const headers = { 'user-agent': userAgent }
    const answer = await house.call('POST', '/api/v1/auth/dev', { body: { email }, headers })
    return answer.body.auth_token as string
  }
  const list = async (token: string) => (await house.call('GET', '/api/v1/auth/sessions', { token })).body

  test('end 30 days after their last use and 180 days after the sign-in', async () => {
    const [idle, busy] = [await house.newPerson(), await house.newPerson()]
    try {
      for (const days of [29, 58, 87, 116, 145, 174, 179.9]) {
        expect(await atDay(days, () => statusOf(busy.token)), `day ${days}`).toBe(200)
        // Not looked at before, since that would be a use.
        if (days === 58) expect(await statusOf(idle.token)).toBe(401)
        // The renewal is not waited for by the request that causes it.
        await wait(50)
      }
      const [own] = await list(busy.token)
      expect(Date.parse(own.expires_at) - Date.parse(own.created_at)).toBe(180 * day * 1000)
      expect(await atDay(180.01, () => statusOf(busy.token))).toBe(401)
    } finally {
      await shiftClock(set.databaseUrl, 0)
    }
  }, 40_000)

  test('are listed with what tells them apart, for their person only', async () => {
    const [person, stranger] = [await house.newPerson(), await house.newPerson()]
    await signInAgain(person, 'Editor/2 \u0085evil')
    const [other, own, ...more] = await list(person.token)
    expect(more).toEqual([])
    expect([own.current, other.current]).toEqual([true, false])
    expect(other).toMatchObject({ client_ip: '127.0.0.1', client_ua: expect.stringContaining('Editor/2') })
    expect(other.client_ua).toMatch(/^[\x20-\x7e]+$/)
    expect(JSON.stringify(await list(stranger.token))).not.toContain(`"id":${own.id},`)
    const path = `/api/v1/auth/sessions/${own.id}`
    expect((await house.call('DELETE', path, { token: stranger.token })).status).toBe(404)
    expect(await statusOf(person.token)).toBe(200)
    const { secret } = await house.newKey(person)
    expect((await house.call('GET', '/api/v1/auth/sessions', { key: secret })).status).toBe(403)
  })

  test('are ended one by one or all but this, with their sockets, on every process', async () => {
    const person = await house.newPerson()
    const tokens = [await signInAgain(person), await signInAgain(person), await signInAgain(person)]
    const sockets = await Promise.all(
      tokens.map(async (token) => openSocket(await socketUrl(far, { token }))),
    )
    const kept = await openSocket(await socketUrl(far, { token: person.token }))
    const [newest] = await list(person.token)
    const started = performance.now()
    const one = await house.call('DELETE', `/api/v1/auth/sessions/${newest.id}`, { token: person.token })
    expect(one.body).toEqual({ success: true })
    expect(await sockets[2]?.closed).toMatchObject({ code: 4001 })
    const others = await house.call('POST', '/api/v1/auth/sessions/end-others', { token: person.token })
    expect(others.body).toEqual({ success: true, ended: 2 })
    for (const { closed } of sockets) expectWithin((await closed).at - started, 4000)
    for (const token of tokens) expect(await statusOf(token)).toBe(401)
    expect(await statusOf(person.token)).toBe(200)
    expect(kept.socket.readyState).toBe(WebSocket.OPEN)
    kept.socket.close()
    const lines = await house.call('GET', '/api/v1/activity?type=session.signed_out', { token: person.token })
    expect(lines.body.items).toHaveLength(3)
  })
})

describe('what apps were allowed', () => {
  let app: App
  let holder: Holder
  let count = 0

  beforeEach(async () => {
    app = await registerApp(house, set.owner)
    holder = await newHolder(set, app, `holder${++count}`)
  })

  const grantsOf = async () => (await holder.call(holder.session, 'GET', '/oauth/grants')).body
  const isGood = async () => (await holder.call(holder.oauth, 'GET', '/workspaces')).status === 200

  /** A socket and a stream of the app's, in another process than the one that ends it. */
  async function holdOpen() {
    const headers = { ...holder.oauth }
    const socket = await openSocket(await socketUrl(far, { headers }))
    const content = '---\nname: kept\ndescription: Is kept open.\n---\nWait.\n'
    const files = [{ path: 'SKILL.md', content }]
    const { body: artifact } = await holder.call(holder.session, 'POST', '/artifacts', {
      type: 'skill',
      files,
    })
    const install = { artifactId: artifact.id }
    await holder.call(holder.session, 'POST', '/skills/kept/install', install)
    const start = { skill_slug: 'kept', input: 'x' }
    const { body: execution } = await holder.call(holder.oauth, 'POST', '/executions', start)
    const { body } = await holder.call(holder.oauth, 'GET', `/executions/${execution.id}/stream-token`)
    const address = new URL(body.sseUrl)
    const response = await fetch(far.url + address.pathname + address.search)
    expect(response.status).toBe(200)
    const ended = response.text().then(
      () => performance.now(),
      () => performance.now(),
    )
    return { socket, ended }
  }

  test.each(['the app is deleted', 'the person takes it back'])(
    'ends with its sockets when %s',
    async (how) => {
      const { socket, ended } = await holdOpen()
      const [grant] = await grantsOf()
      const started = performance.now()
      const answer =
        how === 'the app is deleted'
          ? await house.call('DELETE', `/api/v1/oauth/clients/${app.id}`, { token: set.owner.token })
          : await holder.call(holder.session, 'DELETE', `/oauth/grants/${grant.id}`)
      expect(answer.status, answer.text).toBe(200)
      const times = [(await socket.closed).at - started, (await ended) - started]
      for (const ms of times) expectWithin(ms, 2000)
      expect(await isGood()).toBe(false)
    },
  )

  test('is listed for its person, and ended by nobody else', async () => {
    const [grant] = await grantsOf()
    expect(grant).toMatchObject({
      client_id: app.id,
      name: 'Weather Bot',
      scopes: ['read'],
      workspace: { id: holder.workspaceId },
    })
    const other = await newHolder(set, app, `other${count}`)
    const path = `/oauth/grants/${grant.id}`
    const foreign = await other.call(other.session, 'DELETE', path)
    const unknown = await other.call(other.session, 'DELETE', '/oauth/grants/987654321')
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
    expect((await holder.call(holder.oauth, 'DELETE', path)).status).toBe(403)
    expect(await isGood()).toBe(true)
    expect((await holder.call(holder.session, 'DELETE', path)).status).toBe(200)
    expect((await holder.call(holder.session, 'DELETE', path)).status).toBe(404)
    expect((await grantsOf()).map(({ id }: { id: number }) => id)).not.toContain(grant.id)
  })

  test('ends for good 180 days after it was given, however often it is refreshed', async () => {
    let { refresh_token, access_token } = await newTokens(house, app, { login: `holder${count}` })
    const refresh = () => exchange(house, app, { grant_type: 'refresh_token', refresh_token })
    try {
      for (const days of [29, 58, 87, 116, 145, 174, 179.99]) {
        await shiftClock(set.databaseUrl, days * day)
        const answer = await refresh()
        expect(answer.status, `day ${days}: ${answer.text}`).toBe(200)
        ;({ refresh_token, access_token } = answer.body)
      }
      expect((await house.call('GET', '/api/v1/workspaces', bearer(access_token))).status).toBe(200)
      await shiftClock(set.databaseUrl, 180.01 * day)
      expect((await refresh()).body.error).toBe('invalid_grant')
      await wait(believedMs)
      expect((await house.call('GET', '/api/v1/workspaces', bearer(access_token))).status).toBe(401)
    } finally {
      await shiftClock(set.databaseUrl, 0)
    }
  })
})
