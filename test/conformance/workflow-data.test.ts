import { describe, expect, test } from 'vitest'
import { newPerson } from './support/actors.ts'
import { installSkill, itemOf, list, quick } from './support/executions.ts'
import {
  echo,
  flow,
  getRun,
  install,
  issuesOf,
  mapping,
  mustInstall,
  mustLaunch,
  nap,
  primaryAgent,
  reached,
  resultOf,
  runThrough,
  settled,
  tool,
  verdictOn,
} from './support/workflows.ts'
import { verifies } from './verifies.ts'

/** A reference as templates write it. */
const ref = (path: string) => `\${${path}}`
const workspaceId = ref('workspaceId')

describe('the way of data', () => {
  test('goes from each entry to the next', async () => {
    verifies('definition:flow:input-is-previous-output')
    const person = await newPerson()
    const { run, steps } = await runThrough(
      person,
      [echo, mapping({ text: { value: 'x' } }), tool('upper')],
      {
        a: 1,
      },
    )
    expect(steps['echo']?.output).toEqual({ a: 1 })
    expect(run.snapshot.result).toEqual({ text: 'X' })
  })

  test('has no arguments beside it', async () => {
    verifies('definition:flow:no-per-step-arguments')
    const person = await newPerson()
    for (const key of ['inputs', 'with', 'args']) {
      const verdict = await verdictOn(person, [tool('echo', 'echo', { [key]: { a: 1 } })])
      expect(verdict).toEqual([expect.stringMatching(` graph\\.0\\.${key}$`)])
    }
  })

  test('leaves the state as it is, which nothing sets', async () => {
    verifies('definition:state:read-only')
    const person = await newPerson()
    const stateSchema = { type: 'object', properties: { n: { type: 'number', default: 1 } } }
    await mustInstall(person, flow([echo, { ...nap, duration: 3000 }, echo2], { stateSchema }))
    const runId = await mustLaunch(person)
    const before = (await getRun(person, runId)).run.snapshot.value
    await reached(person, runId, 'nap')
    const during = (await getRun(person, runId)).run.snapshot.value
    const after = (await settled(person, runId)).run.snapshot.value
    expect([before, during, after]).toEqual([{ n: 1 }, { n: 1 }, { n: 1 }])
    for (const key of ['state', 'setState', 'stateUpdates']) {
      const verdict = await verdictOn(person, [{ ...echo, [key]: { n: 2 } }])
      expect(verdict).toEqual([`unknown-field graph.0.${key}`])
    }
  })
})

const echo2 = tool('echo', 'echo2')

describe('mapConfig', () => {
  test('is a flat record', async () => {
    verifies(
      'definition:map:flat-record',
      'definition:map:exactly-one-source',
      'definition:map:no-nested-references',
    )
    const person = await newPerson()
    for (const mapConfig of ['[]', '1']) {
      const verdict = await verdictOn(person, [{ type: 'mapping', id: 'map', mapConfig }])
      expect(verdict).toEqual(['invalid-map-config graph.0.mapConfig'])
    }
    const bad = [{ value: 1, template: 'x' }, {}, { from: 'x' }, { b: { initData: true, path: 'x' } }]
    for (const source of bad) {
      expect(await verdictOn(person, [mapping({ a: source })])).toEqual([
        'invalid-map-source graph.0.mapConfig.a',
      ])
    }
  })

  test('passes constants on as they are', async () => {
    verifies('definition:map:source-value', 'definition:map:value-is-literal')
    const literal = ref('initData.x')
    const config = { n: { value: 3 }, none: { value: null }, list: { value: [1] }, text: { value: literal } }
    expect(await resultOf([mapping(config)], { x: 1 })).toEqual({
      n: 3,
      none: null,
      list: [1],
      text: literal,
    })
  })

  test('takes values of the inputs, of steps and of the request', async () => {
    verifies(
      'definition:map:source-init-data',
      'definition:map:source-step',
      'definition:map:source-request-context',
    )
    const person = await newPerson()
    const config = {
      input: { initData: true, path: 'a.b' },
      step: { step: 'first', path: 'c.0' },
      runId: { requestContextPath: 'runId' },
      workspaceId: { requestContextPath: 'workspaceId' },
    }
    const first = mapping({ c: { value: ['x', 'y'] } }, 'first')
    const { run } = await runThrough(person, [first, mapping(config)], { a: { b: 1 } })
    expect(run.snapshot.result).toEqual({
      input: 1,
      step: 'x',
      runId: run.runId,
      workspaceId: person.workspaceId,
    })
    for (const step of ['later', 'nowhere']) {
      const verdict = await verdictOn(person, [mapping({ a: { step, path: '' } }), tool('echo', 'later')])
      expect(verdict).toEqual(['unknown-step-reference graph.0.mapConfig.a.step'])
    }
    const verdict = await verdictOn(person, [mapping({ a: { requestContextPath: 'password' } })])
    expect(verdict).toEqual(['invalid-map-path graph.0.mapConfig.a.requestContextPath'])
  })

  test('leaves out what is not there, and fails where nothing can be', async () => {
    verifies('definition:map:missing-leaf-left-out')
    const person = await newPerson()
    const from = (path: string) => [mapping({ x: { initData: true, path }, y: { value: 1 } })]
    const leaf = await runThrough(person, from('a.zz'), { a: {} })
    expect(leaf.run.snapshot.result).toEqual({ y: 1 })
    const parent = await runThrough(person, from('zz.b'), { a: {} })
    expect(parent.run).toMatchObject({
      status: 'failed',
      snapshot: { error: { code: 'MAPPING_PATH_INVALID', stepId: 'map' } },
    })
  })
})

