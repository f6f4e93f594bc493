import { beforeAll, expect, test } from 'vitest'
import { type Answer, type Caller, createCaller, type Person } from '../support/caller.ts'
import { isLinearizable, type Model, type Operation } from '../support/linearizable.ts'
import { tell } from '../support/proof.ts'
import { atSize, isProof } from '../support/sizes.ts'
import { calmStack } from './support/shared-stacks.ts'

const rounds = atSize(25, 500)
const pollRounds = atSize(10, Math.ceil(rounds / 5))
const signInRounds = atSize(3, 20)

let processes: Caller[]
let people: Person[]

beforeAll(async () => {
  const { apiUrls } = await calmStack()
  processes = apiUrls.map(createCaller)
  people = await Promise.all(Array.from({ length: 3 }, () => at(0).newPerson()))
})

function at(index: number): Caller {
  const caller = processes[index % processes.length]
  if (!caller) throw new Error('no API process')
  return caller
}

/** Polls read; only the one that finds the code approved moves it. Decisions move a pending code or name its state. */
const activation: Model = (state, { name, result }) => {
  if (name === 'poll') {
    if (result !== state) return undefined
    return state === 'approved' ? 'consumed' : state
  }
  if (state === 'pending') return result === 'ok' ? (name === 'approve' ? 'approved' : 'denied') : undefined
  return result === state ? state : undefined
}

test('the checker finds a history that cannot have happened', () => {
  const at = (name: string, result: string, begun: number, ended: number): Operation => ({
    name,
    result,
    begun,
    ended,
  })
  const fine = [at('approve', 'ok', 0, 3), at('deny', 'approved', 1, 4), at('poll', 'approved', 2, 5)]
  expect(isLinearizable(fine, 'pending', activation)).toBe(true)
  const twoWinners = [at('approve', 'ok', 0, 3), at('deny', 'ok', 1, 4)]
  expect(isLinearizable(twoWinners, 'pending', activation)).toBe(false)
  const twoKeys = [at('approve', 'ok', 0, 1), at('poll', 'approved', 2, 3), at('poll', 'approved', 2, 3)]
  expect(isLinearizable(twoKeys, 'pending', activation)).toBe(false)
  const backInTime = [at('approve', 'ok', 0, 1), at('poll', 'pending', 2, 3)]
  expect(isLinearizable(backInTime, 'pending', activation)).toBe(false)
})

const states = ['pending', 'approved', 'denied', 'consumed', 'expired']

/** The state that a refusal names. "approved and is consumed" names what won and what became of it. */
function namedState(answer: Answer): string {
  expect(answer.status).toBe(409)
  expect(answer.body.error.code).toBe('CONFLICT')
  const named = states.filter((state) => answer.body.error.message.includes(state))
  expect(named.at(-1)).toBe(answer.body.error.details.status)
  if (answer.body.error.details.status === 'consumed') expect(named).toContain('approved')
  return answer.body.error.details.status
}

async function decide(route: 'confirm' | 'deny', userCode: string, client: number): Promise<string> {
  const token = people[client % people.length]?.token ?? ''
  const answer = await at(client).call('POST', `/api/v1/activate/${route}`, {
    token,
    body: { code: userCode },
  })
  return answer.status === 200 ? 'ok' : namedState(answer)
}

async function poll(deviceCode: string, client: number, secrets: string[]): Promise<string> {
  const answer = await at(client).call('POST', '/api/v1/activate/poll', { body: { device_code: deviceCode } })
  expect(answer.status).toBe(200)
  expect('api_key' in answer.body).toBe(answer.body.status === 'approved')
  if (answer.body.api_key) secrets.push(answer.body.api_key)
  return answer.body.status
}

test(`${rounds} rounds of 10 clients over two processes: one winner, one plaintext, the winner named`, async () => {
  const wins = { approve: 0, deny: 0 }
  for (let round = 0; round < rounds; round++) {
    const { deviceCode, userCode } = await at(round).newCode()
    const history: Operation[] = []
    const secrets: string[] = []
    const record = async (name: string, run: () => Promise<string>) => {
      const begun = performance.now()
      const result = await run()
      history.push({ name, result, begun, ended: performance.now() })
    }
    const clients = Array.from({ length: 10 }, async (_, client) => {
      if (client < 3) return record('approve', () => decide('confirm', userCode, client + round))
      if (client < 6) return record('deny', () => decide('deny', userCode, client + round))
      for (let i = 0; i < 2; i++) await record('poll', () => poll(deviceCode, client + round, secrets))
    })
    await Promise.all(clients)
    await record('poll', () => poll(deviceCode, round, secrets))

    const winners = history.filter(({ name, result }) => name !== 'poll' && result === 'ok')
    expect(winners).toHaveLength(1)
    const winner = winners[0]?.name as keyof typeof wins
    wins[winner]++
    expect(secrets).toHaveLength(winner === 'approve' ? 1 : 0)
    expect(isLinearizable(history, 'pending', activation), JSON.stringify(history)).toBe(true)
    for (const secret of secrets) {
      expect((await at(round).call('GET', '/api/v1/workspaces', { key: secret })).status).toBe(200)
    }
  }
  tell(`approve won ${wins.approve}, deny won ${wins.deny} of ${rounds}`)
  // Who wins is up to the machine; over many rounds both do, or one side was never raced.
  if (isProof) expect(Math.min(wins.approve, wins.deny)).toBeGreaterThan(0)
})

test(`50 polls of one approved code at once: one gets the key, ${pollRounds} rounds`, async () => {
  const token = people[0]?.token ?? ''
  for (let round = 0; round < pollRounds; round++) {
    const { deviceCode, userCode } = await at(round).newCode()
    await at(round).call('POST', '/api/v1/activate/confirm', { token, body: { code: userCode } })
    const secrets: string[] = []
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, client) => poll(deviceCode, client, secrets)),
    )
    expect(secrets).toHaveLength(1)
    expect(results.filter((result) => result === 'consumed')).toHaveLength(49)
  }
})

test('twenty first sign-ins of one person at once make one account with one workspace', async () => {
  for (let round = 0; round < signInRounds; round++) {
    const email = `first-${round}@example.test`
    const signIns = await Promise.all(
      Array.from({ length: 20 }, (_, client) => at(client).newPerson({ email })),
    )
    expect(new Set(signIns.map((person) => person.userId)).size).toBe(1)
    expect(new Set(signIns.map((person) => person.workspaceId)).size).toBe(1)
    expect(new Set(signIns.map((person) => person.token)).size).toBe(20)
  }
})
