import { randomUUID } from 'node:crypto'
import { describe, expect, inject, test } from 'vitest'
import { pidsOf } from '../support/processes.ts'
import { expectWithin } from '../support/proof.ts'
import { must, newKey, newPerson, newVisitor } from './support/actors.ts'
import { pause } from './support/client.ts'
import { openStream } from './support/event-streams.ts'
import {
  bash,
  cancel,
  errand,
  eventOf,
  installSkill,
  lasting,
  list,
  message,
  mustRun,
  newRunner,
  newSkillArtifact,
  only,
  post,
  prepare,
  quick,
  readLog,
  rerun,
  run,
  runThrough,
  type Started,
  script,
  seen,
  statusOf,
  stopReasonOf,
  streamUrl,
} from './support/executions.ts'
import { expectFlatRefusal, expectRefusal } from './support/shapes.ts'
import { stack, stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

describe('running a skill', () => {
  test('answers that it has started, and where to watch it', async () => {
    verifies(
      'skills:run:answer',
      'skills:run:sse-url-is-path',
      'skills:run:already-started',
      'skills:run:open-stream-by-token',
    )
    const person = await newRunner()
    const { status, body } = await run(person, lasting)
    expect(status).toBe(200)
    expect(body).toEqual({
      executionId: expect.stringMatching(/./),
      skillName: errand,
      status: 'started',
      message: expect.stringMatching(/./),
      sseUrl: expect.stringMatching(/^\/[^/]/),
    })
    expect((await statusOf(person, body.executionId)).status).toBe('working')
    expect(await person.get(`root:${body.sseUrl}`)).toMatchObject({
      status: 200,
      body: { sseUrl: expect.any(String) },
    })
    const stream = await openStream(await streamUrl(person, body.executionId))
    await stream.next((frame) => frame.id === '2')
    stream.close()
    const path = new URL(body.sseUrl, inject('baseUrl')).href
    const asksForEvents = { accept: 'text/event-stream' }
    const direct = await openStream(path, { ...asksForEvents, 'x-auth-token': person.token })
    expect(direct.headers['content-type']).toMatch(/^text\/event-stream/)
    await direct.next((frame) => frame.id === '2')
    direct.close()
    expect(direct.frames.slice(0, 2)).toEqual(stream.frames.slice(0, 2))
    const nobody = await openStream(path, asksForEvents)
    nobody.close()
    expect(nobody.status).toBe(401)
    const [first, second] = stream.frames.map(eventOf)
    expect(first).toMatchObject({
      type: 'user.message',
      sequence: 1,
      payload: { content: [{ type: 'text', text: lasting }] },
    })
    expect(second).toMatchObject({ type: 'session.status_running', sequence: 2 })
    await cancel(person, body.executionId)
  })

  test.each([
    ['no input', {}],
    ['an input that is no string', { input: 5 }],
  ])('is refused with %s', async (_case, body) => {
    verifies('skills:run:input-required', 'errors:run:flat-shape')
    const person = await newRunner()
    expectFlatRefusal(await person.post(`/skills/${errand}/run`, body), 400, 'INVALID_INPUT')
    expect((await list(person)).items).toEqual([])
  })

  test('takes attachments and a connector', async () => {
    verifies('skills:run:optional-fields')
    const person = await newRunner()
    const attachments = [
      { name: 'note.txt', mimeType: 'text/plain', data: Buffer.from('from outside').toString('base64') },
    ]
    const input = script({ tools: [bash('cat note.txt')] }, { say: 'Read.' })
    const connector = { app: 'mail', account: { id: 7 } }
    const { executionId, log } = await runThrough(person, input, { attachments, connector })
    expect(await statusOf(person, executionId)).toMatchObject({ connector })
    expect(only(log, 'agent.tool_result')[0]?.payload).toMatchObject({
      isError: false,
      summary: 'from outside',
    })
    const refused = await run(person, quick, { attachments: 'x' })
    expectFlatRefusal(refused, 400, 'INVALID_INPUT')
    expectFlatRefusal(await run(person, quick, { connector: 'x' }), 400, 'INVALID_INPUT')
    const told = must(await run(person, quick, { connector }), 200)
    expect(told).toMatchObject({ details: { connector: { available: false, message: expect.any(String) } } })
  })

  test('keeps its attachments when it is run again, unless others come', async () => {
    verifies('executions:rerun:keeps-attachments')
    const person = await newRunner()
    const file = (text: string) => ({ name: 'note.txt', data: Buffer.from(text).toString('base64') })
    const input = script({ tools: [bash('cat note.txt || echo none')] }, { say: 'Read.' })
    const { executionId } = await runThrough(person, input, { attachments: [file('the first')] })
    const readAgain = async (fields: object) => {
      const answer = await person.post<{ executionId: string }>(`/executions/${executionId}/rerun`, {
        input,
        ...fields,
      })
      const log = await readLog(person, must(answer, 200).executionId)
      return only(log, 'agent.tool_result')[0]?.payload['summary']
    }
    expect(await readAgain({})).toBe('the first')
    expect(await readAgain({ attachments: [file('the second')] })).toBe('the second')
    expect(await readAgain({ attachments: [] })).toContain('none')
  })

  test('is refused for a skill that is not in the library', async () => {
    verifies('skills:run:not-installed-404', 'errors:run:flat-shape')
    const person = await newPerson()
    expectFlatRefusal(await run(person, quick), 404, 'NOT_FOUND')
  })

  test('is refused in the standard envelope when the credential is', async () => {
    verifies('errors:run:auth-standard')
    const person = await newRunner()
    expectRefusal(await run(newVisitor(), quick), 401, 'UNAUTHORIZED')
    const narrow = await newKey(person, { scopes: ['billing:read'] })
    expectRefusal(await run(narrow, quick), 403, 'FORBIDDEN')
  })

  test('neither waits for the slot nor comes back for it', async () => {
    verifies('skills:run:does-not-queue')
    const person = await newRunner()
    const first = await mustRun(person, lasting)
    const asked = performance.now()
    expectFlatRefusal(await run(person, quick), 429, 'EXECUTION_RUNNING')
    expectWithin(performance.now() - asked, 3000)
    await cancel(person, first)
    await pause(2500)
    expect((await list(person)).items.map(({ executionId }) => executionId)).toEqual([first])
  })

  stackOnly('ends with its worker and is not begun again', async () => {
    verifies('skills:run:does-not-survive-restart', 'executions:state:working-to-failed-error')
    const person = await newRunner()
    const executionId = await mustRun(person, script({ say: 'Once.', tools: [bash('sleep 100')] }))
    await seen(person, executionId, 'agent.tool_use')
    for (const pid of pidsOf(stack().dir).worker) process.kill(pid, 'SIGKILL')
    const log = await readLog(person, executionId)
    expect(stopReasonOf(log)).toEqual({ type: 'error', code: 'SANDBOX_LOST' })
    expect((await statusOf(person, executionId)).status).toBe('failed')
    expect(only(log, 'session.status_running')).toHaveLength(1)
    expect(only(log, 'agent.message')).toHaveLength(1)
    // The worker that took its place takes what comes next, and does not touch what was.
    const next = await runThrough(person, quick)
    expect(stopReasonOf(next.log)).toEqual({ type: 'end_turn' })
    expect(await readLog(person, executionId)).toEqual(log)
  })

  stackOnly(
    'fails when nobody can be told of it, leaves the slot free, and starts when it is repeated',
    async () => {
      verifies('errors:code:execution-failed', 'executions:errors:codes')
      const person = await newRunner()
      const { restate } = pidsOf(stack().dir)
      const options = { headers: { 'idempotency-key': randomUUID() } }
      process.kill(restate, 'SIGSTOP')
      try {
        expectFlatRefusal(await run(person, quick, {}, options), 500, 'EXECUTION_FAILED')
      } finally {
        process.kill(restate, 'SIGCONT')
      }
      expect((await list(person)).items.map(({ status, cost }) => [status, cost])).toEqual([['failed', 0]])
      const { executionId } = must(await run(person, quick, {}, options), 200)
      expect(stopReasonOf(await readLog(person, executionId))).toEqual({ type: 'end_turn' })
    },
  )
})

stackOnly('a rerun and a message that nobody can be told of fail in the envelope', async () => {
  verifies('errors:code:execution-failed', 'executions:errors:codes')
  const person = await newRunner()
  const { executionId: earlier } = await runThrough(person, quick)
  const idle = await prepare(person)
  const { restate } = pidsOf(stack().dir)
  process.kill(restate, 'SIGSTOP')
  try {
    expectRefusal(await rerun(person, earlier, quick), 500, 'EXECUTION_FAILED')
    expectRefusal(await post(person, idle, message(quick)), 500, 'EXECUTION_FAILED')
  } finally {
    process.kill(restate, 'SIGCONT')
  }
  expect(stopReasonOf((await runThrough(person, quick)).log)).toEqual({ type: 'end_turn' })
})

describe('skills of two origins', () => {
  test('are equal in standing', async () => {
    verifies('skills:install:two-origins')
    const person = await newPerson()
    const [offered] = must(await newVisitor().get<{ slug: string }[]>('/marketplace/skills?limit=1'), 200)
    const fromCatalog = offered?.slug ?? 'the catalog is empty'
    must(await person.post(`/skills/${fromCatalog}/install`), 200)
    const artifactId = await newSkillArtifact(person, errand)
    must(await person.post(`/skills/${errand}/install`, { artifactId }), 200)
    const library = must(await person.get<{ slug: string }[]>('/skills'), 200).map(({ slug }) => slug)
    expect(library.toSorted()).toEqual([errand, fromCatalog].toSorted())
    for (const slug of [errand, fromCatalog]) {
      const versions = must(await person.get<unknown[]>(`/skills/${slug}/versions`), 200)
      expect(versions).toEqual([expect.objectContaining({ versionNumber: 1, active: true })])
      const started = must(await person.post<Started>(`/skills/${slug}/run`, { input: quick }), 200)
      expect(stopReasonOf(await readLog(person, started.executionId))).toEqual({ type: 'end_turn' })
    }
  })
})

describe('the scope to run skills', () => {
  test('covers any skill when it names none', async () => {
    verifies('scopes:tool-execute:bare-covers-any-skill')
    const person = await newRunner()
    await installSkill(person, 'second')
    const key = await newKey(person, { scopes: ['tool:execute'] })
    for (const slug of [errand, 'second']) {
      const { status, body } = await key.post<Started>(`/skills/${slug}/run`, { input: quick })
      expect([slug, status]).toEqual([slug, 200])
      expect((await readLog(key, body.executionId)).at(-1)?.type).toBe('session.status_idle')
    }
  })

  test('covers the one skill it names', async () => {
    verifies('scopes:tool-execute:one-skill')
    const person = await newRunner()
    await installSkill(person, 'second')
    const key = await newKey(person, { scopes: [`tool:execute:${errand}`] })
    const refused = expectRefusal(await key.post('/skills/second/run', { input: quick }), 403, 'FORBIDDEN')
    expect(refused.details?.['missing_scopes']).toEqual(['tool:execute:second'])
    expect(refused.message).toContain('tool:execute:second')
    // Preparing asks for nothing; what starts it does.
    const prepared = must(
      await key.post<{ id: string }>('/executions', { skill_slug: 'second', input: quick }),
      200,
    )
    const start = await key.post(`/executions/${prepared.id}/events`, { events: [message(quick)] })
    expect(expectRefusal(start, 403, 'FORBIDDEN').message).toContain('tool:execute:second')
    expect((await run(key, quick)).status).toBe(200)
  })
})
