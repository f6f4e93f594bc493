import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { inWorkspace, must, newKey, newPerson, newWorkspace } from './support/actors.ts'
import {
  bash,
  broken,
  cancel,
  errand,
  itemOf,
  lasting,
  list,
  mustRun,
  newRunner,
  only,
  prepare,
  quick,
  readLog,
  rerun,
  run,
  runThrough,
  type Started,
  script,
  statusOf,
  stopReasonOf,
} from './support/executions.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import { verifies } from './verifies.ts'

const unknownId = () => `exec_${randomUUID()}`

describe('the record of an execution', () => {
  test('is told by create, status and list, each in its own spelling', async () => {
    verifies(
      'executions:record:fields',
      'executions:record:snake-vs-camel',
      'executions:create:answer',
      'executions:list:item-fields',
    )
    const person = await newRunner()
    const created = await person.post<Record<string, unknown>>('/executions', {
      skill_slug: errand,
      input: 'Wait for me.',
    })
    expect(created.status).toBe(200)
    expect(created.body).toEqual({
      id: expect.stringMatching(/./),
      skill_slug: errand,
      skill_name: errand,
      status: 'idle',
    })
    const started = must(await run(person, quick), 200)
    await readLog(person, started.executionId)
    const again = must(await rerun(person, started.executionId, quick), 200)
    await readLog(person, again.executionId)
    const status = await statusOf(person, started.executionId)
    const item = await itemOf(person, started.executionId)
    for (const answer of [started, again]) {
      expect(answer.skillName).toBe(errand)
      expect(Object.keys(answer)).not.toContain('skill_name')
    }
    const record = {
      executionId: started.executionId,
      skillSlug: errand,
      skillName: errand,
      status: 'completed',
      cost: expect.any(Number),
      startedAt: expect.stringMatching(isoPattern),
      completedAt: expect.stringMatching(isoPattern),
    }
    expect(status).toMatchObject({ ...record, outputBlocks: expect.any(Array) })
    expect(item).toMatchObject({
      ...record,
      id: expect.any(Number),
      source: 'api',
      interface: 'api',
      inputText: quick,
    })
    for (const answer of [status, item]) {
      expect(Object.keys(answer)).not.toContain('skill_slug')
      expect(Object.keys(answer)).not.toContain('skill_name')
    }
    expect(await itemOf(person, String(created.body['id']))).toMatchObject({
      status: 'idle',
      inputText: 'Wait for me.',
    })
  })

  test('says where it came from', async () => {
    verifies(
      'executions:record:source-default-api',
      'executions:record:interface-default-api',
      'executions:record:interface-values',
    )
    const person = await newRunner()
    const plain = await prepare(person)
    expect(await itemOf(person, plain)).toMatchObject({ source: 'api', interface: 'api' })
    const named = await prepare(person, { source: 'ci' })
    expect(await itemOf(person, named)).toMatchObject({ source: 'ci', interface: 'api' })
    const interfaces = ['api', 'ci-bot', 'chat-bot', 'mcp', 'mcp-editor-a', 'mcp-editor-b', 'my-custom']
    interfaces.push('Any words, «éditeur» 📝 5', 'x'.repeat(255))
    for (const name of interfaces) await prepare(person, { interface: name })
    const { items } = await list(person, `?limit=${interfaces.length}`)
    expect(items.map((item) => item.interface)).toEqual(interfaces.toReversed())
    const long = await person.post('/executions', {
      skill_slug: errand,
      input: quick,
      interface: 'x'.repeat(256),
    })
    expectRefusal(long, 400, 'INVALID_INPUT')
  })

  test('has a parent only when it repeats another', async () => {
    verifies('executions:record:parent-only-on-rerun', 'executions:rerun:answer')
    const person = await newRunner()
    const { executionId } = await runThrough(person, quick)
    const { status, body } = await rerun(person, executionId, quick)
    expect(status).toBe(200)
    expect(body).toEqual({
      executionId: expect.stringMatching(/./),
      parentExecutionId: executionId,
      skillName: errand,
      status: 'started',
      message: expect.stringMatching(/./),
    } satisfies Partial<Record<keyof Started, unknown>>)
    expect(body.executionId).not.toBe(executionId)
    await readLog(person, body.executionId)
    for (const read of [statusOf, itemOf]) {
      expect((await read(person, body.executionId)).parentExecutionId).toBe(executionId)
      expect(Object.keys(await read(person, executionId))).not.toContain('parentExecutionId')
    }
  })

  test('knows four states', async () => {
    verifies('executions:record:status-enum')
    const person = await newRunner()
    const idle = await prepare(person)
    const statuses = async (executionId: string) => [
      (await statusOf(person, executionId)).status,
      (await itemOf(person, executionId)).status,
    ]
    expect(await statuses(idle)).toEqual(['idle', 'idle'])
    const working = await mustRun(person, lasting)
    expect(await statuses(working)).toEqual(['working', 'working'])
    await cancel(person, working)
    expect(await statuses(working)).toEqual(['failed', 'failed'])
    const completed = await runThrough(person, quick)
    expect(await statuses(completed.executionId)).toEqual(['completed', 'completed'])
    const failing = await runThrough(person, broken)
    expect(await statuses(failing.executionId)).toEqual(['failed', 'failed'])
  })
})

