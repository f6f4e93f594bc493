import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { newTeamWith } from '../support/house.ts'
import { bearer, newTokens, type OAuthHouse, openOAuthHouse, registerApp } from '../support/oauth.ts'
import { callsOf, newTrace, said } from '../support/traces.ts'

/** What somebody with an account, a key or an app of their own tries with traces. */
let set: OAuthHouse
let person: Person

beforeAll(async () => {
  set = await openOAuthHouse()
  person = await set.house.newPerson()
})

afterAll(() => set?.close())

const call = (...[method, path, options]: Parameters<OAuthHouse['house']['call']>) =>
  set.house.call(method, `/api/v1${path}`, options)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const ourSecret = `guild_live_${'z'.repeat(49)}`
const large = (bytes: number) => ({ type: 'agent.text', payload: { text: 'x'.repeat(bytes) } })

describe('who waits for turns', () => {
  async function waiting() {
    const traceId = await newTrace(set.house, person)
    const { id, secret } = await set.house.newKey(person)
    const began = performance.now()
    const answered = call('GET', `/traces/${traceId}/events?wait=20`, { key: secret }).then((answer) => ({
      ...answer,
      seconds: (performance.now() - began) / 1000,
    }))
    await pause(300)
    return { traceId, answered, end: () => callsOf(set.house, person)('DELETE', `/keys/${id}`) }
  }

  test('is sent away when the key is revoked', async () => {
    const { answered, end } = await waiting()
    await end()
    const { status, seconds } = await answered
    expect(status).toBe(401)
    expectWithin(seconds * 1000, 10_000, 'the wait', 20_000)
  })

  test('is not told what was said after that', async () => {
    const { traceId, answered, end } = await waiting()
    await end()
    await pause(1000)
    await callsOf(set.house, person)('POST', `/traces/${traceId}/events`, { events: [said('Among us')] })
    const { status, text } = await answered
    expect(status).toBe(401)
    expect(text).not.toContain('Among us')
  })
})

describe('a code that reaches a person', () => {
  test('is of no use to who was removed from the workspace', async () => {
    const { house } = set
    const member = await house.newPerson()
    const team = await newTeamWith(house, person, member)
    const inTeam = { 'x-workspace-id': team }
    const owners = callsOf(house, person)
    const files = [{ path: 'SKILL.md', content: '---\nname: writer\ndescription: Writes.\n---\nWrite.\n' }]
    const { id: artifactId } = await owners('POST', '/artifacts', { type: 'skill', files }, inTeam)
    await owners('POST', '/skills/writer/install', { artifactId }, inTeam)
    const { id } = await owners('POST', '/executions', { skill_slug: 'writer', input: 'Go' }, inTeam)
    const { traceId } = await owners('GET', `/executions/${id}/status`, undefined, inTeam)
    const offer = () =>
      callsOf(house, member)('POST', `/traces/${traceId}/handover`, { reach: 'person' }, inTeam)
    const [first, second] = [await offer(), await offer()]
    const pickUp = (code: string) => call('POST', '/traces/pickup', { token: member.token, body: { code } })
    expect((await pickUp(first.code)).body.copied).toBe(true)
    await owners('DELETE', `/workspaces/current/members/${member.userId}`, undefined, inTeam)
    await owners('POST', `/traces/${traceId}/events`, { events: [said('Among us')] }, inTeam)
    const refused = await pickUp(second.code)
    expect([refused.status, refused.body.error]).toEqual([404, (await pickUp('ZZZZ-ZZZZ')).body.error])
    const { items } = await owners('GET', `/traces/${traceId}/handovers`, undefined, inTeam)
    expect(items.map(({ status }: { status: string }) => status)).toEqual(['pending', 'claimed'])
  })

  test('copies no more than is held at a time', async () => {
    const traceId = await newTrace(set.house, person)
    const calls = callsOf(set.house, person)
    const events = Array.from({ length: 15 }, () => large(65_000))
    for (let i = 0; i < 18; i++) await calls('POST', `/traces/${traceId}/events`, { events })
    const { code } = await calls('POST', `/traces/${traceId}/handover`, { reach: 'person' })
    const headers = { 'x-workspace-id': await set.house.newTeam(person) }
    const refused = await call('POST', '/traces/pickup', { token: person.token, headers, body: { code } })
    expect(refused.status).toBe(400)
    expect(refused.body.error.details).toEqual({ limitBytes: 16 * 1024 * 1024 })
  })
})

