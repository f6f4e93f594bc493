import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findSkill } from '#library/skills/skills.ts'
import { beginStepExecution } from '#running/executions/executions.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { runParts } from '../support/runs.ts'

let house: House
let person: Person
let other: Person

beforeAll(async () => {
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    RUNS_PER_WORKSPACE: '0',
    CORS_ORIGINS: 'https://app.example',
    STARTING_CREDITS: '10000',
  })
  person = await house.newPerson()
  other = await house.newPerson()
  for (const who of [person, other]) await installSkill(who)
})

afterAll(() => house.close())

const as = (who: Person) => (method: string, path: string, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { token: who.token, ...(body === undefined ? {} : { body }) })

async function installSkill(who: Person) {
  const content = '---\nname: writer\ndescription: Writes.\n---\nWrite.\n'
  const files = [{ path: 'SKILL.md', content }]
  const artifact = await as(who)('POST', '/artifacts', { type: 'skill', files })
  const answer = await as(who)('POST', '/skills/writer/install', { artifactId: artifact.body.id })
  expect(answer.status).toBe(200)
}

const agentsOf = ({ workspaceId }: Person) =>
  house.deps.database.db.selectFrom('agents').selectAll().where('workspace_id', '=', workspaceId).execute()

describe('fields that the contract does not name', () => {
  test('cannot carry an agent into another workspace', async () => {
    await as(other)('GET', '/agents')
    const before = await agentsOf(other)
    await as(person)('POST', '/agents', { slug: 'mine' })
    const planted = { workspace_id: other.workspaceId, slug: 'assistant', is_primary: true, name: 'New name' }
    const answer = await as(person)('PATCH', '/agents/mine', planted)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ slug: 'mine', name: 'New name', primary: false })
    expect(answer.headers.get('x-ignored-fields')).toBe('workspace_id, slug, is_primary')
    expect(await agentsOf(other)).toEqual(before)
  })

  test('cannot make an execution the step of a run', async () => {
    const step = { runId: 'run_1', key: 'run_1:a:1', awakeableId: '../../restate/health' }
    const planted = { step, parent: { execution_id: 'exec_1' }, traceId: 'trace_1', slot: 'queue' }
    const body = { skill_slug: 'writer', input: 'go', ...planted }
    const idle = await as(person)('POST', '/executions', body)
    expect(idle.status).toBe(200)
    expect(idle.headers.get('x-ignored-fields')).toBe('step, parent, traceId, slot')
    for (const path of ['/skills/writer/run', `/executions/${idle.body.id}/rerun`]) {
      // No engine here: the start is refused, and what it wrote stays.
      const answer = await as(person)('POST', path, { input: 'go', ...planted })
      expect(answer.headers.get('x-ignored-fields')).toBe('step, parent, traceId, slot')
    }
    const { db } = house.deps.database
    const rows = await db
      .selectFrom('executions')
      .select(['workflow_run_id', 'awakeable_id', 'step_key', 'trace_id', 'parent_execution_id'])
      .where('workspace_id', '=', person.workspaceId)
      .execute()
    expect(rows).toHaveLength(3)
    for (const row of rows) {
      expect(row).toMatchObject({ workflow_run_id: null, awakeable_id: null, step_key: null })
      expect(row.trace_id).not.toBe('trace_1')
      expect([null, idle.body.id]).toContain(row.parent_execution_id)
    }
  })

  test('are named at every depth, in the query and in forms, and CORS shows the header', async () => {
    const nested = await as(person)('POST', '/artifacts', {
      type: 'file',
      files: [{ path: 'a.txt', content: 'a', workspace_id: 'x' }],
      id: 1,
    })
    expect(nested.status).toBe(201)
    expect(nested.headers.get('x-ignored-fields')).toBe('id, files.0.workspace_id')
    const listed = await house.call('GET', '/api/v1/executions?limit=1&user_id=a&__proto__=b', {
      token: person.token,
      headers: { origin: 'https://app.example' },
    })
    expect(listed.status).toBe(200)
    expect(listed.headers.get('x-ignored-fields')).toBe('?user_id, ?__proto__')
    expect(listed.headers.get('access-control-expose-headers')).toContain('x-ignored-fields')
    const form = new FormData()
    form.set('type', 'file')
    form.set('workspace_id', other.workspaceId)
    form.set('files[]', new Blob(['a']), 'a.txt')
    const uploaded = await fetch(`${house.url}/api/v1/artifacts`, {
      method: 'POST',
      headers: { 'x-auth-token': person.token },
      body: form,
    })
    expect(uploaded.status).toBe(201)
    expect(uploaded.headers.get('x-ignored-fields')).toBe('workspace_id')
    const without = await as(await house.newPerson())('POST', '/auth/sign-out', { userId: other.userId })
    expect(without.headers.get('x-ignored-fields')).toBe('userId')
  })

  test('an answer to a request that holds none has no such header', async () => {
    const answer = await as(person)('POST', '/workflows/validate', { anything: { at: 'all' } })
    expect(answer.status).toBe(200)
    expect(answer.headers.has('x-ignored-fields')).toBe(false)
  })

  test('are part of what a repeat is compared by', async () => {
    const post = (body: unknown) =>
      house.call('POST', '/api/v1/agents', {
        token: person.token,
        headers: { 'idempotency-key': 'with-more' },
        body,
      })
    const first = await post({ slug: 'repeated', extra: 1 })
    expect(first.status).toBe(201)
    const again = await post({ slug: 'repeated', extra: 1 })
    expect([again.status, again.text]).toEqual([201, first.text])
    expect((await post({ slug: 'repeated', extra: 2 })).status).toBe(409)
  })
})

test('a step finds only what its own run began, whoever holds the same key', async () => {
  const parts = runParts(house)
  const begin = async (who: Person, runId: string) => {
    const skill = await findSkill(house.deps.database.db, who.workspaceId, 'writer')
    if (!skill) throw new Error('the skill is not there')
    return beginStepExecution(parts, {
      workspaceId: who.workspaceId,
      userId: who.userId,
      skill,
      input: 'go',
      step: { runId, key: 'run_x:turn:1', awakeableId: 'sign_1abc' },
      admit: async () => ({
        apiKeyId: null,
        oauthGrantId: null,
        allowedOnce: false,
        authority: [],
        agentSlug: null,
      }),
    })
  }
  const first = await begin(person, 'run_x')
  expect(await begin(person, 'run_x')).toBe(first)
  const squatter = await begin(other, 'run_x')
  const elsewhere = await begin(person, 'run_y')
  expect(new Set([first, squatter, elsewhere]).size).toBe(3)
})

test('what does not look like an id of the engine is never part of an address there', async () => {
  const { engine } = house.deps
  const run = 'run_00000000-0000-4000-8000-000000000000'
  for (const strange of [
    '../health',
    '',
    'run_1',
    `${run}/x`,
    `${run}\n`,
    'sign_1/../x',
    'inv_1?a',
    'inv_1%2f',
  ])
    for (const call of [
      () => engine.launchRun(strange),
      () => engine.answerRun(strange, { key: 'a', resumeId: 'b' }),
      () => engine.cancelRun(strange, 'inv_1abc'),
      () => engine.cancelRun(run, strange),
      () => engine.resolveAwakeable(strange),
    ])
      await expect(call()).rejects.toThrow('Not the id of')
})
