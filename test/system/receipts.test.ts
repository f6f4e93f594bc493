import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Authenticator, createAuthenticator } from '../support/authenticator.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { withDatabase } from '../support/database.ts'
import { bash, mustRun, newRunner, patiently, readLog, script } from '../support/executions.ts'
import { pidsOf, until } from '../support/processes.ts'
import { atSize } from '../support/sizes.ts'
import { definitionOf, endStates, runsOf } from '../support/workflows.ts'
import { roughStack, type SharedStack } from './support/shared-stacks.ts'

/** Receipts of real work, checked by the program that people are given, which is told nothing but two files. */
let stack: SharedStack
let app: Caller
let person: Person
let authenticator: Authenticator
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guildhall-receipts-'))
  stack = await roughStack()
  app = createCaller(stack.baseUrl)
  person = await newRunner(app)
  const keys = await app.call('GET', '/.well-known/guildhall-receipt-keys')
  writeFileSync(join(folder, 'keys.json'), keys.text)
  full = await app.newKey(person, { access: 'full' })
  scoped = await app.newKey(person, { scopes: ['tool:execute'] })
  bare = await app.newKey(person, { scopes: ['agent:list'] })
  authenticator = createAuthenticator({ origin: stack.baseUrl.replace('127.0.0.1', 'localhost') })
  const { registration } = await must('/passkeys/options')
  await must('/passkeys', { credential: authenticator.register(registration) })
})

afterAll(() => rmSync(folder, { recursive: true }))

let full: { id: number; secret: string }
let scoped: typeof full
let bare: typeof full

async function must(path: string, body?: unknown, who: { token?: string; key?: string } = person) {
  const { token, key } = who
  const answer = await app.call('POST', `/api/v1${path}`, {
    ...(key === undefined ? { token: token ?? '' } : { key }),
    body,
  })
  if (answer.status >= 400) throw new Error(`${path}: ${answer.text}`)
  return answer.body
}

/** Within a minute of the end, in fact within seconds. */
async function receiptOf(subject: string, withinMs = 60_000) {
  let text = ''
  await until(async () => {
    const answer = await app.call('GET', `/api/v1/receipts/receipt_${subject}`, { token: person.token })
    text = answer.text
    return answer.status === 200
  }, withinMs)
  return { text, ...JSON.parse(text) }
}

const program = new URL('../../scripts/verify-receipt.ts', import.meta.url).pathname

/** What it says and whether it is content. */
async function verify(text: string | Buffer, keys = join(folder, 'keys.json')) {
  const path = join(folder, 'receipt.json')
  writeFileSync(path, text)
  // Nothing but its own files: neither this service nor what is installed with it.
  const options = { cwd: '/', env: {} }
  return promisify(execFile)(process.execPath, [program, path, keys], options).then(
    ({ stdout }) => ({ good: true, said: stdout }),
    (error: { code: number; stderr: string }) => ({ good: false, said: error.stderr }),
  )
}

async function granted(mode: 'session' | 'one_time') {
  const asked = { scope: 'tool:execute', mode, reason: 'For the test' }
  const { request_id } = await must('/agents/request-permission', asked, { key: bare.secret })
  const challenge = await must(`/approvals/${request_id}/challenge`, { mode })
  const device_auth = authenticator.assert(challenge.options)
  await must(`/agents/request-permission/${request_id}/approve`, { mode, device_auth })
  return { requestId: request_id, approvedBy: person.userId, passkey: expect.any(String) }
}

const quick = script(
  { say: 'Working.', tools: [bash('echo made > made.txt'), bash('false')] },
  { say: 'Done.' },
)

async function run(who: { token?: string; key?: string }): Promise<string> {
  const answer = await patiently(() =>
    app.call('POST', '/api/v1/skills/errand/run', { ...who, body: { input: quick } }),
  )
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body.executionId
}

describe('each names what let it start, and is verified by the program', () => {
  const cases: Record<string, () => Promise<{ who: object; right: object; keyId: number | null }>> = {
    'a full key': async () => ({
      who: { key: full.secret },
      right: { scope: '*', via: 'full', approvedBy: person.userId },
      keyId: full.id,
    }),
    'a key with the scope': async () => ({
      who: { key: scoped.secret },
      right: { scope: 'tool:execute', via: 'key', approvedBy: person.userId },
      keyId: scoped.id,
    }),
    'a grant for a single use': async () => {
      const approval = await granted('one_time')
      const right = { scope: 'tool:execute', via: 'grant', grantId: expect.any(Number), ...approval }
      return { who: { key: bare.secret }, right, keyId: bare.id }
    },
    'a grant for a session': async () => {
      const approval = await granted('session')
      const right = { scope: 'tool:execute', via: 'grant', grantId: expect.any(Number), ...approval }
      return { who: { key: bare.secret }, right, keyId: bare.id }
    },
    'a person': async () => ({
      who: { token: person.token },
      right: { scope: 'tool:execute:errand', via: 'person', approvedBy: person.userId },
      keyId: null,
    }),
  }

  test.each(Object.keys(cases))('%s', async (name) => {
    const { who, right, keyId } = (await cases[name]?.()) ?? { who: {}, right: {}, keyId: null }
    const executionId = await run(who)
    const { text, receipt } = await receiptOf(executionId)
    expect(receipt).toMatchObject({
      subject: executionId,
      actor: { userId: person.userId, apiKeyId: keyId },
      what: {
        kind: 'execution',
        skill: { slug: 'errand', version: 1 },
        toolCalls: [{ name: 'bash', calls: 2, errors: 1 }],
      },
      authority: [expect.objectContaining(right)],
      outputs: [{ path: 'made.txt', checksum: madeChecksum, sizeBytes: 5 }],
      stopReason: 'end_turn',
    })
    const { good, said } = await verify(text)
    expect(said).toContain(receipt.id)
    expect(good).toBe(true)
    expect(receipt.log.events).toBe((await readLog(app, person, executionId)).length)
  })
})

