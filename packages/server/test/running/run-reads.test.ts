import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunStatus, StepRecord } from '#machinery/graph/graph.ts'
import { RunWriter } from '#running/runs/run-writer.ts'
import { settleQuestions } from '#running/runs/settle-questions.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { until as untilWithin } from '../../../../test/support/processes.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { createDatabase, type House, newTeamWith, openHouse } from '../support/house.ts'
import { runParts } from '../support/runs.ts'

const definition = definitionOf('leave', [
  { type: 'tool', id: 'first', toolId: 'echo' },
  {
    type: 'parallel',
    steps: [
      { type: 'tool', id: 'ask', toolId: 'request-approval' },
      { type: 'tool', id: 'name', toolId: 'ask-human' },
    ],
  },
])

let house: House
let person: Person

const until = (isSo: () => boolean) => untilWithin(isSo, 10_000)

beforeAll(async () => {
  // No run may advance here, so that launches and answers wait in the records and need no engine.
  house = await openHouse({ DATABASE_URL: await createDatabase(), DEV_TOOLS: '1', RUNS_PER_WORKSPACE: '0' })
  person = await house.newPerson()
  await runsOf(house, person).install('leave', definition)
})

afterAll(() => house?.close())

const parts = () => runParts(house)

interface Question {
  stepId: string
  payload: unknown
}
const forLeave: Question = { stepId: 'ask', payload: { kind: 'approval', action: 'Publish' } }
const forName: Question = { stepId: 'name', payload: { kind: 'question', question: 'Whose?' } }

function asking({ stepId, payload }: Question): StepRecord {
  const waiting = [{ stepId, index: 0, iteration: 0, key: `${stepId}:0:0`, payload, suspendedAt: 2 }]
  const record = { status: 'suspended' as const, payload: {}, startedAt: 1, suspendPayload: payload }
  return { ...record, suspendedAt: 2, metadata: { waiting } }
}

let revision = 0

/** What the engine would write. */
async function write(
  runId: string,
  records: Record<string, StepRecord>,
  status?: Exclude<RunStatus, 'running'>,
  pause?: number,
) {
  const steps = Object.entries(records).map(([stepId, record], index) => ({
    stepId,
    position: [index],
    record,
    revision: ++revision,
  }))
  const row = await new RunWriter(house.deps.database).write({
    runId,
    opened: 0,
    advancing: false,
    steps,
    ...(status && { status }),
    ...(pause && { pause }),
    ...(status === 'success' && { result: { done: true } }),
  })
  house.bus.wake(`workflow-run:${runId}`)
  return row
}

async function suspended(
  owner: Person,
  questions: Question[],
  options: { key?: string } = {},
): Promise<string> {
  const launched = await house.call('POST', '/api/v1/workflows/leave/launch', {
    ...(options.key ? { key: options.key } : { token: owner.token }),
    body: { inputs: { text: 'a \u0001 b' } },
  })
  expect(launched.status, launched.text).toBe(201)
  const { runId } = launched.body
  await house.deps.database.db
    .updateTable('workflow_runs')
    .set({ queued_at: null, advancing: true, invocation_id: 'none' })
    .where('run_id', '=', runId)
    .execute()
  await write(runId, Object.fromEntries(questions.map((one) => [one.stepId, asking(one)])), 'suspended', 1)
  await settleQuestions(parts(), runId)
  return runId
}

async function inbox(owner: Person, query = 'kind=workflow') {
  const answer = await house.call('GET', `/api/v1/approvals?${query}`, { token: owner.token })
  expect(answer.status, answer.text).toBe(200)
  return answer.body.items
}

const decide = (owner: Person, id: string, how: 'approve' | 'deny', body: unknown = {}) =>
  house.call('POST', `/api/v1/approvals/${id}/${how}`, { token: owner.token, body })

const newTeamOf = (owner: Person, member: Person) => newTeamWith(house, owner, member)

