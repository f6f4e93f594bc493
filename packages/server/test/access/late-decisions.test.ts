import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** Whoever decides too late is told what became of it, and that stays so: nobody's decision that is still on its way wins. */
let databaseUrl: string
let house: House
let person: Person

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  person = await house.newPerson()
})
afterAll(() => house?.close())

async function request(): Promise<string> {
  const { secret: key } = await house.newKey(person, { scopes: ['agent:list'] })
  const body = { scope: 'profile:read', mode: 'session', reason: 'x' }
  return (await house.call('POST', '/api/v1/agents/request-permission', { key, body })).body.request_id
}

const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

const decide = (id: string, verb: string) =>
  house.call('POST', `/api/v1/agents/request-permission/${id}/${verb}`, { token: person.token, body: {} })

test.each(['approve', 'deny'])(
  'who would %s waits for a decision that began before the deadline',
  async (verb) => {
    const id = await request()
    await withDatabase(databaseUrl, (first) =>
      withDatabase(databaseUrl, async (other) => {
        await first.query('begin')
        // Its time is the one at which it began.
        await first.query('select guild_now()')
        await other.query(`update approval_requests set expires_at = guild_now() where id = $1`, [id])
        const { rowCount } = await first.query(
          `update approval_requests set status = 'denied', decided_at = guild_moment(), decided_by = $2
             where id = $1 and status = 'pending' and expires_at > guild_now()`,
          [id, person.userId],
        )
        expect(rowCount).toBe(1)
        const second = decide(id, verb)
        await expect.poll(async () => (await other.query(waiting)).rowCount).toBeGreaterThan(0)
        await first.query('commit')
        const { status, body } = await second
        expect([status, body.error.details.status]).toEqual([409, 'denied'])
      }),
    )
  },
)

test.each(['approve', 'deny'])(
  'once who would %s is told that it expired, nothing is decided any more',
  async (verb) => {
    const id = await request()
    await withDatabase(databaseUrl, async (client) => {
      await client.query('update approval_requests set expires_at = guild_now() where id = $1', [id])
      const { status, body } = await decide(id, verb)
      expect([status, body.error.details.status]).toEqual([409, 'expired'])
      const { rows } = await client.query('select closed from approval_requests where id = $1', [id])
      expect(rows).toEqual([{ closed: 'expired' }])
    })
  },
)

async function pairing(): Promise<string> {
  const agent = { client_label: 'an agent', requested_scopes: ['profile:read'] }
  return (await house.call('POST', '/api/v1/activate', { body: agent })).body.user_code
}

const settle = (code: string, verb: string) =>
  house.call('POST', `/api/v1/activate/${verb}`, { token: person.token, body: { code } })

test.each(['confirm', 'deny'])(
  'who would %s a code waits for a decision that began before the deadline',
  async (verb) => {
    const code = await pairing()
    const somebodyElse = await house.newPerson()
    await withDatabase(databaseUrl, (first) =>
      withDatabase(databaseUrl, async (other) => {
        await first.query('begin')
        await first.query('select guild_now()')
        await other.query('update activations set expires_at = guild_now() where user_code = $1', [code])
        const { rowCount } = await first.query(
          `update activations set status = 'denied', decided_at = guild_moment(), decided_by = $2
             where user_code = $1 and status = 'pending' and expires_at > guild_now()`,
          [code, somebodyElse.userId],
        )
        expect(rowCount).toBe(1)
        const second = settle(code, verb)
        await expect.poll(async () => (await other.query(waiting)).rowCount).toBeGreaterThan(0)
        await first.query('commit')
        const { status, body } = await second
        expect([status, body.error.details?.status]).toEqual([409, 'denied'])
      }),
    )
  },
)

test.each(['confirm', 'deny'])(
  'who would %s a code and waits beyond its deadline is too late',
  async (verb) => {
    const code = await pairing()
    await withDatabase(databaseUrl, (first) =>
      withDatabase(databaseUrl, async (other) => {
        await first.query('begin')
        await first.query('select from activations where user_code = $1 for update', [code])
        const second = settle(code, verb)
        await expect.poll(async () => (await other.query(waiting)).rowCount).toBeGreaterThan(0)
        await first.query('update activations set expires_at = guild_moment() where user_code = $1', [code])
        await first.query('commit')
        const { status, body } = await second
        expect([status, body.error.code]).toEqual([410, 'EXPIRED'])
        const { rows } = await other.query('select status from activations where user_code = $1', [code])
        expect(rows).toEqual([{ status: 'pending' }])
      }),
    )
  },
)