/** Of the five bytes that the script writes. */
const madeChecksum = '9ccbd3f1b19a1cdfd8d7c6ae48e9e822e2345f5be1a6187b19e41486c6941004'

test('what it cost is what the ledger has', async () => {
  const executionId = await mustRun(app, person, quick)
  const { receipt } = await receiptOf(executionId)
  const rows = await withDatabase(stack.databaseUrl, async (database) => {
    const query =
      'select id::int, kind, amount_milli_ds::int as amount from ledger where execution_id = $1 order by id'
    return (await database.query(query, [executionId])).rows
  })
  expect(receipt.cost.ledger).toEqual(rows.map(({ id }) => id))
  expect(receipt.cost.ds * 1000).toBeCloseTo(rows.find(({ kind }) => kind === 'settle').amount)
})

test('a byte that is another, or a key that is not published, and the program says no', async () => {
  const { text } = await receiptOf(await run(person))
  const bytes = Buffer.from(text)
  for (let n = 0; n < 8; n++) {
    const at = Math.floor((n / 8) * bytes.length) + n
    const flipped = Buffer.from(bytes)
    flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at)
    expect((await verify(flipped)).good, `${at}`).toBe(false)
  }
  const none = join(folder, 'none.json')
  writeFileSync(none, '{"keys":[]}')
  expect(await verify(text, none)).toMatchObject({ good: false, said: expect.stringContaining('published') })
})

test('a run of a workflow names who answered it, and its skill was started by the run’s right', async () => {
  const runs = runsOf(app, person)
  const graph = [
    { type: 'mapping', id: 'm', mapConfig: '{"question":{"value":"May I?"}}' },
    { type: 'tool', id: 'ask', toolId: 'ask-human' },
    {
      type: 'mapping',
      id: 'n',
      mapConfig: JSON.stringify({ slug: { value: 'errand' }, input: { value: quick } }),
    },
    { type: 'tool', id: 'work', toolId: 'execute-skill' },
  ]
  await runs.install('asking', definitionOf('asking', graph))
  const { runId } = await must('/workflows/asking/launch', { inputs: {} }, { key: full.secret })
  await runs.reaches(runId, ['suspended'])
  expect((await runs.resume(runId, { resumeData: { answer: 'Yes.' } })).status).toBe(200)
  const { run: ended } = await runs.reaches(runId, endStates, 60_000)
  expect(ended.status).toBe('success')
  const { text, receipt } = await receiptOf(runId)
  const authority = [expect.objectContaining({ scope: '*', via: 'full', approvedBy: person.userId })]
  const answered = { kind: 'workflow', decision: 'granted', by: person.userId, byKey: null }
  expect(receipt).toMatchObject({
    authority,
    approvals: [{ ...answered, actionSha256: expect.stringMatching(/^[0-9a-f]{64}$/) }],
    what: { kind: 'run', workflow: { slug: 'asking' } },
    stopReason: 'success',
  })
  expect(text).not.toContain('May I?')
  expect(text).not.toContain('Yes.')
  expect((await verify(text)).good).toBe(true)
  const { executionId } = ended.snapshot.result as { executionId: string }
  const started = (await receiptOf(executionId)).receipt
  expect([started.authority, started.what.run]).toEqual([authority, runId])
})

/** One that has ended a moment ago. A receipt is quickly made: whoever comes too late looks at another one. */
async function newWithoutReceipt(): Promise<string> {
  return withDatabase(stack.databaseUrl, async (database) => {
    const query = `select exists (select from receipts_due where subject = $1) as due,
      exists (select from receipts where subject = $1) as made`
    for (;;) {
      const executionId = await mustRun(app, person, quick)
      const look = async () => (await database.query(query, [executionId])).rows[0]
      let found = await look()
      for (; !found.due && !found.made; found = await look()) await delay(5)
      if (found.due) return executionId
    }
  })
}

test('whoever is killed between an end and its receipt, there is one', async () => {
  for (let round = 0; round < atSize(1, 2); round++) {
    const executionId = await newWithoutReceipt()
    const { api, worker } = pidsOf(stack.dir)
    for (const pid of [...api, ...worker]) process.kill(pid, 'SIGKILL')
    await until(async () => (await app.call('GET', '/readyz').catch(() => undefined))?.status === 200, 30_000)
    const { text } = await receiptOf(executionId)
    expect((await verify(text)).good).toBe(true)
  }
})