describe('reading', () => {
  test('pages follow each other, newest first, by status and workflow', async () => {
    const owner = await house.newPerson()
    const own = runsOf(house, owner)
    await own.install('leave', definition)
    await own.install('other', { ...definition, id: 'other' })
    const ids = [await own.start('leave'), await own.start('other'), await own.start('leave')]
    await own.cancel(ids[0] ?? '')
    const list = async (query: string) => {
      const answer = await house.call('GET', `/api/v1/workflows/runs?${query}`, { token: owner.token })
      expect(answer.status, answer.text).toBe(200)
      return answer.body
    }
    const idsOf = ({ runs }: { runs: { runId: string }[] }) => runs.map(({ runId }) => runId)
    const first = await list('limit=2')
    expect(idsOf(first)).toEqual([ids[2], ids[1]])
    const rest = await list(`limit=2&cursor=${first.nextCursor}`)
    expect(idsOf(rest)).toEqual([ids[0]])
    expect(rest.nextCursor).toBeNull()
    expect(idsOf(await list('status=canceled'))).toEqual([ids[0]])
    expect(idsOf(await list(`workflowId=${owner.workspaceId}:other`))).toEqual([ids[1]])
    const bad = await house.call('GET', '/api/v1/workflows/runs?cursor=abc', { token: owner.token })
    expect(bad.status).toBe(400)
  })

  test('large runs have their place among small ones, and are told alike', async () => {
    const owner = await house.newPerson()
    const own = runsOf(house, owner)
    await own.install('leave', definition)
    const texts = ['small', randomBytes(40_000).toString('base64'), 'smaller']
    for (const text of texts) await own.start('leave', { text })
    const { body } = await house.call('GET', '/api/v1/workflows/runs', { token: owner.token })
    const inputs = body.runs.map(
      (run: { snapshot: { context: { input: unknown } } }) => run.snapshot.context.input,
    )
    expect(inputs).toEqual(texts.toReversed().map((text) => ({ text })))
  })

  test('a definition that cannot be read any more leaves a run without steps', async () => {
    const runId = await suspended(person, [forLeave])
    const seen = await runsOf(house, person).get(runId)
    expect(Object.keys(seen.body.steps)).toEqual(['ask'])
    await house.deps.database.db
      .insertInto('workflow_definitions')
      .values({ checksum: 'broken', definition: '{' })
      .execute()
    await house.deps.database.db
      .updateTable('workflow_runs')
      .set({ definition_checksum: 'broken' })
      .where('run_id', '=', runId)
      .execute()
    const broken = await runsOf(house, person).get(runId)
    expect(broken.status).toBe(200)
    expect(broken.body).toMatchObject({ run: { status: 'suspended', snapshot: { context: {} } }, steps: {} })
  })

  test('lists use an index', async () => {
    const { rows } = await house.deps.database
      .hot<{ 'QUERY PLAN': string }>(
        {
          name: 'explain-run-list',
          text: `explain select id, run_id from workflow_runs
          where workspace_id = '00000000-0000-4000-8000-000000000000' and status not in ('launching', 'void')
            and id < 1000 order by id desc limit 51`,
        },
        [],
      )
      .then((lines) => ({ rows: lines.map((line) => line['QUERY PLAN']).join('\n') }))
    expect(rows).toMatch(/Index Scan.*workflow_runs/)
    expect(rows).not.toMatch(/Sort/)
  })
})