describe('templates', () => {
  test('render inputs and results of steps', async () => {
    verifies('definition:map:source-template', 'definition:template:step-results')
    const fetched = mapping({ title: { value: 'Rows' } }, 'fetch-rows')
    const config = {
      n: { template: `n=${ref('initData.n')}` },
      title: { template: `${ref('stepResults.fetch-rows.title')}!` },
    }
    expect(await resultOf([fetched, mapping(config)], { n: 2 })).toEqual({ n: 'n=2', title: 'Rows!' })
  })

  test('read from five roots and no other', async () => {
    verifies('definition:template:unknown-namespace', 'definition:subst:only-this-one')
    const person = await newPerson()
    const templated = (template: string) => [echo, mapping({ a: { template } })]
    for (const path of [
      'initData.x',
      'inputData.x',
      'state.x',
      'stepResults.echo.x',
      'requestContext.runId',
    ]) {
      expect(await verdictOn(person, templated(ref(path))), path).toBe(201)
    }
    for (const path of ['env.HOME', '', 'initData[0]', 'userId']) {
      const verdict = await verdictOn(person, templated(ref(path)))
      expect(verdict, path).toEqual(['invalid-template graph.1.mapConfig.a.template'])
    }
    const description = `For ${ref('userId')}`
    const { definition } = await mustInstall(person, flow([tool('echo', 'echo', { description })]))
    expect(JSON.parse(definition).graph[0].description).toBe(description)
  })

  test('are not read again once rendered', async () => {
    verifies('definition:template:no-reexpansion')
    const text = ref('stepResults.x.y')
    const config = { a: { template: `<${ref('initData.text')}>` } }
    expect(await resultOf([mapping(config)], { text })).toEqual({ a: `<${text}>` })
  })
})

describe('conditions', () => {
  const branch = (predicate: unknown) => [
    echo,
    { type: 'conditional', steps: [echo2], predicates: [predicate] },
  ]
  const left = { path: 'initData.a' }
  const right = { literal: 1 }
  const exists = { op: 'exists', path: 'initData.a' }

  test('have fifteen operators of certain shapes', async () => {
    verifies('definition:condition:fifteen-operators', 'definition:condition:operand-shape')
    const person = await newPerson()
    const good = [
      ...['eq', 'ne', 'lt', 'lte', 'gt', 'gte'].map((op) => ({ op, left, right })),
      ...['in', 'notIn'].map((op) => ({ op, value: left, set: [1] })),
      ...['exists', 'notExists'].map((op) => ({ op, path: 'initData.a' })),
      ...['truthy', 'falsy'].map((op) => ({ op, value: left })),
      ...['and', 'or'].map((op) => ({ op, args: [exists] })),
      { op: 'not', arg: exists },
    ]
    expect(good).toHaveLength(15)
    for (const predicate of good) expect(await verdictOn(person, branch(predicate)), predicate.op).toBe(201)
    const bad = [
      { op: 'matches', left, right },
      'initData.a === 1',
      { op: 'eq', left: { path: 'initData.a', literal: 1 }, right },
      { op: 'eq', left: {}, right },
      { op: 'eq', left },
      { op: 'in', value: left, set: [] },
      { op: 'notIn', value: left },
      { op: 'exists', value: left },
      { op: 'truthy', path: 'initData.a' },
      { op: 'and', args: [] },
      { op: 'or', arg: exists },
      { op: 'not', args: [exists] },
    ]
    for (const predicate of bad) {
      const issues = issuesOf(await install(person, flow(branch(predicate)), 'trial'))
      expect(
        issues.map(({ code }) => code),
        JSON.stringify(predicate),
      ).toContain('invalid-predicate')
      for (const { path } of issues) expect(path).toMatch(/^graph\.1\.predicates\.0/)
    }
  })

  test('look at four roots, and at no counter', async () => {
    verifies('definition:condition:roots', 'definition:condition:no-iteration-counter')
    const person = await newPerson()
    const truthy = (path: string) => ({ op: 'truthy', value: { path } })
    for (const path of ['stepResults.echo.a', 'state.a', 'inputData.a', 'initData.a']) {
      expect(await verdictOn(person, branch(truthy(path))), path).toBe(201)
    }
    for (const path of ['requestContext.x', 'env.x']) {
      expect(await verdictOn(person, branch(truthy(path)))).toEqual([
        'invalid-predicate-path graph.1.predicates.0.value.path',
      ])
    }
    for (const path of ['iterationCount', 'attempt.count']) {
      const loop = { type: 'loop', loopType: 'dountil', step: echo, predicate: truthy(path) }
      expect(await verdictOn(person, [loop])).toEqual(['invalid-predicate-path graph.0.predicate.value.path'])
    }
  })

  test('compare strictly', async () => {
    verifies('definition:condition:strict-types')
    const predicates = [
      { op: 'eq', left: { literal: '1' }, right: { path: 'initData.one' } },
      { op: 'ne', left: { path: 'initData.nothing' }, right: { literal: 1 } },
      { op: 'eq', left: { literal: 1 }, right: { path: 'initData.one' } },
    ]
    const steps = ['loose', 'missing', 'strict'].map((id) => tool('echo', id))
    const result = await resultOf([{ type: 'conditional', steps, predicates }], { one: 1 })
    expect(Object.keys(result as object)).toEqual(['strict'])
  })

  test('bound no loop: it is stopped at a thousand', { timeout: 180_000 }, async () => {
    verifies('definition:condition:loop-not-self-bounded')
    const person = await newPerson()
    const never = { op: 'truthy', value: { literal: false } }
    const loop = { type: 'loop', loopType: 'dountil', step: echo, predicate: never }
    const { run } = await runThrough(person, [loop], {})
    expect(run).toMatchObject({ status: 'failed', snapshot: { error: { code: 'LOOP_LIMIT_EXCEEDED' } } })
    expect(run.snapshot.context['echo']).toMatchObject({ metadata: { iterationCount: 1000 } })
  })
})

