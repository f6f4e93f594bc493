import { type Route, routes } from '@guildhall/contract'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Answer, type Caller, createCaller, type Person } from '../support/caller.ts'
import { freezeTree, pidsOf, until } from '../support/processes.ts'
import { expectWithin, tell } from '../support/proof.ts'
import { atSize } from '../support/sizes.ts'
import { roughStack, type SharedStack, untilAllReady } from './support/shared-stacks.ts'

/** How often each part is killed. */
const rounds = atSize(1, 3)
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const readiness = async (app: Caller) => (await app.call('GET', '/readyz')).body

/** Asks over and over until told to stop, and keeps every answer and every broken connection. */
function load(ask: () => Promise<Answer>, clients: number) {
  const answers: Answer[] = []
  let broken = 0
  let on = true
  onTestFinished(() => {
    on = false
  })
  const running = Array.from({ length: clients }, async () => {
    while (on) {
      try {
        answers.push(await ask())
      } catch {
        broken++
        await wait(10)
      }
    }
  })
  return {
    stop: async () => {
      on = false
      await Promise.all(running)
      return { answers, broken }
    },
  }
}

function statuses(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe('with everything restarted as a process manager would', () => {
  let stack: SharedStack
  let app: Caller
  let person: Person
  let key: string

  beforeAll(async () => {
    stack = await roughStack()
    app = createCaller(stack.baseUrl)
    person = await app.newPerson()
    key = (await app.newKey(person)).secret
  })

  const allReady = () => untilAllReady(stack, 15_000)

  const read = () => app.call('GET', '/api/v1/workspaces', { key })

  test('kill -9 of one API process under load: no wrong answer, and the other goes on', async () => {
    const loaded = load(read, 8)
    await wait(500)
    for (let round = 0; round < rounds; round++) {
      const victim = pidsOf(stack.dir).api[round % 2] ?? 0
      process.kill(victim, 'SIGKILL')
      await until(() => !pidsOf(stack.dir).api.includes(victim), 3000)
      await wait(300)
      await allReady()
    }
    const { answers, broken } = await loaded.stop()
    tell(
      `API killed ${rounds} times: ${answers.length} answers ${JSON.stringify(statuses(answers))}, ${broken} broken`,
    )
    expect(statuses(answers)).toEqual({ 200: answers.length })
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
    expect(answers.length).toBeGreaterThan(atSize(20, 200))
    expect(broken).toBeLessThan(answers.length * atSize(1, 0.1))
  })

  test('kill -9 of Redis under load: every answer is right', async () => {
    const loaded = load(read, 8)
    for (let round = 0; round < rounds; round++) {
      await wait(300)
      process.kill(pidsOf(stack.dir).redis, 'SIGKILL')
      await wait(700)
    }
    const { answers, broken } = await loaded.stop()
    tell(`Redis killed ${rounds} times: ${answers.length} answers ${JSON.stringify(statuses(answers))}`)
    expect(statuses(answers)).toEqual({ 200: answers.length })
    expect(broken).toBe(0)
  })

  test('kill -9 of PostgreSQL under load: right answers or 503 within 2 s, and back by itself', async () => {
    const slowest = { ms: 0 }
    const timed = async () => {
      const begun = performance.now()
      const answer = await read()
      slowest.ms = Math.max(slowest.ms, performance.now() - begun)
      return answer
    }
    const loaded = load(timed, 8)
    for (let round = 0; round < rounds; round++) {
      await wait(500)
      process.kill(pidsOf(stack.dir).postgres, 'SIGKILL')
      await wait(100)
      await allReady()
    }
    await wait(300)
    const { answers } = await loaded.stop()
    const counted = statuses(answers)
    tell(`PostgreSQL killed ${rounds} times: ${JSON.stringify(counted)}, slowest ${slowest.ms.toFixed(0)} ms`)
    expect(Object.keys(counted).every((status) => status === '200' || status === '503')).toBe(true)
    expect(answers.at(-1)?.status).toBe(200)
    expectWithin(slowest.ms, 2000)
  })

  test('what was confirmed before a kill -9 of PostgreSQL is there after it', async () => {
    const confirmed: number[] = []
    const writer = load(async () => {
      const answer = await app.call('POST', '/api/v1/keys', { token: person.token, body: { label: 'kept' } })
      if (answer.status === 201) confirmed.push(answer.body.id)
      return answer
    }, 4)
    await wait(700)
    process.kill(pidsOf(stack.dir).postgres, 'SIGKILL')
    await wait(1500)
    await writer.stop()
    await allReady()
    const list = await app.call('GET', '/api/v1/keys', { token: person.token })
    const present = new Set(list.body.map((item: { id: number }) => item.id))
    expect(confirmed.length).toBeGreaterThan(atSize(0, 20))
    expect(confirmed.filter((id) => !present.has(id))).toEqual([])
  })
})

describe('with what is killed staying away', () => {
  let stack: SpawnedStack
  let app: Caller
  let person: Person
  let key: string
  /** Asks all routes while the database hangs, sign-out among them; a hung statement may still happen later. */
  let bystander: Person

  beforeAll(async () => {
    stack = await spawnStack(['--no-restart', '--limits', 'off'])
    app = createCaller(stack.baseUrl)
    bystander = await app.newPerson()
    person = await app.newPerson()
    key = (await app.newKey(person)).secret
  })

  afterAll(() => stack.stop())

  /** Also after a test that was given up on, whose last lines are not reached. */
  let resume = () => {}
  afterEach(() => resume())

  test('PostgreSQL hangs: every route answers 503 within 2 s, readiness says so, and it recovers by itself', async () => {
    const { postgres } = pidsOf(stack.dir)
    resume = freezeTree(postgres)
    await everyRouteAnswers503('PostgreSQL hangs')
    const answer = await app.call('GET', '/readyz')
    expect(answer.status).toBe(503)
    expect(answer.body.down).toContain('postgres')
    expect((await app.call('GET', '/healthz')).status).toBe(200)
    resume()
    await until(async () => (await readiness(app)).status === 'ok', 5000)
    expect((await app.call('GET', '/api/v1/workspaces', { key })).status).toBe(200)
  })

  /**
   * From two seconds after the loss on, every route answers 503 at once; and nobody who asked before had to wait
   * longer than two seconds for whatever answer.
   */
  async function everyRouteAnswers503(what: string): Promise<void> {
    const lost = performance.now()
    const early = await askEveryRoute()
    const isAway = async () => (await app.call('GET', '/api/v1/workspaces', { key })).status === 503
    await until(isAway, Math.max(1, lost + 2000 - performance.now()))
    const late = await askEveryRoute()
    tell(
      `${what}: slowest answer at first ${slowest(early).toFixed(0)} ms, later ${slowest(late).toFixed(0)} ms`,
    )
    expectWithin(slowest(early), 2000)
    expectWithin(slowest(late), 500)
    for (const { route, answer } of late) {
      expect(answer.status, `${route.method} ${route.path}: ${answer.text}`).toBe(503)
      expect(answer.body.error.code).toBe('SERVICE_UNAVAILABLE')
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(answer.headers.get('x-ratelimit-limit')).not.toBeNull()
    }
  }

  const slowest = (asked: { ms: number }[]) => Math.max(...asked.map(({ ms }) => ms))

  function askEveryRoute() {
    const served = Object.values<Route>(routes).filter((route) => route.limits.length > 0)
    expect(served.length).toBeGreaterThan(atSize(0, 20))
    return Promise.all(
      served.map(async (route) => {
        const begun = performance.now()
        const answer = await app.call(route.method, route.path.replace(/:\w+/g, '1'), {
          ...(route.audience === 'credential' ? { key } : { token: bystander.token }),
          ...(route.method === 'GET' ? {} : { body: {} }),
        })
        return { route, answer, ms: performance.now() - begun }
      }),
    )
  }

  test('workers away: degraded, and all else goes on', async () => {
    for (const worker of pidsOf(stack.dir).worker) process.kill(worker, 'SIGKILL')
    await until(async () => (await readiness(app)).status === 'degraded', 5000)
    expect(await readiness(app)).toEqual({ status: 'degraded', down: ['workers'] })
    await pairOnce()
  })

  test('the engine away: degraded, and all else goes on', async () => {
    process.kill(pidsOf(stack.dir).restate, 'SIGKILL')
    await until(async () => (await readiness(app)).down.includes('restate'), 5000)
    const answer = await app.call('GET', '/readyz')
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ status: 'degraded', down: ['restate', 'workers'] })
    await pairOnce()
  })

  test('Redis away: degraded, limits counted per process and told in metrics, revocation within a second', async () => {
    process.kill(pidsOf(stack.dir).redis, 'SIGKILL')
    await until(async () => (await readiness(app)).down.includes('redis'), 5000)
    await pairOnce()
    const metrics = await app.call('GET', '/metrics')
    expect(Number(/^guildhall_rate_limit_local_total (\d+)/m.exec(metrics.text)?.[1])).toBeGreaterThan(0)
    expect(metrics.text).toContain('guildhall_part_up{part="redis"} 0')
    const { id, secret } = await app.newKey(person)
    const use = () => app.call('GET', '/api/v1/workspaces', { key: secret })
    const first = await use()
    expect(first.status).toBe(200)
    expect(first.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/)
    await app.call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
    const revoked = performance.now()
    while ((await use()).status === 200) await wait(10)
    expectWithin(performance.now() - revoked, 1000)
  })

  async function pairOnce(): Promise<void> {
    const { deviceCode, userCode } = await app.newCode()
    const confirmed = await app.call('POST', '/api/v1/activate/confirm', {
      token: person.token,
      body: { code: userCode },
    })
    expect(confirmed.status).toBe(200)
    const poll = await app.call('POST', '/api/v1/activate/poll', { body: { device_code: deviceCode } })
    expect(poll.body.status).toBe('approved')
    expect((await app.call('GET', '/api/v1/workspaces', { key: poll.body.api_key })).status).toBe(200)
  }

  test('PostgreSQL gone for good: every route answers 503 within 2 s', async () => {
    process.kill(pidsOf(stack.dir).postgres, 'SIGKILL')
    await everyRouteAnswers503('PostgreSQL gone')
  })
})