describe('the stream of a run', () => {
  async function openStream(runId: string, headers: Record<string, string>) {
    const response = await fetch(`${house.url}/api/v1/workflows/runs/${runId}/events`, { headers })
    const frames: { status: string; snapshot: { status: string } }[] = []
    const seen = { text: '', isOver: false }
    const reading = (async () => {
      for await (const part of response.body ?? []) {
        seen.text += Buffer.from(part).toString()
        const told = seen.text.split('\n\n').filter((block) => block.startsWith('id: '))
        frames.splice(0, frames.length, ...told.map((one) => JSON.parse(one.split('\ndata: ')[1] ?? '')))
      }
      seen.isOver = true
    })().catch(() => {
      seen.isOver = true
    })
    return { response, frames, seen, reading }
  }

  test('tells the state as it is, then each that follows, and ends with the run', async () => {
    const runId = await runsOf(house, person).start('leave')
    const stream = await openStream(runId, { 'x-auth-token': person.token })
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream')
    expect(stream.response.headers.get('x-ratelimit-limit')).not.toBeNull()
    await until(() => stream.frames.length === 1)
    await write(runId, { first: { status: 'running', payload: {}, startedAt: 1 } })
    await until(() => stream.frames.length === 2)
    await write(runId, {}, 'success')
    await stream.reading
    expect(stream.frames.at(-1)).toMatchObject({
      type: 'workflow-snapshot',
      runId,
      status: 'success',
      snapshot: { status: 'success', result: { done: true } },
    })
  })

  test('a change of which no word came is seen within about a second', async () => {
    const runId = await runsOf(house, person).start('leave')
    const stream = await openStream(runId, { 'x-auth-token': person.token })
    await until(() => stream.frames.length === 1)
    await house.deps.database.db
      .updateTable('workflow_runs')
      .set((e) => ({ status: 'failed', version: e('version', '+', 1) }))
      .where('run_id', '=', runId)
      .execute()
    await stream.reading
    expect(stream.frames.at(-1)?.status).toBe('failed')
  })

  test('ends where the run waits; after an answer it starts with the run going on', async () => {
    const runId = await suspended(person, [forLeave])
    const before = await openStream(runId, { 'x-auth-token': person.token })
    await before.reading
    expect(before.frames.map(({ status }) => status)).toEqual(['suspended'])
    await runsOf(house, person).resume(runId, { resumeData: { approved: true } })
    const after = await openStream(runId, { 'x-auth-token': person.token })
    await until(() => after.frames.length === 1)
    expect(after.frames[0]?.status).toBe('running')
    await write(runId, {}, 'success')
    await after.reading
  })

  test('says nothing but comments while the run is not shown yet, and ends when it will never be', async () => {
    const runId = await runsOf(house, person).start('leave')
    const setStatus = (status: 'launching' | 'void') =>
      house.deps.database.db
        .updateTable('workflow_runs')
        .set({ status })
        .where('run_id', '=', runId)
        .execute()
    await setStatus('launching')
    const stream = await openStream(runId, { 'x-auth-token': person.token })
    await until(() => stream.seen.text.includes(': not there yet'))
    expect(stream.frames).toEqual([])
    await setStatus('void')
    await stream.reading
    expect(stream.frames).toEqual([])
  })

  test('stays open for a canceled run, and ends with its credential', async () => {
    const { id, secret } = await house.newKey(person)
    const runId = await runsOf(house, person).start('leave')
    const stream = await openStream(runId, { 'x-api-key': secret })
    await until(() => stream.frames.length === 1)
    await runsOf(house, person).cancel(runId)
    await until(() => stream.frames.at(-1)?.status === 'canceled')
    expect(stream.seen.isOver).toBe(false)
    await house.call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
    await stream.reading
    expect((await openStream(runId, { 'x-api-key': secret })).response.status).toBe(401)
  })
})

