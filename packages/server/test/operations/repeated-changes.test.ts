import { randomUUID } from 'node:crypto'
import { type Route, routes } from '@guildhall/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Answer } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'
import { breaksOff, type Ingress, openIngress, takes } from '../support/ingress.ts'
import { newPersonWithPasskey } from '../support/passkeys.ts'
import {
  models,
  operatorToken,
  type Stage,
  send,
  sendBy,
  stageIn,
  writingCase,
} from '../support/writing-cases.ts'
import { by, newConsent, newExecution, newQuestion, type WritingCall } from '../support/writing-stage.ts'

/**
 * What changes or decides something that is there, repeated under one Idempotency-Key by a client that lost the answer:
 * it is done once and answered alike, whichever process is asked, also at the same time.
 */
let ingress: Ingress
let databaseUrl: string
let house: House
let second: House
let stage: Stage

beforeAll(async () => {
  ingress = await openIngress()
  databaseUrl = await createDatabase()
  const env = {
    DATABASE_URL: databaseUrl,
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000',
    OPERATOR_TOKEN: operatorToken,
    MODELS: JSON.stringify(models),
  }
  house = await openHouse(env)
  second = await openHouse(env)
  stage = stageIn(house, 'repeats')
})

beforeEach(() => ingress.behave(takes))

afterAll(async () => {
  await house?.close()
  await second?.close()
  await ingress?.close()
})

const under = (call: WritingCall, key: string): WritingCall => ({
  ...call,
  headers: { ...call.headers, 'idempotency-key': key },
})
const said = ({ status, text }: Answer) => `${status} ${text}`

/** What was noted, of all that was done: a line for each. */
async function linesOf(act: () => Promise<unknown>): Promise<string[]> {
  const { db } = house.deps.database
  const last = await db
    .selectFrom('activity')
    .select((e) => e.fn.max('id').as('id'))
    .executeTakeFirst()
  await act()
  const rows = await db
    .selectFrom('activity')
    .select('type')
    .where('id', '>', last?.id ?? 0)
    .execute()
  return rows.map(({ type }) => type).sort()
}

const changes = [
  'postExecutionEvents',
  'rerunExecution',
  'resumeWorkflowRun',
  'restoreSkillVersion',
  'restoreAgentVersion',
  'approveApproval',
  'denyApproval',
  'approveConsent',
  'denyConsent',
  'approvePermission',
  'denyPermission',
  'confirmActivation',
  'denyActivation',
] as const

describe.each(changes)('%s', (name) => {
  const route: Route = routes[name]

  test('is done once by two processes that are asked five times each', async () => {
    const alone = await writingCase(name)(stage)
    const once = await linesOf(async () => expect((await send(stage, route, alone)).status).toBe(200))
    const call = under(await writingCase(name)(stage), randomUUID())
    const ask = () => [house, second].map((process) => sendBy(process, route, call))
    let answers: Answer[] = []
    const lines = await linesOf(async () => {
      answers = await Promise.all(Array.from({ length: 5 }, ask).flat())
      answers.push(...(await Promise.all(ask())))
    })
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200))
    // Fields that the contract leaves open may come back in another order.
    for (const { body } of answers) expect(body).toEqual(answers[0]?.body)
    expect(lines).toEqual(once)
  })

  test('is refused under a key that was used for something else, and leaves it as it is', async () => {
    const key = randomUUID()
    const person = await house.newPerson()
    const made = await house.call('POST', '/api/v1/workspaces', {
      token: person.token,
      body: { name: 'First' },
      headers: { 'idempotency-key': key },
    })
    expect(made.status, made.text).toBe(201)
    const call = await writingCase(name)(stage)
    // As the same person in the same workspace, for whom alone a key counts.
    const { db } = house.deps.database
    const owner = await house.call('GET', '/api/v1/auth/session', { token: call.token ?? '' })
    await db
      .updateTable('idempotency_keys')
      .set({ caller: `${owner.body.user.id}:${owner.body.current_workspace_id}` })
      .where('idempotency_key', '=', key)
      .execute()
    const lines = await linesOf(async () => {
      const answer = await send(stage, route, under(call, key))
      expect(answer.status, answer.text).toBe(409)
      expect(answer.text).toContain('used for a different request')
    })
    expect(lines).toEqual([])
    expect((await send(stage, route, call)).status).toBe(200)
  })

  test("tells nobody else what was answered under somebody's key", async () => {
    const key = randomUUID()
    const call = under(await writingCase(name)(stage), key)
    expect((await send(stage, route, call)).status).toBe(200)
    const { token } = await house.newPerson()
    const answer = await send(stage, route, { ...call, token })
    expect([404, 409], answer.text).toContain(answer.status)
  })
})