describe('the workspace in a definition', () => {
  test('stands for its id in the graph, and is stored as it was written', async () => {
    verifies('definition:subst:workspace-id', 'definition:subst:graph-only')
    const person = await newPerson()
    const { slug } = await primaryAgent(person)
    const agent = { type: 'agent', id: 'say', agentId: `${workspaceId}:${slug}` }
    expect(await verdictOn(person, [mapping({ prompt: { value: 'Hi' } }), agent])).toBe(201)
    const definition = flow([mapping({ where: { value: workspaceId } })], {
      description: `Of ${workspaceId}`,
      metadata: { name: workspaceId },
    })
    const record = await mustInstall(person, definition)
    expect(JSON.parse(record.definition)).toEqual(definition)
    expect(record).toMatchObject({ name: workspaceId, description: `Of ${workspaceId}` })
    const { run } = await settled(person, await mustLaunch(person))
    expect(run.snapshot.result).toEqual({ where: person.workspaceId })
  })
})

describe('execute-skill', () => {
  const skill = (input: unknown, slug = 'errand') =>
    mapping({ slug: { value: slug }, input: { value: input } })
  const execute = tool('execute-skill', 'skill')

  test('runs a skill and goes on with what came of it', async () => {
    verifies('definition:execute-skill:tool-id', 'definition:execute-skill:blocks-until-terminal')
    const person = await newPerson()
    await installSkill(person)
    const told = mapping({ id: { template: ref('stepResults.skill.executionId') } }, 'told')
    const { run, steps } = await runThrough(person, [skill(quick), execute, told])
    expect(run.status, JSON.stringify(run.snapshot)).toBe('success')
    const { id } = run.snapshot.result as { id: string }
    const item = await itemOf(person, id)
    expect(item.status).toBe('completed')
    expect(run.snapshot.context['skill']?.endedAt).toBeGreaterThanOrEqual(Date.parse(item.completedAt ?? ''))
    expect(steps['skill']?.output).toMatchObject({
      executionId: id,
      status: 'completed',
      text: 'Done at once.',
    })
  })

  test('is told which one by slug', async () => {
    verifies('definition:execute-skill:slug-not-skill-slug')
    const person = await newPerson()
    const wrong = mapping({ skill_slug: { value: 'errand' }, input: { value: 'x' } })
    expect(await verdictOn(person, [wrong, execute])).toEqual(['incompatible-schema graph.1'])
  })

  test('gives the skill a text, whatever its input is', async () => {
    verifies('definition:execute-skill:non-string-stringified')
    const person = await newPerson()
    await installSkill(person)
    for (const input of ['x', { a: 1 }, [1]]) await runThrough(person, [skill(input), execute])
    const { items } = await list(person)
    expect(items.map(({ inputText }) => inputText).sort()).toEqual(['[1]', 'x', '{"a":1}'])
  })

  test('waits for its turn', async () => {
    verifies('definition:execute-skill:waits-for-slot')
    const person = await newPerson()
    await installSkill(person)
    const both = { type: 'parallel', steps: ['one', 'two'].map((id) => tool('execute-skill', id)) }
    const { run } = await runThrough(person, [skill(quick), both])
    expect(run.status, JSON.stringify(run.snapshot)).toBe('success')
    const { items } = await list(person)
    const [first, second] = items
      .map(({ startedAt, completedAt }) => ({
        from: Date.parse(startedAt ?? ''),
        to: Date.parse(completedAt ?? ''),
      }))
      .sort((a, b) => a.from - b.from)
    expect(items).toHaveLength(2)
    expect(second?.from).toBeGreaterThanOrEqual(first?.to ?? Number.POSITIVE_INFINITY)
  })
})