describe('the inbox', () => {
  test('every member of the workspace sees what a step asks, and decides it once', async () => {
    const owner = await house.newPerson()
    const member = await house.newPerson()
    const workspaceId = await newTeamOf(owner, member)
    const headers = { 'x-workspace-id': workspaceId }
    await house.call('POST', '/api/v1/workflows/leave/install', {
      token: owner.token,
      headers,
      body: { definition },
    })
    const key = await house.call('POST', '/api/v1/keys', {
      token: owner.token,
      headers,
      body: { label: 'launcher' },
    })
    const runId = await suspended(owner, [forLeave], { key: key.body.api_key })
    await settleQuestions(parts(), runId)
    const [item, ...others] = await inbox(member)
    expect(others).toEqual([])
    expect(item).toMatchObject({
      kind: 'workflow',
      status: 'pending',
      workspace: { id: workspaceId },
      key: { id: key.body.id, label: 'launcher' },
      workflow: { runId, workflowId: `${workspaceId}:leave`, stepId: 'ask', payload: forLeave.payload },
      expires_at: null,
    })
    const stranger = await house.newPerson()
    expect((await decide(stranger, item.id, 'approve')).status).toBe(404)
    const answers = await Promise.all([
      decide(owner, item.id, 'approve'),
      decide(member, item.id, 'deny', { reason: 'Not today' }),
      decide(member, item.id, 'approve'),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    const [decided] = await inbox(owner)
    const { status, decided_at, decided_by } = decided
    const first = { status, decided_at, decided_by: { user_id: decided_by.user_id, device: null } }
    expect(answers.find((one) => one.status === 409)?.body.error.details).toMatchObject(first)
    expect(await inbox(owner, 'status=pending')).toEqual([])
    expect((await decide(owner, item.id, 'approve')).status).toBe(409)
  })

  test('each step that waits is a question of its own', async () => {
    const owner = await house.newPerson()
    await runsOf(house, owner).install('leave', definition)
    const runId = await suspended(owner, [forLeave, forName])
    const items = await inbox(owner)
    const idOf = (stepId: string) =>
      items.find(({ workflow }: { workflow: { stepId: string } }) => workflow.stepId === stepId).id
    expect(items).toHaveLength(2)
    expect((await decide(owner, idOf('name'), 'deny')).status).toBe(400)
    expect((await decide(owner, idOf('name'), 'approve')).status).toBe(400)
    const approved = await decide(owner, idOf('name'), 'approve', { resumeData: 'Ada' })
    expect(approved.status, approved.text).toBe(200)
    const row = await house.deps.database.db
      .selectFrom('workflow_runs')
      .select(['resume_key', 'resume_data'])
      .where('run_id', '=', runId)
      .executeTakeFirst()
    expect(row).toEqual({ resume_key: 'name:0:0', resume_data: 'Ada' })
    expect(await inbox(owner, 'status=pending')).toHaveLength(1)
  })

  test('a refusal is told to the step, and an answer to the run decides the item', async () => {
    const owner = await house.newPerson()
    await runsOf(house, owner).install('leave', definition)
    const denied = await suspended(owner, [forLeave])
    const [item] = await inbox(owner)
    expect((await decide(owner, item.id, 'deny', { reason: 'Too soon' })).status).toBe(200)
    const row = await house.deps.database.db
      .selectFrom('workflow_runs')
      .select('resume_data')
      .where('run_id', '=', denied)
      .executeTakeFirst()
    expect(row?.resume_data).toEqual({ approved: false, note: 'Too soon' })
    const answered = await suspended(owner, [forLeave])
    const resumed = await runsOf(house, owner).resume(answered, { resumeData: { approved: true } })
    expect(resumed.status, resumed.text).toBe(200)
    const canceled = await suspended(owner, [forLeave])
    await runsOf(house, owner).cancel(canceled)
    const byRun = new Map(
      (await inbox(owner)).map(({ workflow, status }: { workflow: { runId: string }; status: string }) => [
        workflow.runId,
        status,
      ]),
    )
    expect(Object.fromEntries(byRun)).toEqual({
      [denied]: 'denied',
      [answered]: 'granted',
      [canceled]: 'expired',
    })
  })

  test('a member hears of it in every workspace', async () => {
    const owner = await house.newPerson()
    const member = await house.newPerson()
    const workspaceId = await newTeamOf(owner, member)
    await house.call('POST', '/api/v1/workflows/leave/install', {
      token: owner.token,
      headers: { 'x-workspace-id': workspaceId },
      body: { definition },
    })
    const { body } = await house.call('GET', '/api/v1/events/subscribe-url', { token: member.token })
    const url = new URL(body.url)
    const socket = new WebSocket(`${house.url.replace('http', 'ws')}${url.pathname}${url.search}`)
    const heard: { type: string; kind: string; workspaceId: string }[] = []
    socket.addEventListener('message', ({ data }) => heard.push(JSON.parse(data)))
    await new Promise((resolve) => socket.addEventListener('open', resolve))
    const key = await house.call('POST', '/api/v1/keys', {
      token: owner.token,
      headers: { 'x-workspace-id': workspaceId },
      body: { label: 'launcher' },
    })
    await suspended(owner, [forLeave], { key: key.body.api_key })
    await until(() => heard.length > 0)
    expect(heard).toEqual([
      expect.objectContaining({ type: 'approval-requested', kind: 'workflow', workspaceId }),
    ])
    socket.close()
  })
})
