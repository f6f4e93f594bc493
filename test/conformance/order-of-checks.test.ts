import { describe, expect, test } from 'vitest'
import { must, newKey } from './support/actors.ts'
import type { Answer } from './support/client.ts'
import {
  cancel,
  errand,
  installSkill,
  itemOf,
  lasting,
  list,
  mustRun,
  newRunner,
  newSkillArtifact,
  prepare,
  quick,
  readLog,
  rerun,
  run,
  runThrough,
} from './support/executions.ts'
import { publishedRoutes } from './support/published.ts'
import { expectFlatRefusal, expectRefusal } from './support/shapes.ts'
import { verifies } from './verifies.ts'

describe('while something runs', () => {
  test('what is wrong with a request is told before that', async () => {
    verifies('executions:slot:checks-first')
    const person = await newRunner()
    const { executionId: earlier } = await runThrough(person, quick)
    await installSkill(person, 'tidy')
    await installSkill(person, 'tidy')
    const busy = await mustRun(person, lasting)
    expectRefusal(await person.post('/skills/tidy/versions/abc/restore'), 400, 'INVALID_INPUT')
    expectRefusal(await person.post('/skills/tidy/versions/99/restore'), 404, 'NOT_FOUND')
    expectRefusal(await person.post('/skills/never/versions/1/restore'), 404, 'NOT_FOUND')
    expectRefusal(await person.post('/skills/never/uninstall'), 404, 'NOT_FOUND')
    expectRefusal(await person.post('/skills/never/install'), 404, 'NOT_FOUND')
    expectFlatRefusal(await person.post('/skills/never/run', { input: quick }), 404, 'NOT_FOUND')
    expectFlatRefusal(await run(person, 5), 400, 'INVALID_INPUT')
    expectRefusal(await rerun(person, earlier, 5), 400, 'INVALID_INPUT')
    // Going back to an earlier version changes nothing for what runs.
    const restored = must(await person.post('/skills/tidy/versions/1/restore'), 200)
    expect(restored).toMatchObject({ success: true, restoredFrom: 1 })
    const artifactId = await newSkillArtifact(person, 'tidy')
    expectRefusal(await person.post('/skills/tidy/install', { artifactId }), 429, 'EXECUTION_RUNNING')
    expectRefusal(await person.post('/skills/tidy/uninstall'), 429, 'EXECUTION_RUNNING')
    await cancel(person, busy)
  })
})

describe('a key that may not run the skill', () => {
  test('is told so, whether or not it posts any event', async () => {
    verifies('executions:events:scope-first')
    const person = await newRunner()
    const key = await newKey(person, { scopes: ['agent:list'] })
    const executionId = await prepare(person)
    const send = (caller: typeof key, id: string) => caller.post(`/executions/${id}/events`, { events: [] })
    expectRefusal(await send(key, executionId), 403, 'FORBIDDEN')
    expectRefusal(await send(key, 'exec_none'), 403, 'FORBIDDEN')
    expectRefusal(
      await person.post(`/executions/${executionId}/events`, { events: [] }),
      400,
      'INVALID_INPUT',
    )
    expectRefusal(await person.post('/executions/exec_none/events', { events: [] }), 404, 'NOT_FOUND')
  })
})

describe('what is asked for', () => {
  test('may be nothing at all, where it is run at once', async () => {
    verifies('executions:input:may-be-empty')
    const person = await newRunner()
    const { executionId } = must(await run(person, ''), 200)
    await readLog(person, executionId)
    expect(await itemOf(person, executionId)).toMatchObject({ status: 'completed', inputText: '' })
    const again = must(await rerun(person, executionId, ''), 200)
    await readLog(person, again.executionId)
    expect(await itemOf(person, again.executionId)).toMatchObject({ status: 'completed', inputText: '' })
    const made = await person.post('/executions', { skill_slug: errand, input: '' })
    expectRefusal(made, 400, 'INVALID_INPUT')
  })

  test('may be a part of an item: a list gives whole ones', async () => {
    verifies('limits:list:fraction-floored')
    const person = await newRunner()
    const made = [await prepare(person), await prepare(person), await prepare(person)]
    const ids = async (query: string) => (await list(person, query)).items.map((item) => item.executionId)
    expect(await ids('?limit=2.5')).toEqual(made.slice(1).toReversed())
    expect(await ids('?limit=0.5')).toEqual(made.slice(2))
    expect(await ids('?limit=2&offset=1.9')).toEqual(made.slice(0, 2).toReversed())
    for (const query of ['?limit=two', '?limit=', '?offset=1,5'])
      expectRefusal(await person.get(`/executions${query}`), 400, 'INVALID_INPUT')
  })
})

test('a list of any size may be asked for, on every route that has one', async () => {
  verifies('limits:list:clamped')
  const person = await newRunner()
  const lists = (await publishedRoutes()).filter(
    ({ method, pathParameters, queryParameters }) =>
      method === 'GET' && pathParameters.length === 0 && queryParameters.includes('limit'),
  )
  expect(lists.length).toBeGreaterThan(8)
  for (const { path, queryParameters } of lists) {
    const more = queryParameters.includes('q') ? '&q=a' : ''
    const asked = (limit: string) => person.get(`root:${path}?limit=${limit}${more}`)
    for (const limit of ['-5', '0', '100000']) {
      const { status, text } = await asked(limit)
      expect([path, limit, status], text).toEqual([path, limit, 200])
    }
    expectRefusal(await asked('many'), 400, 'INVALID_INPUT')
  }
})

test('what a route does not know changes nothing and is named', async () => {
  verifies('errors:body:ignored-fields')
  const person = await newRunner()
  const ignoredBy = ({ headers }: Answer) => headers['x-ignored-fields']
  const planted = { skill_slug: errand, input: quick, status: 'completed', cost: -1 }
  const made = await person.post<{ id: string }>('/executions?user_id=1', planted)
  expect(ignoredBy(made)).toBe('?user_id, status, cost')
  expect(await itemOf(person, must(made, 200).id)).toMatchObject({ status: 'idle', cost: 0 })
  const files = [{ path: 'a.txt', content: 'a', workspace_id: 'x' }]
  expect(ignoredBy(await person.post('/artifacts', { type: 'file', files }))).toBe('files.0.workspace_id')
  expect(ignoredBy(await person.post('/executions', { skill_slug: errand, input: quick }))).toBeUndefined()
  expect(ignoredBy(await person.post('/workflows/validate', { any: { thing: 1 } }))).toBeUndefined()
  const key = await newKey(person)
  const args = { anything: { at: ['all'] } }
  const asked = await key.post('/agents/ask', {
    question: 'May I?',
    action: { summary: 'Send a mail', args },
  })
  expect([asked.status, ignoredBy(asked)], asked.text).toEqual([202, undefined])
})
