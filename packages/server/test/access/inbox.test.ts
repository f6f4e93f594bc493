import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { openSocket, socketUrl } from '../../../../test/support/sockets.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

let house: House

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
})

afterAll(() => house.close())

const ask = (method: string, path: string, key: string, body?: unknown): Promise<Answer> =>
  house.call(method, `/api/v1${path}`, { key, ...(body === undefined ? {} : { body }) })

test('the inbox pages through everything once, newest first, and counts the history', async () => {
  const someone = await house.newPerson()
  const { secret } = await house.newKey(someone, { scopes: ['agent:list'] })
  for (let i = 0; i < 7; i++) {
    const asked = await ask('POST', '/agents/request-permission', secret, {
      scope: 'profile:read',
      mode: 'one_time',
      reason: `number ${i}`,
    })
    const verb = i % 2 === 0 ? 'approve' : 'deny'
    await house.call('POST', `/api/v1/agents/request-permission/${asked.body.request_id}/${verb}`, {
      token: someone.token,
    })
  }
  const seen = []
  let cursor = ''
  do {
    const page = await house.call('GET', `/api/v1/approvals?limit=3${cursor}`, { token: someone.token })
    seen.push(...page.body.items)
    cursor = page.body.nextCursor ? `&cursor=${page.body.nextCursor}` : ''
  } while (cursor)
  expect(seen.map((item) => item.reason)).toEqual([6, 5, 4, 3, 2, 1, 0].map((i) => `number ${i}`))
  expect(seen[0].history).toEqual({ asked: 7, allowed: 4, denied: 3 })
  const granted = await house.call('GET', '/api/v1/approvals?status=granted', { token: someone.token })
  expect(granted.body.items).toHaveLength(4)
})

test('pairing codes of one moment are all on some page of the inbox', async () => {
  const someone = await house.newPerson()
  const { db } = house.deps.database
  const row = (code: number) => ({
    device_code_hash: createHash('sha256').update(`same-moment-${code}`).digest(),
    user_code: `MOMENT-${code}`,
    client_label: 'agent',
    client_ua: '',
    client_ip: '192.0.2.1',
    client_network: '192.0.2.1',
    created_at: '2026-01-01T00:00:00.000Z',
    expires_at: '2126-01-01T00:00:00.000Z',
    seen_by: someone.userId,
  })
  // Enough of them that their ids have different lengths.
  await db
    .insertInto('activations')
    .values(Array.from({ length: 120 }, (_, code) => row(code)))
    .execute()
  const seen = new Set<string>()
  let cursor = ''
  do {
    const page = await house.call('GET', `/api/v1/approvals?limit=7${cursor}`, { token: someone.token })
    for (const { id } of page.body.items) seen.add(id)
    cursor = page.body.nextCursor ? `&cursor=${page.body.nextCursor}` : ''
  } while (cursor)
  expect(seen.size).toBe(120)
})

describe('what a key asks ends with the key', () => {
  const askFor = (secret: string, scope: string) =>
    ask('POST', '/agents/request-permission', secret, { scope, mode: 'session', reason: 'r' })
  const item = async ({ token }: Person, id: string) =>
    (await house.call('GET', `/api/v1/approvals/${id}`, { token })).body

  test.each(['the owner', 'whoever found it', 'itself'])(
    'when it is revoked by %s, and its owner hears of it',
    async (who) => {
      const someone = await house.newPerson()
      const key = await house.newKey(someone, { scopes: ['agent:list'] })
      const other = await house.newKey(someone, { scopes: ['agent:list'] })
      const [asked, kept] = [
        await askFor(key.secret, 'profile:read'),
        await askFor(other.secret, 'profile:read'),
      ]
      const socket = await openSocket(await socketUrl(house, { token: someone.token }))
      const revoked =
        who === 'the owner'
          ? await house.call('DELETE', `/api/v1/keys/${key.id}`, { token: someone.token })
          : who === 'itself'
            ? await ask('DELETE', '/agents/me', key.secret)
            : await house.call('POST', '/api/v1/keys/report-leak', { body: { key: key.secret } })
      expect(revoked.status, revoked.text).toBe(200)
      const { request_id: id } = asked.body
      expect(await item(someone, id)).toMatchObject({ status: 'expired' })
      expect(await item(someone, kept.body.request_id)).toMatchObject({ status: 'pending' })
      const pending = await house.call('GET', '/api/v1/approvals?status=pending', { token: someone.token })
      expect(pending.body.items.map((one: { id: string }) => one.id)).toEqual([kept.body.request_id])
      await expect
        .poll(() => socket.heard.filter(({ type }) => type === 'approval-resolved'))
        .toMatchObject([{ approvalId: id, status: 'expired' }])
      socket.socket.close()
    },
  )

  test('also while it asks: of many at once none is left waiting', async () => {
    for (let round = 0; round < 5; round++) {
      const someone = await house.newPerson()
      const key = await house.newKey(someone, { scopes: ['agent:list'] })
      const scopes = ['profile:read', 'profile:write', 'memory:read', 'billing:read']
      await Promise.all([
        ...scopes.map((scope) => askFor(key.secret, scope)),
        house.call('DELETE', `/api/v1/keys/${key.id}`, { token: someone.token }),
      ])
      const pending = await house.call('GET', '/api/v1/approvals?status=pending', { token: someone.token })
      expect(pending.body.items).toEqual([])
    }
  })
})