describe('creating an execution', () => {
  test.each([
    ['no skill_slug', { input: 'x' }],
    ['a skill_slug that is no string', { skill_slug: 5, input: 'x' }],
  ])('is refused with %s', async (_case, body) => {
    verifies('executions:create:skill-slug-required')
    const person = await newRunner()
    expectRefusal(await person.post('/executions', body), 400, 'INVALID_INPUT')
    expect((await list(person)).items).toEqual([])
  })

  test.each([
    ['no input', {}],
    ['an empty input', { input: '' }],
    ['an input that is no string', { input: 5 }],
  ])('is refused with %s', async (_case, fields) => {
    verifies('executions:create:input-required-non-empty')
    const person = await newRunner()
    const answer = await person.post('/executions', { skill_slug: errand, ...fields })
    expectRefusal(answer, 400, 'INVALID_INPUT')
    expect((await list(person)).items).toEqual([])
  })

  test('is refused for a skill that is not in the library', async () => {
    verifies('executions:create:unknown-skill-404')
    const person = await newRunner()
    const answer = await person.post('/executions', { skill_slug: 'never-installed', input: 'x' })
    expectRefusal(answer, 404, 'NOT_FOUND')
  })
})

describe('the status of an execution', () => {
  test('has the same members in every state', async () => {
    verifies('executions:status:answer')
    const person = await newRunner()
    const idle = await prepare(person)
    const working = await mustRun(person, lasting)
    const shape = (executionId: string, status: string, startedAt: unknown) => ({
      executionId,
      status,
      skillSlug: errand,
      skillName: errand,
      startedAt,
      outputBlocks: expect.any(Array),
    })
    expect(await statusOf(person, idle)).toMatchObject(shape(idle, 'idle', null))
    const since = expect.stringMatching(isoPattern)
    expect(await statusOf(person, working)).toMatchObject(shape(working, 'working', since))
    await cancel(person, working)
    const { executionId } = await runThrough(person, quick)
    expect(await statusOf(person, executionId)).toMatchObject(shape(executionId, 'completed', since))
  })

  test('shows what came out, block by block', async () => {
    verifies('executions:status:output-blocks')
    const person = await newRunner()
    const { executionId, log } = await runThrough(
      person,
      script(
        { say: 'Looking around.', tools: [bash('echo hello > note.txt')] },
        { say: 'That goes wrong.', tools: [bash('exit 3')] },
        { say: 'Here is your note.' },
      ),
    )
    const at = (type: string, place = 0) => log.filter((event) => event.type === type)[place]?.sequence
    const { outputBlocks } = await statusOf(person, executionId)
    expect(outputBlocks).toEqual([
      { type: 'text', text: 'Looking around.', sequence: at('agent.message') },
      {
        type: 'tool',
        name: 'bash',
        label: expect.any(String),
        status: 'success',
        sequence: at('agent.tool_use'),
      },
      { type: 'text', text: 'That goes wrong.', sequence: at('agent.message', 1) },
      {
        type: 'tool',
        name: 'bash',
        label: expect.any(String),
        status: 'error',
        sequence: at('agent.tool_use', 1),
      },
      { type: 'text', text: 'Here is your note.', sequence: at('agent.message', 2) },
      {
        type: 'file',
        name: 'note.txt',
        mimeType: 'text/plain',
        sizeBytes: 6,
        url: expect.stringMatching(/^\/api\/v1\/artifacts\//),
        sequence: at('agent.info'),
      },
    ])
    const file = await person.get(`root:${outputBlocks.at(-1)?.['url']}`)
    expect(file.text).toBe('hello\n')
    const failed = await runThrough(person, broken)
    expect((await statusOf(person, failed.executionId)).outputBlocks).toEqual([
      { type: 'error', code: expect.any(String), message: expect.any(String), sequence: failed.log.length },
    ])
  })

  test('shows the files that can be kept, and tells of the others', async () => {
    verifies('executions:status:output-blocks')
    const person = await newRunner()
    const names = ['10:30 notes.txt', 'why?.md', 'con.txt', 'Readme.md', 'README.md', 'kept.txt']
    const leave = [...names.map((name) => `echo x > '${name}'`), 'mkdir .git', 'echo x > .git/config']
    const { executionId, log } = await runThrough(
      person,
      script({ say: 'Leaving files.', tools: [bash(leave.join(' && '))] }, { say: 'Done.' }),
    )
    const { status, outputBlocks } = await statusOf(person, executionId)
    expect([status, stopReasonOf(log).type]).toEqual(['completed', 'end_turn'])
    const files = outputBlocks.filter(({ type }) => type === 'file').map(({ name }) => name)
    expect(files).toEqual(['README.md', 'kept.txt'])
    const leftOut = only(log, 'agent.info').find(({ payload }) => payload['kind'] === 'files-left-out')
    const paths = leftOut?.payload['paths'] as string[]
    expect(paths.toSorted()).toEqual(
      ['.git/config', '10:30 notes.txt', 'Readme.md', 'con.txt', 'why?.md'].toSorted(),
    )
  })

  test('is nothing for an id that is unknown or of another workspace', async () => {
    verifies('executions:status:unknown-404')
    const [person, other] = [await newRunner(), await newRunner()]
    const foreign = await person.get(`/executions/${await prepare(other)}/status`)
    const unknown = await person.get(`/executions/${unknownId()}/status`)
    expectRefusal(foreign, 404, 'NOT_FOUND')
    expect(unknown.status).toBe(404)
    expect(unknown.text).toBe(foreign.text)
  })
})

describe('the list of executions', () => {
  test('is empty to begin with', async () => {
    verifies('executions:list:answer')
    const person = await newPerson()
    expect(await list(person)).toEqual({
      items: [],
      hasMore: false,
      limit: 10,
      offset: 0,
      nextCursor: null,
    })
  })

  test('comes in pages of ten', async () => {
    verifies('executions:list:limit-default-10', 'executions:list:answer')
    const person = await newRunner()
    const made: string[] = []
    for (let count = 0; count < 11; count++) made.unshift(await prepare(person))
    const first = await list(person)
    expect(first).toMatchObject({ limit: 10, offset: 0, hasMore: true })
    expect(first.items.map((item) => item.executionId)).toEqual(made.slice(0, 10))
    const shifted = await list(person, '?offset=1')
    expect(shifted).toMatchObject({ limit: 10, offset: 1, hasMore: false })
    expect(shifted.items.map((item) => item.executionId)).toEqual(made.slice(1))
    const few = await list(person, '?limit=3&offset=8')
    expect(few).toMatchObject({ limit: 3, offset: 8, hasMore: false })
    expect(few.items.map((item) => item.executionId)).toEqual(made.slice(8))
  })

  test('is filtered by source and by interface', async () => {
    verifies('executions:list:channels-filter', 'executions:list:interfaces-filter')
    const person = await newRunner()
    const values = ['api', 'ci', 'ci-bot', 'mcp', 'mcp-editor-a', 'other']
    const bySource: string[] = []
    const byInterface: string[] = []
    for (const value of values) {
      const ofSource = await prepare(person, { source: value, interface: 'none' })
      const ofInterface = await prepare(person, { source: 'none', interface: value })
      if (['ci', 'api'].includes(value)) bySource.unshift(ofSource)
      if (['ci-bot', 'mcp'].includes(value)) byInterface.unshift(ofInterface)
    }
    const found = async (query: string) =>
      (await list(person, `?limit=50&${query}`)).items.map((item) => item.executionId)
    expect(await found('channels=ci,api')).toEqual(bySource)
    expect(await found('interfaces=ci-bot,mcp')).toEqual(byInterface)
    expect(await found('interfaces=nothing-like-it')).toEqual([])
  })

  test('shows those of one workspace', async () => {
    verifies('executions:list:workspace-scoped')
    const person = await newRunner()
    const executionId = await prepare(person)
    const team = inWorkspace((await newWorkspace(person)).id)
    const keyOfTeam = await newKey(person, {}, team)
    expect((await list(person)).items.map((item) => item.executionId)).toEqual([executionId])
    expect((await list(person, '', team)).items).toEqual([])
    expect((await list(keyOfTeam)).items).toEqual([])
  })
})

describe('repeating an execution', () => {
  test.each([
    ['no input', {}],
    ['an input that is no string', { input: 5 }],
  ])('is refused with %s', async (_case, body) => {
    verifies('executions:rerun:input-required')
    const person = await newRunner()
    const executionId = await prepare(person)
    const answer = await person.post(`/executions/${executionId}/rerun`, body)
    expectRefusal(answer, 400, 'INVALID_INPUT')
    expect((await list(person)).items).toHaveLength(1)
  })

  test('is refused for an id that is unknown', async () => {
    verifies('executions:rerun:unknown-404')
    const person = await newRunner()
    expectRefusal(await rerun(person, unknownId(), 'x'), 404, 'NOT_FOUND')
  })
})
