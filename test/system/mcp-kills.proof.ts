import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { bash, newRunner, script } from '../support/executions.ts'
import { modernMessage } from '../support/mcp.ts'
import { type AnyClient, connectClient } from '../support/mcp-clients.ts'
import { isAlive, pidsOf, until } from '../support/processes.ts'
import { tell } from '../support/proof.ts'

const calls = 200
const clients = 4
/** Between two kills, at most. */
const longestPauseMs = 6000
let stack: SpawnedStack
let app: Caller

beforeAll(async () => {
  stack = await spawnStack(['--api', '2', '--limits', 'off'])
  app = createCaller(stack.baseUrl)
})
afterAll(async () => {
  expect(await stack.stop()).toBe(0)
})

const isUp = async (index: number) =>
  (await fetch(`${stack.apiUrls[index]}/healthz`).catch(() => undefined))?.ok === true

/** Whichever it is, it may be serving any of the calls, in any moment of them; one that only starts is killed too. */
async function killUntil(isOver: () => boolean): Promise<number> {
  for (let kills = 0; ; ) {
    await delay(randomInt(longestPauseMs))
    if (isOver()) return kills
    await until(async () => (await Promise.all([0, 1].map(isUp))).some(Boolean), 60_000)
    const [pid] = pidsOf(stack.dir).api.toSorted(() => Math.random() - 0.5)
    if (pid && isAlive(pid)) {
      process.kill(pid, 'SIGKILL')
      kills++
    }
  }
}

interface Told {
  readonly text: string
  readonly progress: readonly number[]
  readonly repeated: number
}

/** As an agent does it: a call that failed is repeated under its key, and nothing else is tried. */
async function callPatiently(connect: () => Promise<AnyClient>, words: string): Promise<Told> {
  const input = script(
    { say: words, tools: [bash('sleep 0.5')] },
    { say: 'There.', tools: [bash('sleep 0.5')] },
  )
  const args = { slug: 'errand', input, wait_seconds: 50, idempotency_key: randomUUID() }
  const end = performance.now() + 90_000
  for (let repeated = 0; ; repeated++) {
    const progress: number[] = []
    const client = await connect().catch(() => undefined)
    const result = await client
      ?.call('run_skill', args, { onprogress: (told) => void progress.push(told.progress) })
      .catch(() => undefined)
    await client?.close().catch(() => undefined)
    expect(progress, words).toEqual([...new Set(progress)].sort((a, b) => a - b))
    if (result && !result.isError) {
      expect(result.structuredContent).toMatchObject({ status: 'completed' })
      return { text: String(result.structuredContent?.['text']), progress, repeated }
    }
    expect(performance.now(), `${words}: ${JSON.stringify(result)}`).toBeLessThan(end)
    await delay(250)
  }
}

/** One of these after the other, for as many people at once as there are clients, while processes are killed. */
async function whileKilled<T>(work: (key: string, words: string) => Promise<T>): Promise<T[]> {
  const people = await Promise.all(Array.from({ length: clients }, () => newRunner(app)))
  const keys = await Promise.all(people.map((person) => app.newKey(person)))
  const done: T[] = []
  const workOf = async ({ secret }: { secret: string }, index: number) => {
    for (let call = 0; call < calls / clients; call++) done.push(await work(secret, `Call ${index}.${call}.`))
  }
  let isOver = false
  const working = Promise.all(keys.map(workOf)).finally(() => {
    isOver = true
  })
  const [kills] = await Promise.all([killUntil(() => isOver), working])
  await until(async () => (await Promise.all([0, 1].map(isUp))).every(Boolean), 60_000)
  const made = await Promise.all(people.map(executionsOf))
  tell(`${done.length} calls, ${kills} kills`)
  expect(made.flat()).toEqual(Array.from({ length: calls }, () => 'completed'))
  expect(kills).toBeGreaterThan(0)
  return done
}

test(`of ${calls} calls while processes are killed at any moment each has its result and its one run`, {
  timeout: calls * 20_000,
}, async () => {
  const told = await whileKilled(async (key, words) => {
    const one = await callPatiently(
      () => connectClient('v1', { url: new URL('/mcp/', stack.baseUrl), key }),
      words,
    )
    expect(one.text).toContain(words)
    expect(one.text).toContain('There.')
    return one
  })
  tell(`${told.filter(({ repeated }) => repeated > 0).length} calls were repeated`)
})

/** A request that is sent until it is answered, as whoever has a task does it. */
async function sayPatiently(key: string, method: string, params: Record<string, unknown>) {
  const end = performance.now() + 90_000
  for (;;) {
    const message = { key, ...modernMessage(method, params) }
    const answer = await app.call('POST', '/mcp/', message).catch(() => undefined)
    if (answer?.body?.result) return answer.body.result
    expect(performance.now(), answer?.text).toBeLessThan(end)
    await delay(250)
  }
}

test(`of ${calls} tasks while processes are killed at any moment each ends, and is one run`, {
  timeout: calls * 20_000,
}, async () => {
  const states = await whileKilled(async (key, words) => {
    const input = script({ say: words, tools: [bash('sleep 0.5')] }, { say: 'There.' })
    const args = { slug: 'errand', input, idempotency_key: randomUUID() }
    const { taskId } = await sayPatiently(key, 'tools/call', { name: 'run_skill', arguments: args })
    for (;;) {
      const state = await sayPatiently(key, 'tasks/get', { taskId })
      if (state.status === 'working') {
        await delay(250)
        continue
      }
      expect(state.result?.structuredContent?.text, JSON.stringify(state)).toContain(words)
      return state.status
    }
  })
  expect(states).toEqual(Array.from({ length: calls }, () => 'completed'))
})

async function executionsOf({ token }: Person): Promise<string[]> {
  const states: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await app.call('GET', `/api/v1/executions?limit=100${cursor && `&cursor=${cursor}`}`, {
      token,
    })
    states.push(...body.items.map(({ status }: { status: string }) => status))
    if (!body.nextCursor) return states
    cursor = encodeURIComponent(body.nextCursor)
  }
}
