import { toDs } from '@guildhall/contract'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

/** What is paid when somebody ends what goes on. A thousand tokens are one Ds here, and a token four letters. */
let house: ChatHouse
let person: Person

beforeAll(async () => {
  house = await openChatHouse({ CHAT_RUNS_PER_WORKSPACE: '30' })
  person = await house.newPerson({ mode: 'basedmode' })
  await call('PATCH', '/agents/assistant', { tools: ['agents', 'workflows', 'skills'] })
  const tools = ['agents', 'workflows', 'skills']
  await call('POST', '/agents', { slug: 'helper', name: 'Helper', instructions: 'Help.', tools })
  const skill = '---\nname: writer\ndescription: Writes.\n---\nWrite.\n'
  const files = [{ path: 'SKILL.md', content: skill }]
  const artifact = await call('POST', '/artifacts', { type: 'skill', files })
  const installed = await call('POST', '/skills/writer/install', { artifactId: artifact.body.id })
  expect(installed.status, installed.text).toBeLessThan(300)
})

afterAll(() => house?.close())

const call = (method: string, path: string, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { token: person.token, ...(body === undefined ? {} : { body }) })
const db = () => house.deps.database.db
const eventually = <T>(look: () => Promise<T>) => vi.waitFor(look, { timeout: 60_000, interval: 20 })
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))
const costing = (ds: number, step: Step): Step => ({ ...step, usage: { input: 0, output: ds * 1000 } })
const look: Step = { tools: [{ name: 'list_workflows', input: {} }] }
const forever: Step = { say: 'Never.', delayMs: 60_000 }
const asking = (agent: string, ...steps: Step[]): Step => ({
  tools: [{ name: 'ask_agent', input: { agent, message: scripted(...steps) } }],
})

/** Chats over a stream with every word as it comes. */
async function listen(threadId: string, ...steps: Step[]) {
  const response = await fetch(`${house.url}/api/v1/chat/assistant`, {
    method: 'POST',
    headers: { 'x-auth-token': person.token, 'content-type': 'application/json' },
    body: JSON.stringify({ threadId, message: scripted(...steps), stream: true, deltas: true }),
  })
  const heard = { text: '', finished: undefined as { cost: number } | undefined }
  const ended = (async () => {
    let rest = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const blocks = (rest + chunk).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const data = block.split('\n').find((line) => line.startsWith('data: '))
        if (!data) continue
        const { type, payload } = JSON.parse(data.slice('data: '.length))
        if (type === 'agent.message_delta') heard.text += payload.text
        if (type === 'run.finished') heard.finished = payload
      }
    }
  })()
  return { heard, ended }
}

const runsOf = async (threadId: string) =>
  db()
    .selectFrom('thread_runs as r')
    .innerJoin('threads as t', 't.id', 'r.thread_row_id')
    .selectAll('r')
    .select(['t.thread_id', 't.cost_milli_ds as threadCost'])
    .where('t.thread_id', '=', threadId)
    .executeTakeFirstOrThrow()

async function chargedFor(runIds: readonly string[]): Promise<number> {
  const rows = await db()
    .selectFrom('ledger')
    .select(['execution_id', 'amount_milli_ds'])
    .where('kind', '=', 'settle')
    .where('user_id', '=', person.userId)
    .execute()
  return rows
    .filter(({ execution_id }) => runIds.some((id) => execution_id?.startsWith(`chat_${id}.`)))
    .reduce((sum, { amount_milli_ds }) => sum + amount_milli_ds, 0)
}

test('whoever interrupts a reply pays for what was heard of it, and is told that', async () => {
  const words = { say: 'Every word of this is paid for. ', repeatText: 300, chunkDelayMs: 10 }
  const { heard, ended } = await listen('cut', words)
  await eventually(async () => expect(heard.text.length).toBeGreaterThan(400))
  expect((await call('POST', '/threads/cut/interrupt', {})).body.success).toBe(true)
  await ended
  const run = await runsOf('cut')
  expect(run).toMatchObject({ status: 'failed', stop_reason: 'interrupt', pending_milli_ds: 0 })
  expect(run.cost_milli_ds).toBeGreaterThan(heard.text.length / 4)
  // The rest was never written.
  expect(run.cost_milli_ds).toBeLessThan(2400)
  expect(run.output_tokens).toBeGreaterThanOrEqual(heard.text.length / 4)
  expect(heard.finished?.cost).toBe(toDs(run.cost_milli_ds))
  expect(run.threadCost).toBe(run.cost_milli_ds)
  expect(await chargedFor([run.run_id])).toBe(run.cost_milli_ds)
  expect((await call('GET', '/threads/cut')).body.cost).toBe(toDs(run.cost_milli_ds))
})

test('whoever interrupts before the first word pays for what the model was asked', async () => {
  const { ended } = await listen('unheard', { say: 'Too late.', delayMs: 60_000 })
  await eventually(async () => expect((await runsOf('unheard')).pending_input_tokens).toBeGreaterThan(0))
  await call('POST', '/threads/unheard/interrupt', {})
  await ended
  const run = await runsOf('unheard')
  expect(run).toMatchObject({ stop_reason: 'interrupt', output_tokens: 0, pending_milli_ds: 0 })
  expect(run.input_tokens).toBeGreaterThan(0)
  expect(run.cost_milli_ds).toBeGreaterThan(0)
  expect(await chargedFor([run.run_id])).toBe(run.cost_milli_ds)
})

