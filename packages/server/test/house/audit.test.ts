import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { activityTypes } from '@guildhall/contract'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { changeCredits } from '#accounts/billing/billing.ts'
import { endExecution } from '#running/executions/lifecycle.ts'
import { findExecution, lockExecution } from '#running/executions/store.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { skillText } from '../../../../test/support/skills.ts'
import { definitionOf, type Runs, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

let databaseUrl: string
let house: House
let places: House
let db: pg.Client
let person: Person
let runs: Runs

beforeAll(async () => {
  databaseUrl = await createDatabase()
  const env = { DATABASE_URL: databaseUrl, STARTING_CREDITS: '10000', DEV_TOOLS: '1' }
  house = await openHouse(env)
  // In this one no run may advance, so that every launch waits and needs no engine.
  places = await openHouse({ ...env, RUNS_PER_WORKSPACE: '0' })
  db = new pg.Client({ connectionString: databaseUrl })
  await db.connect()
  person = await house.newPerson()
  runs = runsOf(places, person)
  await runs.install('flow', definitionOf('flow', [{ type: 'tool', id: 'echo', toolId: 'echo' }]))
  const files = [{ path: 'SKILL.md', content: skillText('errand', 'Run the errand.') }]
  const made = await post('/artifacts', { type: 'skill', files })
  await post('/skills/errand/install', { artifactId: made.body.id })
})

afterAll(async () => {
  await db?.end()
  await places?.close()
  await house?.close()
})

const post = (path: string, body: unknown = {}, headers: Record<string, string> = {}) =>
  house.call('POST', `/api/v1${path}`, { token: person.token, body, headers })

interface Line {
  type: string
  actor: { kind: string; userId: string | null; apiKeyId: number | null }
  details: Record<string, unknown>
}

const linesOf = async (type: string, who: Person = person, headers = {}): Promise<Line[]> => {
  const answer = await house.call('GET', `/api/v1/activity?limit=200&type=${type}`, {
    token: who.token,
    headers,
  })
  return answer.body.items
}
const bySession = () => ({ kind: 'session', userId: person.userId, apiKeyId: null })

describe('is on record, with who did it:', () => {
  test('a sign-in and a sign-out, in the own workspace alone', async () => {
    const team = await house.newTeam(person)
    const before = (await linesOf('session.signed_in')).length
    const { body } = await house.call('POST', '/api/v1/auth/dev', { body: { email: person.email } })
    const other = { ...person, token: body.auth_token as string }
    const inTeam = { 'x-workspace-id': team }
    await house.call('POST', '/api/v1/auth/sign-out', { token: other.token, headers: inTeam })
    const signedIn = await linesOf('session.signed_in')
    expect(signedIn).toHaveLength(before + 1)
    expect(signedIn[0]).toMatchObject({ actor: bySession() })
    const [signedOut] = await linesOf('session.signed_out')
    expect(signedOut?.details['sessionId']).toBe(signedIn[0]?.details['sessionId'])
    expect(await linesOf('session.signed_out', person, inTeam)).toEqual([])
  })

  test('a workspace that is made, and a member who is removed', async () => {
    const team = await house.newTeam(person, 'Guild')
    const inTeam = { 'x-workspace-id': team }
    const member = await house.newPerson()
    await db.query('insert into workspace_members (workspace_id, user_id, role) values ($1, $2, $3)', [
      team,
      member.userId,
      'member',
    ])
    const path = `/api/v1/workspaces/current/members/${member.userId}`
    expect((await house.call('DELETE', path, { token: person.token, headers: inTeam })).status).toBe(200)
    expect(await linesOf('workspace.created', person, inTeam)).toMatchObject([
      { actor: bySession(), details: { name: 'Guild' } },
    ])
    expect(await linesOf('member.removed', person, inTeam)).toMatchObject([
      { actor: bySession(), details: { userId: member.userId } },
    ])
  })

  test('a key that is changed, with what it may spend from now on', async () => {
    const { id } = await house.newKey(person)
    const change = { token: person.token, body: { spendLimit: 7 } }
    await house.call('PATCH', `/api/v1/keys/${id}`, change)
    await house.call('PATCH', `/api/v1/keys/${id}`, { token: person.token, body: {} })
    const lines = (await linesOf('key.updated')).filter(({ details }) => details['keyId'] === id)
    expect(lines).toMatchObject([{ actor: bySession(), details: { spendLimit: 7, expiresAt: null } }])
  })

  test('an artifact that is deleted', async () => {
    const made = await post('/artifacts', { type: 'file', files: [{ path: 'a.txt', content: 'a' }] })
    await house.call('DELETE', `/api/v1/artifacts/${made.body.id}`, { token: person.token })
    expect(await linesOf('artifact.deleted')).toMatchObject([
      { actor: bySession(), details: { artifactId: made.body.id, type: 'file' } },
    ])
  })

  test('a launch, by whichever credential, and a cancellation', async () => {
    const { id, secret } = await house.newKey(person)
    const launched = await places.call('POST', '/api/v1/workflows/flow/launch', { key: secret, body: {} })
    const { runId, workflowId } = launched.body
    const [line] = await linesOf('workflow.launched')
    expect(line).toMatchObject({ actor: { kind: 'key', apiKeyId: id }, details: { runId, workflowId } })
    await runs.cancel(runId)
    const [canceled] = await linesOf('workflow.canceled')
    expect(canceled).toMatchObject({ actor: bySession(), details: { runId } })
    await runs.cancel(runId)
    expect(await linesOf('workflow.canceled')).toHaveLength(1)
  })

  test('a launch that the engine could not be told of', async () => {
    const answer = await post('/workflows/flow/launch')
    expect(answer.status).toBe(503)
    const [launched] = await linesOf('workflow.launched')
    expect(await linesOf('workflow.launch_failed')).toMatchObject([
      { actor: bySession(), details: { runId: launched?.details['runId'] } },
    ])
  })

  test('a start, what was charged for it, and a cancellation', async () => {
    const { id: keyId, secret } = await house.newKey(person)
    const prepare = async () =>
      (await post('/executions', { skill_slug: 'errand', input: 'Go.' })).body.id as string
    const executionId = await prepare()
    const events = [{ type: 'user.message', content: [{ type: 'text', text: 'Now.' }] }]
    const path = `/api/v1/executions/${executionId}/events`
    await house.call('POST', path, { key: secret, body: { events } })
    expect(await linesOf('execution.started')).toMatchObject([
      { actor: { kind: 'key', apiKeyId: keyId }, details: { executionId, reserved: 500 } },
    ])
    const idle = await prepare()
    await post(`/executions/${idle}/cancel`)
    expect(await linesOf('execution.canceled')).toMatchObject([
      { actor: bySession(), details: { executionId: idle } },
    ])
    // There is no engine to work on it: one that has is made by hand, and ended as a worker does.
    await db.query(
      `update executions set status = 'working', cost_milli_ds = 2500, completed_at = null where execution_id = $1`,
      [executionId],
    )
    await db.query(
      'update reservations set closed_at = null, charged_milli_ds = null where execution_id = $1',
      [executionId],
    )
    await db.query(
      `insert into ledger (user_id, kind, source, target, amount_milli_ds, execution_id, key_id)
       values ($1, 'reserve', 'available', 'reserved', 500000, $2, $3)`,
      [person.userId, executionId, keyId],
    )
    const { database } = house.deps
    await database.transaction(async (tx) => {
      const found = await findExecution(tx, person.workspaceId, executionId)
      const row = found && (await lockExecution(tx, found.id))
      if (row) await endExecution(tx, row, { status: 'completed', stopReason: 'end_turn' })
    })
    expect(await linesOf('credits.charged')).toMatchObject([
      { actor: { kind: 'key', apiKeyId: keyId }, details: { executionId, amount: 2.5 } },
    ])
  })

  test('what an operator does to an account', async () => {
    const { userId } = person
    const { database } = house.deps
    const change = { userId, kind: 'grant' as const, amountMilliDs: 5000, note: 'Welcome' }
    await database.transaction((tx) => changeCredits(tx, change))
    expect(await linesOf('credits.granted')).toMatchObject([
      { actor: { kind: 'operator', userId: null }, details: { userId, amount: 5, note: 'Welcome' } },
    ])
  })
})

test('every type of the list is one that something records', () => {
  const folder = join(import.meta.dirname, '../../src')
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(folder, path), 'utf8'))
    .join('\n')
  // These are put together from a kind and an outcome.
  const composed = /^(budget|consent|permission)\.(granted|denied)$/
  expect(activityTypes.filter((type) => !composed.test(type) && !sources.includes(`'${type}'`))).toEqual([])
  expect(new Set(activityTypes).size).toBe(activityTypes.length)
})

test.each(['activity', 'ledger'])('%s refuses every change of what was written', async (table) => {
  const { rows } = await db.query(`select count(*)::int as count from ${table}`)
  for (const statement of [
    `update ${table} set at = now()`,
    `delete from ${table}`,
    `truncate ${table}`,
    `truncate ${table} cascade`,
  ]) {
    await expect(db.query(statement), statement).rejects.toThrow(/never changed/)
  }
  expect((await db.query(`select count(*)::int as count from ${table}`)).rows).toEqual(rows)
})
