import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AnyClient, ClientKind } from '../../../../test/support/mcp-clients.ts'
import { isProof } from '../../../../test/support/sizes.ts'
import { type Approver, newApprover } from '../support/approver.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { clientKinds, connect } from '../support/mcp-clients.ts'
import { models } from '../support/writing-stage.ts'

/** After how long people agree; a proof has all that a client may see. */
const delays = isProof ? [1, 40, 80] : [1]
/** How long a call of each kind of client stays open by itself; a modern one goes on for eight rounds of 25 s. */
const openForSeconds = (kind: ClientKind, isTold: boolean) =>
  kind === 'v2' || kind === 'v2 with links' ? 200 : isTold ? 50 : 25
const message = { message: 'Hello', wait_seconds: 0 }

let houses: [House, House]
let database: pg.Client

beforeAll(async () => {
  const settings = {
    DATABASE_URL: await createDatabase(),
    MODELS: JSON.stringify(models),
    STARTING_CREDITS: '100',
  }
  houses = [await openHouse(settings), await openHouse(settings)]
  database = new pg.Client({ connectionString: settings.DATABASE_URL })
  await database.connect()
})
afterAll(async () => {
  await database?.end()
  await Promise.all(houses.map((house) => house.close()))
})

async function agentOf(kind: ClientKind): Promise<{ person: Approver; client: AnyClient }> {
  const person = await newApprover(houses)
  const { secret } = await houses[0].newKey(person, { scopes: ['profile:read'] })
  return { person, client: await connect(kind, houses, secret) }
}

/** Calls as an agent does that reads what it is told: whoever is told to wait on waits on, and then calls again. */
async function callUntilDone(client: AnyClient, options: Parameters<AnyClient['call']>[2]) {
  let waits = 0
  for (;;) {
    const result = await client.call('message_agent', message, options)
    const text = result.content[0]?.text ?? ''
    const [, requestId] = /request_id "([^"]+)"/.exec(text) ?? []
    if (requestId === undefined) return { result, text, waits }
    waits++
    let decision: unknown = 'pending'
    while (decision === 'pending') {
      const waited = await client.call('request_permission', { request_id: requestId, wait_seconds: 20 })
      decision = waited.structuredContent?.['status']
    }
  }
}

const cases = clientKinds.flatMap((kind) =>
  delays.flatMap((seconds) => [true, false].map((isTold) => ({ kind, seconds, isTold }))),
)

describe('a person who takes their time', () => {
  test.concurrent.each(cases)(
    '$seconds s, $kind, told of progress: $isTold',
    { timeout: 240_000 },
    async ({ kind, seconds, isTold }) => {
      const { person, client } = await agentOf(kind)
      const options = isTold ? { onprogress: () => {}, resetTimeoutOnProgress: true } : {}
      const late = async () => {
        await sleep(seconds * 1000)
        await person.decideNext('approve', { mode: 'one_time' })
      }
      const [{ result, text, waits }] = await Promise.all([callUntilDone(client, options), late()])
      expect(result.isError, text).toBeFalsy()
      expect(result.structuredContent).toMatchObject({ threadId: expect.any(String) })
      // It went on by itself for as long as the call may stay open, and asked once in any case.
      const isLate = seconds > openForSeconds(kind, isTold)
      expect(waits > 0).toBe(isLate)
      const { rows } = await database.query(
        'select count(*)::int as count from approval_requests where workspace_id = $1',
        [person.workspaceId],
      )
      expect(rows).toEqual([{ count: 1 }])
      await client.close()
    },
  )
})

test.each(clientKinds)('%s is told when nobody answered in time, and may ask again', async (kind) => {
  const { person, client } = await agentOf(kind)
  const expire = async () => {
    while ((await person.waiting()).length === 0) await sleep(50)
    await database.query(
      `update approval_requests set expires_at = guild_now() where workspace_id = $1 and status = 'pending'`,
      [person.workspaceId],
    )
  }
  const [late] = await Promise.all([client.call('message_agent', message), expire()])
  expect([late.isError, late.content[0]?.text]).toEqual([true, expect.stringContaining('Nobody answered')])
  const [again] = await Promise.all([
    client.call('message_agent', message),
    person.decideNext('approve', { mode: 'one_time' }),
  ])
  expect(again.isError, again.content[0]?.text).toBeFalsy()
  await client.close()
})

test.each(clientKinds)('%s gets nothing once its key is revoked, though the person agrees', async (kind) => {
  const person = await newApprover(houses)
  const { id, secret } = await houses[0].newKey(person, { scopes: ['profile:read'] })
  const client = await connect(kind, houses, secret)
  const called = client.call('message_agent', message, { timeout: 10_000 }).then(
    (result) => result.isError ?? false,
    () => 'failed',
  )
  while ((await person.waiting()).length === 0) await sleep(50)
  const [request] = await person.waiting()
  const revoked = await houses[1].call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
  expect(revoked.status).toBe(200)
  // There is nothing left to agree to, or it is for nobody.
  await person.decide(request?.id ?? '', 'approve', { mode: 'one_time' }).catch(() => undefined)
  expect(await called).not.toBe(false)
  const { rows } = await database.query(
    'select count(*)::int as count from threads where workspace_id = $1',
    [person.workspaceId],
  )
  expect(rows).toEqual([{ count: 0 }])
  await client.close()
})

test('five calls of one key that wait at once are five cards, each decided for itself', async () => {
  const { person, client } = await agentOf('v2')
  const slugs = ['a', 'b', 'c', 'd', 'e']
  const calls = slugs.map((slug) => client.call('run_skill', { slug, input: 'x', wait_seconds: 0 }))
  while ((await person.waiting()).length < 5) await sleep(50)
  const asked = (await person.waiting()).map(({ id, scopes }) => ({ id, scope: scopes?.[0]?.scope }))
  expect(asked.map(({ scope }) => scope).sort()).toEqual(slugs.map((slug) => `tool:execute:${slug}`))
  for (const { id, scope } of asked) {
    const answer = await person.decide(id, scope === 'tool:execute:c' ? 'approve' : 'deny')
    expect(answer.status, answer.text).toBe(200)
  }
  const told = (await Promise.all(calls)).map(({ content }) => content[0]?.text ?? '')
  // The one that was allowed went on, to find that there is no such skill; the others were told of their own denial.
  expect(slugs.filter((slug, at) => told[at]?.includes(`denied tool:execute:${slug}`))).toEqual([
    'a',
    'b',
    'd',
    'e',
  ])
  expect(told[2]).not.toContain('denied')
  await client.close()
})
