import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Answer, type Caller, createCaller, type Person } from '../support/caller.ts'
import { bash, newRunner, script } from '../support/executions.ts'
import { modernMessage } from '../support/mcp.ts'
import { freeze, freezeTree, pidsOf, until } from '../support/processes.ts'
import { tell } from '../support/proof.ts'
import { atSize, isProof } from '../support/sizes.ts'
import { roughStack, type SharedStack } from './support/shared-stacks.ts'

/** How long each part stands still. */
const frozenMs = atSize(1500, 30_000)
/** Less than the lease, after which its work would be another's. */
const workerFrozenMs = Math.min(frozenMs, 10_000)
const workSeconds = Math.ceil((4 * frozenMs + workerFrozenMs) / 1000) + 5

let stack: SharedStack
let own: SpawnedStack | undefined
let app: Caller

beforeAll(async () => {
  // With one worker that which stands still has all the work.
  if (isProof) own = await spawnStack(['--api', '2', '--limits', 'off', '--env', 'STARTING_CREDITS=10000'])
  stack = own ?? (await roughStack())
  app = createCaller(stack.baseUrl)
})
afterAll(async () => {
  if (own) expect(await own.stop()).toBe(0)
})

/** Speaks like a client that comes again for as long as it is told to, and notes whatever else it is told. */
class Patient {
  readonly #key: string
  readonly odd: string[] = []
  putOff = 0

  constructor(key: string) {
    this.#key = key
  }

  async say(method: string, params: Record<string, unknown>): Promise<Answer['body']> {
    for (;;) {
      const answer = await app
        .call('POST', '/mcp/', { key: this.#key, ...modernMessage(method, params) })
        .catch(() => undefined)
      const result = answer?.body?.result
      const refusal = result?._meta?.['dev.guildhall/error']
      if (answer?.status === 200 && result && refusal === undefined) return result
      this.putOff++
      const isTold =
        answer === undefined ||
        (answer.status === 503 && answer.headers.has('retry-after')) ||
        (refusal?.code === 'SERVICE_UNAVAILABLE' && refusal.retry_after_seconds > 0) ||
        (refusal?.code === 'EXECUTION_FAILED' && result.content[0].text.includes('Call again'))
      if (!isTold) this.odd.push(`${method} ${JSON.stringify(params)}: ${answer.status} ${answer.text}`)
      await delay(300)
    }
  }

  async use(name: string, args: object): Promise<Answer['body']> {
    return this.say('tools/call', { name, arguments: args })
  }

  /** Until the task is over, as a client does that listens and looks. */
  async follow(taskId: string): Promise<{ status: string; result?: { structuredContent: object } }> {
    for (;;) {
      const state = await this.say('tasks/get', { taskId })
      if (state.status !== 'working') return state
      await delay(150)
    }
  }
}

interface Made {
  readonly executionId: string
  readonly status: string
  readonly cost: number
}

/** All of them: of a part that stands still for long come more than one page. */
async function executionsOf({ token }: Person): Promise<Made[]> {
  const made: Made[] = []
  for (let cursor = ''; ; ) {
    const page = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const { body } = await app.call('GET', `/api/v1/executions?limit=200${page}`, { token })
    made.push(...body.items)
    if (body.nextCursor === null) return made
    cursor = body.nextCursor
  }
}

async function standStill(resume: () => void, ms: number): Promise<void> {
  // Also when it is given up on, and the last lines are not reached.
  onTestFinished(resume)
  try {
    await delay(ms)
  } finally {
    resume()
  }
}

/** One part after the other, while all of it is under way. */
async function freezeAll(): Promise<void> {
  const { postgres, redis, restate, worker, api } = pidsOf(stack.dir)
  await standStill(freezeTree(postgres), frozenMs)
  await delay(300)
  await standStill(freeze(redis), frozenMs)
  await standStill(freeze(restate), frozenMs)
  await standStill(freezeTree(worker[0] ?? 0), workerFrozenMs)
  await standStill(freeze(api[0] ?? 0), frozenMs)
}

test('each part stands still in turn: tasks end, waits and questions are answered, nothing is made twice', {
  timeout: 120_000 + 20 * frozenMs,
}, async () => {
  const [runner, asker, starter] = await Promise.all([newRunner(app), newRunner(app), newRunner(app)])
  const patientOf = async (person: Person) => new Patient((await app.newKey(person)).secret)
  const [task, ask, start] = await Promise.all([runner, asker, starter].map(patientOf))
  if (!task || !ask || !start) throw new Error('nobody')
  const input = script({ say: 'On it.', tools: [bash(`sleep ${workSeconds}`)] }, { say: 'There.' })
  const begun = await task.use('run_skill', { slug: 'errand', input, idempotency_key: randomUUID() })
  const followed = task.follow(begun.taskId)
  const executionId = String(begun.taskId).slice('execution.'.length)
  const waited = (async () => {
    for (;;) {
      const { structuredContent } = await task.use('get_execution', {
        execution_id: executionId,
        wait_seconds: 55,
      })
      if (structuredContent.status !== 'working') return structuredContent
    }
  })()
  const { ask_id } = (await ask.use('ask_person', { question: 'Go on?', wait_seconds: 0 })).structuredContent
  const answered = (async () => {
    for (;;) {
      const { structuredContent } = await ask.use('ask_person', { ask_id, wait_seconds: 55 })
      if (structuredContent.status !== 'pending') return structuredContent
    }
  })()
  let isOver = false
  /** One start after the other through all of it, each under a key of its own and sent until it is taken. */
  const started = (async () => {
    const taskIds: string[] = []
    while (!isOver) {
      const args = { slug: 'errand', input: script({ say: 'Done.' }), idempotency_key: randomUUID() }
      const { taskId } = await start.use('run_skill', { ...args, if_busy: 'queue' })
      taskIds.push(taskId)
      expect(await start.follow(taskId)).toMatchObject({ status: 'completed' })
    }
    return taskIds
  })()
  await freezeAll()
  isOver = true
  await until(async () => {
    const { status } = await app
      .call('POST', `/api/v1/approvals/${ask_id}/approve`, { token: asker.token, body: { answer: 'yes' } })
      .catch(() => ({ status: 0 }))
    return status === 200 || status === 409
  }, 30_000)
  expect(await answered).toMatchObject({ status: 'answered' })
  expect(await followed).toMatchObject({ status: 'completed' })
  expect(await waited).toMatchObject({ status: 'completed', text: expect.stringContaining('There.') })
  const taskIds = await started
  expect(await executionsOf(runner)).toMatchObject([{ status: 'completed' }])
  // A start that the engine did not take came to nothing: it is ended without a charge, and the next try is another one.
  const made = await executionsOf(starter)
  const isDone = ({ executionId }: Made) => taskIds.includes(`execution.${executionId}`)
  expect(made.filter(isDone).map(({ status }) => status)).toEqual(taskIds.map(() => 'completed'))
  const nothing = made.filter((one) => !isDone(one))
  expect(nothing).toEqual(nothing.map((one) => ({ ...one, status: 'failed', cost: 0 })))
  expect([...task.odd, ...ask.odd, ...start.odd]).toEqual([])
  tell(
    `${taskIds.length} starts, ${nothing.length} came to nothing; put off ${task.putOff}, ${ask.putOff} and ${start.putOff} times, each time told to come again`,
  )
})