describe('an app', () => {
  async function newApp(scope: string) {
    const app = await registerApp(set.house, set.owner)
    const { access_token } = await newTokens(set.house, app, { login: 'mallory', query: { scope } })
    return (method: string, path: string, body?: unknown) =>
      call(method, path, { ...bearer(access_token), ...(body === undefined ? {} : { body }) })
  }

  test.each(['read write', 'read write trace:write', 'read write trace:read'])(
    'with %s does not come to what a trace says by going on with it',
    async (scope) => {
      const app = await newApp(scope)
      const files = [{ path: 'SKILL.md', content: '---\nname: writer\ndescription: Writes.\n---\nWrite.\n' }]
      const { id: artifactId } = (await app('POST', '/artifacts', { type: 'skill', files })).body
      await app('POST', '/skills/writer/install', { artifactId })
      const { id } = (await app('POST', '/executions', { skill_slug: 'writer', input: 'Go' })).body
      const { traceId } = (await app('GET', `/executions/${id}/status`)).body
      const all = ['trace:read', 'trace:write']
      const missing = all.filter((one) => !scope.includes(one))
      for (const [path, body] of [
        ['/executions', { sessionId: traceId }],
        ['/executions', { sessionId: 'trace_none' }],
        ['/traces/pickup', { code: 'ZZZZ-ZZZZ' }],
      ] as const) {
        const refused = await app('POST', path, body)
        expect(refused.status, path).toBe(403)
        expect(refused.body.error.details).toEqual({ missing_scopes: missing })
      }
      const allowed = await newApp(`read write ${all.join(' ')}`)
      expect((await allowed('POST', '/executions', { sessionId: traceId })).status).toBe(200)
    },
  )
})

test('a secret of ours is in no title and in no note', async () => {
  const calls = callsOf(set.house, person)
  const traceId = await newTrace(set.house, person)
  await calls('POST', '/executions', { skill_slug: 'writer', input: `Use ${ourSecret}` })
  expect(JSON.stringify(await calls('GET', '/traces'))).not.toContain(ourSecret)
  const { code } = await calls('POST', `/traces/${traceId}/handover`, { note: `Use ${ourSecret}` })
  expect(JSON.stringify(await calls('GET', `/traces/${traceId}/handovers`))).not.toContain(ourSecret)
  const { note } = await calls('POST', '/traces/pickup', { code })
  expect(note).toBe('Use guild_live_[redacted]')
})

test('a page of large turns is short, and going on misses none', async () => {
  const traceId = await newTrace(set.house, person)
  const calls = callsOf(set.house, person)
  const events = Array.from({ length: 15 }, () => large(65_000))
  for (let i = 0; i < 10; i++) await calls('POST', `/traces/${traceId}/events`, { events })
  const seen: number[] = []
  for (let pages = 0; ; pages++) {
    const path = `/traces/${traceId}/events?limit=500&afterSeq=${seen.at(-1) ?? 0}`
    const { text, body } = await call('GET', path, { token: person.token })
    expect(text.length).toBeLessThan(4.5 * 1024 * 1024)
    if (body.items.length === 0) {
      expect(pages).toBe(3)
      break
    }
    seen.push(...body.items.map(({ seq }: { seq: number }) => seq))
  }
  expect(seen).toEqual(Array.from({ length: 150 }, (_, i) => i + 1))
  const file = await call('GET', `/traces/${traceId}/export?format=jsonl&content=off`, {
    token: person.token,
  })
  expect(file.text.trimEnd().split('\n')).toHaveLength(1 + 150 + 1)
})
