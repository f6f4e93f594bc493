import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { skillText } from '../../../../test/support/skills.ts'
import { type Headers, type Holder, newHolder } from '../support/credentials.ts'
import { type OAuthHouse, openOAuthHouse, registerApp } from '../support/oauth.ts'

/**
 * Who pays for what is started, and how much. There is no engine here, so every start that is allowed ends at once and
 * gives back what it set aside; the ledger tells what that was, of whom and through which key.
 */
let set: OAuthHouse
let maker: Holder
let other: Holder
let spent: { id: number; headers: Headers }
let othersSpent: { id: number; headers: Headers }

beforeAll(async () => {
  set = await openOAuthHouse({ STARTING_CREDITS: '10000' })
  const app = await registerApp(set.house, set.owner)
  const team = await set.house.newTeam(set.owner)
  maker = await newHolder(set, app, 'maker', team)
  other = await newHolder(set, app, 'other', team)
  spent = await maker.newKey({ spendLimit: 0 })
  othersSpent = await other.newKey({ spendLimit: 0 })
  const files = [{ path: 'SKILL.md', content: skillText('errand', 'Run the errand.') }]
  const artifact = await maker.call(maker.session, 'POST', '/artifacts', { type: 'skill', files })
  const body = { artifactId: artifact.body.id }
  const installed = await maker.call(maker.session, 'POST', '/skills/errand/install', body)
  expect(installed.status, installed.text).toBe(200)
})

afterAll(() => set?.close())

type Named = 'session' | 'key' | 'spent key' | 'app'
const names: readonly Named[] = ['session', 'key', 'spent key', 'app']

function credentialOf(who: Holder, name: Named): { headers: Headers; keyId: number | null } {
  const none = who === maker ? spent : othersSpent
  return {
    session: { headers: who.session, keyId: null },
    key: { headers: who.key, keyId: who.keyId },
    'spent key': { headers: none.headers, keyId: none.id },
    app: { headers: who.oauth, keyId: null },
  }[name]
}

async function prepare(headers: Headers, fields: object = {}): Promise<string> {
  const body = { skill_slug: 'errand', input: 'Go.', ...fields }
  const made = await maker.call(headers, 'POST', '/executions', body)
  expect(made.status, made.text).toBe(200)
  return made.body.id
}

const start = (headers: Headers, id: string, fields: object = {}) =>
  maker.call(headers, 'POST', `/executions/${id}/events`, {
    events: [{ type: 'user.message', content: [{ type: 'text', text: 'Now.' }] }],
    ...fields,
  })

const reservedFor = (id: string) =>
  set.query(
    "select user_id, key_id::int, amount_milli_ds::int as amount from ledger where execution_id = $1 and kind = 'reserve'",
    [id],
  )

/** Handed to an engine that is not there: so far a start comes that is allowed. */
const allowed = 500

const pairs = names.flatMap((by) => names.map((through) => [by, through] as const))

describe('what somebody prepared', () => {
  test.each(pairs)('through their %s they start through their %s', async (by, through) => {
    const id = await prepare(credentialOf(maker, by).headers)
    const { headers, keyId } = credentialOf(maker, through)
    const answer = await start(headers, id)
    if (through === 'spent key') {
      expect([answer.status, answer.body.error.code], answer.text).toEqual([402, 'INSUFFICIENT_CREDITS'])
      expect(await reservedFor(id)).toEqual([])
    } else {
      expect(answer.status, answer.text).toBe(allowed)
      expect(await reservedFor(id)).toEqual([{ user_id: maker.userId, key_id: keyId, amount: 500_000 }])
    }
  })

  test.each(pairs)('through their %s nobody else starts through a %s', async (by, through) => {
    const id = await prepare(credentialOf(maker, by).headers)
    const answer = await start(credentialOf(other, through).headers, id, { maxCost: 1 })
    expect([answer.status, answer.body.error.code], answer.text).toEqual([403, 'FORBIDDEN'])
    expect(answer.text).toContain('prepare one of your own')
    expect(await reservedFor(id)).toEqual([])
    const status = await maker.call(maker.session, 'GET', `/executions/${id}/status`)
    expect(status.body.status).toBe('idle')
  })

  test.each([
    ['made with little', { maxCost: 0.01 }, {}, 10],
    ['made with little, started with much', { maxCost: 0.01 }, { maxCost: 400 }, 10],
    ['made with much, started with little', { maxCost: 400 }, { maxCost: 0.01 }, 10],
    ['started with little', {}, { maxCost: 0.02 }, 20],
    ['neither', {}, {}, 500_000],
  ])('%s: the smaller maximum holds', async (_name, made, started, amount) => {
    const id = await prepare(maker.session, made)
    expect((await start(maker.session, id, started)).status).toBe(allowed)
    expect(await reservedFor(id)).toMatchObject([{ amount }])
  })

  test('and put into the queue keeps the smaller maximum and the key that put it there', async () => {
    const { query } = set
    await query(
      'insert into workspace_slots (workspace_id, execution_id) values ($1, 0) on conflict (workspace_id) do update set execution_id = 0',
      [maker.workspaceId],
    )
    const id = await prepare(maker.session, { maxCost: 0.01 })
    const answer = await start(maker.key, id, { ifBusy: 'queue', maxCost: 300 })
    expect(answer.status, answer.text).toBe(200)
    const [row] = await query(
      'select api_key_id::int, max_cost_milli_ds::int as most from executions where execution_id = $1',
      [id],
    )
    expect(row).toEqual({ api_key_id: maker.keyId, most: 10 })
    await query('update workspace_slots set execution_id = null where workspace_id = $1', [maker.workspaceId])
    await maker.call(maker.session, 'POST', `/executions/${id}/cancel`)
  })
})