test('a proof by passkey is used once and answers every repeat', async () => {
  const { person, authenticator } = await newPersonWithPasskey(house)
  const { consent_id } = await newConsent(stage, person, ['profile:write'])
  const choice = { scopes: ['profile:write'], modes: { 'profile:write': 'session' } }
  const { options } = await by(stage, person)('POST', `/approvals/${consent_id}/challenge`, choice)
  const call = under(
    {
      params: { consentId: consent_id },
      token: person.token,
      body: { ...choice, device_auth: authenticator.assert(options) },
    },
    randomUUID(),
  )
  const ask = () => [house, second].map((process) => sendBy(process, routes.approveConsent, call))
  const answers = await Promise.all(Array.from({ length: 5 }, ask).flat())
  answers.push(...(await Promise.all(ask())))
  expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200))
  expect(new Set(answers.map(said)).size).toBe(1)
})

test('what was decided under one key is not decided the other way under it', async () => {
  const person = await stage.newPerson()
  const { consent_id } = await newConsent(stage, person, ['agent:list'])
  const given = { params: { consentId: consent_id }, token: person.token }
  const key = randomUUID()
  const approve = under({ ...given, body: { scopes: ['agent:list'] } }, key)
  expect((await send(stage, routes.approveConsent, approve)).status).toBe(200)
  expect((await send(stage, routes.denyConsent, under(given, key))).status).toBe(409)
  expect((await send(stage, routes.denyConsent, given)).status).toBe(409)
})

test('an answer that the engine did not take is taken back with its record, and a repeat answers anew', async () => {
  const person = await stage.newPerson()
  const runId = await newQuestion(stage, person)
  const call = under(
    { params: { runId }, token: person.token, body: { resumeData: { answer: 'yes' } } },
    randomUUID(),
  )
  ingress.behave(breaksOff)
  const failed = await send(stage, routes.resumeWorkflowRun, call)
  expect(failed.status, failed.text).toBeGreaterThanOrEqual(500)
  ingress.behave(takes)
  const answers = [await send(stage, routes.resumeWorkflowRun, call)]
  answers.push(await sendBy(second, routes.resumeWorkflowRun, call))
  expect(answers.map(said)).toEqual(Array(2).fill(`200 {"runId":"${runId}","status":"running"}`))
})

test('a key without the scope is refused and not told what its person was answered', async () => {
  const person = await stage.newPerson()
  const executionId = await newExecution(stage, person)
  const body = { events: [{ type: 'user.message', content: [{ type: 'text', text: 'the secret plan' }] }] }
  const call = under({ params: { executionId }, token: person.token, body }, randomUUID())
  expect((await send(stage, routes.postExecutionEvents, call)).status).toBe(200)
  const { secret } = await house.newKey(person, { scopes: ['agent:list'] })
  const { token: _, ...rest } = call
  const answer = await send(stage, routes.postExecutionEvents, { ...rest, key: secret })
  expect(answer.status, answer.text).toBe(403)
  expect(answer.text).not.toContain('secret plan')
})

test('a rerun waits its turn when it is told to, and says so', async () => {
  const person = await stage.newPerson()
  const executionId = await newExecution(stage, person)
  const rerun = (body: object) => by(stage, person)('POST', `/executions/${executionId}/rerun`, body)
  expect(await rerun({ input: 'first' })).toMatchObject({ status: 'started' })
  await expect(rerun({ input: 'second' })).rejects.toThrow('EXECUTION_RUNNING')
  const queued = await rerun({ input: 'second', ifBusy: 'queue' })
  expect(queued).toMatchObject({ status: 'queued', parentExecutionId: executionId })
  expect(await by(stage, person)('GET', `/executions/${queued.executionId}/status`)).toMatchObject({
    status: 'idle',
    queuedAt: expect.any(String),
  })
})

// Last: the clock of this database stays a day ahead.
test('after a day a key is free again, and nothing is answered from memory', async () => {
  const person = await stage.newPerson()
  const { consent_id } = await newConsent(stage, person, ['agent:list'])
  const call = under(
    { params: { consentId: consent_id }, token: person.token, body: { scopes: ['agent:list'] } },
    randomUUID(),
  )
  expect((await send(stage, routes.approveConsent, call)).status).toBe(200)
  await shiftClock(databaseUrl, 24 * 3600 + 60)
  expect((await send(stage, routes.approveConsent, call)).status).toBe(409)
})