test('at whatever moment a run is interrupted, what was heard of it is paid', async () => {
  const short = { say: 'A few words, gone in no time. ', repeatText: 20, chunkDelayMs: 1 }
  const outcomes: { heard: number; paid: number; stop: string | null }[] = []
  for (let round = 0; round < 8; round++) {
    await Promise.all(
      Array.from({ length: 5 }, async (_, n) => {
        const threadId = `any-${round}-${n}`
        const { heard, ended } = await listen(threadId, short)
        await pause(Math.random() * 150)
        await call('POST', `/threads/${threadId}/interrupt`, {})
        await ended
        const run = await runsOf(threadId)
        expect(await chargedFor([run.run_id])).toBe(run.cost_milli_ds)
        outcomes.push({ heard: heard.text.length, paid: run.cost_milli_ds, stop: run.stop_reason })
      }),
    )
  }
  expect(outcomes.filter(({ heard, paid }) => heard / 4 > paid)).toEqual([])
  // Some were interrupted after they had said something.
  expect(outcomes.filter(({ heard, stop }) => heard > 0 && stop === 'interrupt')).not.toEqual([])
})

test('a reply that was lost with its worker is asked for again and paid once', async () => {
  house.serve(false)
  const message = scripted({ say: 'Once. ', repeatText: 100, chunkDelayMs: 20 })
  await house.send(person, 'lost', message)
  const { run_id: runId } = await runsOf('lost')
  const asked = await eventually(async () => {
    const found = house.calls().find((each) => each.runId === runId)
    if (!found) throw new Error('not asked yet')
    return found
  })
  const [lost, other] = [house.newRunner(), house.newRunner()]
  const gone = new AbortController()
  const first = lost.carry(asked.threadRowId, asked, gone.signal).catch(() => {})
  await eventually(async () => expect((await runsOf('lost')).pending_milli_ds).toBeGreaterThan(0))
  gone.abort(new Error('the connection is gone'))
  await first
  house.serve(true)
  const second = other.carry(asked.threadRowId, asked, new AbortController().signal)
  await second
  const run = await runsOf('lost')
  expect(run).toMatchObject({ status: 'completed', pending_milli_ds: 0 })
  // The prompt and six hundred letters, by the model's own count.
  expect(run.cost_milli_ds).toBe(run.input_tokens + run.output_tokens)
  expect(await chargedFor([run.run_id])).toBe(run.cost_milli_ds)
})

/** Ends an asked agent in the middle of what it had others do, and gives what came of it all. */
async function interruptAsked(threadId: string, inner: Step, more: Step[], isUnderWay: () => Promise<void>) {
  const sent = await house.send(person, threadId, scripted(asking('helper', costing(5, inner)), ...more), {
    maxCost: 100,
  })
  expect(sent.status, sent.text).toBe(202)
  await eventually(isUnderWay)
  const root = await runsOf(threadId)
  const asked = await db()
    .selectFrom('thread_runs as r')
    .innerJoin('threads as t', 't.id', 'r.thread_row_id')
    .select('t.thread_id')
    .where('r.parent_run', '=', root.id)
    .executeTakeFirstOrThrow()
  const deleted = await call('DELETE', `/threads/${asked.thread_id}`)
  expect([deleted.status, deleted.body.error.code]).toEqual([409, 'CONFLICT'])
  await call('POST', `/threads/${asked.thread_id}/interrupt`, {})
  await eventually(async () => {
    for (const { name, run } of house.reconcilers) if (/chats|asked/.test(name)) await run()
    expect((await runsOf(threadId)).completed_at).not.toBeNull()
  })
  const all = await db().selectFrom('thread_runs').selectAll().where('id', '>=', root.id).execute()
  return { root: await runsOf(threadId), all }
}

test('when an asked agent is interrupted, what it had asked in turn still counts to the message', async () => {
  const grandchild = asking('assistant', costing(30, look), forever)
  const more = [asking('helper', costing(50, look), costing(50, { say: 'Too much.' })), { say: 'Done.' }]
  const { root, all } = await interruptAsked('family', grandchild, more, async () => {
    const deep = await db().selectFrom('thread_runs').selectAll().where('depth', '=', 2).execute()
    expect(deep.map(({ cost_milli_ds }) => cost_milli_ds)).toEqual([30_000])
  })
  expect(all.map(({ completed_at }) => completed_at)).not.toContain(null)
  const charged = await chargedFor(all.map(({ run_id }) => run_id))
  expect(charged).toBe(root.cost_milli_ds + root.delegated_milli_ds)
  expect(charged).toBe(all.reduce((sum, { cost_milli_ds }) => sum + cost_milli_ds, 0))
  expect(charged).toBeLessThanOrEqual(100_000)
})

test('and a skill that it had started ends with it', async () => {
  const skill: Step = { tools: [{ name: 'run_skill', input: { slug: 'writer', input: 'Write' } }] }
  const executions = () =>
    db().selectFrom('executions').selectAll().where('chat_run_id', 'is not', null).execute()
  const { root } = await interruptAsked('skill', skill, [{ say: 'Done.' }], async () => {
    const waiting = await db()
      .selectFrom('thread_runs')
      .select('id')
      .where('wait_kind', '=', 'execution')
      .where('status', '=', 'waiting')
      .execute()
    expect(waiting).toHaveLength(1)
  })
  expect(root).toMatchObject({ status: 'completed', delegated_milli_ds: 5000 })
  expect(await executions()).toMatchObject([{ status: 'failed', stop_reason: 'interrupt' }])
})
