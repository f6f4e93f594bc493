import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { tell } from '../support/proof.ts'
import { atSize, isProof } from '../support/sizes.ts'
import { calmStack } from './support/shared-stacks.ts'

const rounds = atSize(30, 500)
const useRounds = atSize(10, Math.ceil(rounds * 0.4))

let processes: Caller[]
let person: Person
let database: pg.Client

beforeAll(async () => {
  const { apiUrls, databaseUrl } = await calmStack()
  processes = apiUrls.map(createCaller)
  person = await at(0).newPerson()
  database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
})

afterAll(async () => {
  await database.end()
})

function at(index: number): Caller {
  const caller = processes[index % processes.length]
  if (!caller) throw new Error('no API process')
  return caller
}

async function request(key: string, mode: string, index: number): Promise<string> {
  const answer = await at(index).call('POST', '/api/v1/agents/request-permission', {
    key,
    body: { scope: 'profile:search', mode, reason: `race ${index}` },
  })
  expect(answer.status, answer.text).toBe(202)
  return answer.body.request_id
}

const decide = (index: number, id: string, verb: 'approve' | 'deny') =>
  at(index).call('POST', `/api/v1/agents/request-permission/${id}/${verb}`, { token: person.token })

test(`50 parallel uses of a one_time grant over two processes: exactly one passes, ${useRounds} rounds`, async () => {
  const { secret } = await at(0).newKey(person, { scopes: ['agent:list'] })
  for (let round = 0; round < useRounds; round++) {
    const id = await request(secret, 'one_time', round)
    expect((await decide(round, id, 'approve')).status).toBe(200)
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, client) =>
        at(client).call('GET', '/api/v1/profile/search?q=a', { key: secret }),
      ),
    )
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
    expect(answers.filter((answer) => answer.status === 403)).toHaveLength(49)
  }
})

test(`approve against deny against expiry: exactly one winner, ${rounds} rounds`, async () => {
  const { secret } = await at(0).newKey(person, { scopes: ['agent:list'] })
  const wins: Record<string, number> = { granted: 0, denied: 0, expired: 0 }
  for (let round = 0; round < rounds; round++) {
    const id = await request(secret, 'one_time', round)
    // Its time runs out while the decisions are on their way.
    const expire = () =>
      database.query("update approval_requests set expires_at = now() + interval '1 ms' * $2 where id = $1", [
        id,
        round % 4,
      ])
    const [approvals, denials] = await Promise.all([
      Promise.all([0, 1].map((client) => decide(client + round, id, 'approve'))),
      // A no is the quicker one: it gives way by more and more, so that each wins some of the time.
      delay(round % 8).then(() => Promise.all([1, 2].map((client) => decide(client + round, id, 'deny')))),
      round % 3 === 0 ? expire() : undefined,
    ])
    const decided = [...approvals, ...denials].filter((answer) => answer.status === 200)
    const refused = [...approvals, ...denials].filter((answer) => answer.status !== 200)
    const poll = await at(round).call('GET', `/api/v1/agents/request-permission/poll/${id}`, { key: secret })
    const outcome = poll.body.status
    if (outcome === 'pending') {
      throw new Error(`round ${round}: still pending after ${refused.map((answer) => answer.text)}`)
    }
    wins[outcome] = (wins[outcome] ?? 0) + 1
    expect(decided).toHaveLength(outcome === 'expired' ? 0 : 1)
    expect(approvals.includes(decided[0] as never)).toBe(outcome === 'granted')
    for (const answer of refused) {
      expect(answer.status).toBe(409)
      expect(answer.body.error.message).toContain(outcome)
    }
    // The grant exists if and only if the approval won.
    const use = await at(round).call('GET', '/api/v1/profile/search?q=a', { key: secret })
    expect(use.status).toBe(outcome === 'granted' ? 200 : 403)
  }
  tell(`winners of ${rounds}: ${JSON.stringify(wins)}`)
  if (!isProof) return
  expect(wins['granted']).toBeGreaterThan(rounds / 25)
  expect(wins['denied']).toBeGreaterThan(rounds / 25)
  expect(wins['expired']).toBeGreaterThan(rounds / 100)
})

test(`an answer against a no, a withdrawal and the end of its time: one outcome for all, ${rounds} rounds`, async () => {
  const { secret: key } = await at(0).newKey(person, { scopes: ['agent:list'] })
  const wins: Record<string, number> = { answered: 0, denied: 0, withdrawn: 0, expired: 0 }
  for (let round = 0; round < rounds; round++) {
    const asked = await at(round).call('POST', '/api/v1/agents/ask', { key, body: { question: `${round}?` } })
    const id: string = asked.body.ask_id
    const say = (client: number, verb: string) =>
      at(client).call('POST', `/api/v1/approvals/${id}/${verb}`, { token: person.token, body: {} })
    const withdraw = (client: number) =>
      at(client).call('POST', `/api/v1/agents/ask/${id}/withdraw`, { key, body: {} })
    const polls = async (client: number) => {
      const seen: string[] = []
      do {
        const { body } = await at(client).call('GET', `/api/v1/agents/ask/poll/${id}`, { key })
        seen.push(body.status)
      } while (seen.length < 3)
      return seen
    }
    const expire = () =>
      database.query("update approval_requests set expires_at = now() + interval '1 ms' * $2 where id = $1", [
        id,
        round % 5,
      ])
    const [yes, no, back, ...seen] = await Promise.all([
      say(round, 'approve'),
      say(round + 1, 'deny'),
      round % 2 ? withdraw(round) : undefined,
      polls(0),
      polls(1),
      round % 3 === 0 ? expire().then(() => []) : [],
    ])
    const { body } = await at(round).call('GET', `/api/v1/agents/ask/poll/${id}`, { key })
    const outcome: string = body.status
    // Whoever was told an end was told this one, and of those who said something one was believed.
    expect(new Set([...seen.flat(), outcome].filter((status) => status !== 'pending'))).toEqual(
      new Set([outcome]),
    )
    expect([yes, no].map(({ status }) => status === 200)).toEqual([
      outcome === 'answered',
      outcome === 'denied',
    ])
    if (back) expect(back.status === 200).toBe(outcome === 'withdrawn')
    wins[outcome] = (wins[outcome] ?? 0) + 1
  }
  tell(`ends of ${rounds} asks: ${JSON.stringify(wins)}`)
  if (!isProof) return
  for (const [outcome, count] of Object.entries(wins)) expect(count, outcome).toBeGreaterThan(rounds / 100)
})

/** In the gate conformance shows it. */
test.runIf(isProof)(
  'a session grant is good at 3,599 s and refused at 3,601 s on both processes',
  async () => {
    const { secret } = await at(0).newKey(person, { scopes: ['agent:list'] })
    const id = await request(secret, 'session', 0)
    await decide(0, id, 'approve')
    const shift = (seconds: number) =>
      database.query(
        `create or replace function guild_now() returns timestamptz language sql stable
       as $$ select now() + interval '${seconds} seconds' $$`,
      )
    const use = async () =>
      Promise.all(
        processes.map(
          async (caller) => (await caller.call('GET', '/api/v1/profile/search?q=a', { key: secret })).status,
        ),
      )
    try {
      // What the machine takes meanwhile passes for the grant too.
      await shift(atSize(3570, 3599))
      expect(await use()).toEqual([200, 200])
      await shift(3601)
      expect(await use()).toEqual([403, 403])
    } finally {
      await shift(0)
    }
  },
)
