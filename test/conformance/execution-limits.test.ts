import { randomUUID } from 'node:crypto'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeZip } from '../support/archives.ts'
import { inWorkspace, must, newKey, newWorkspace, type Person } from './support/actors.ts'
import type { Answer, Caller } from './support/client.ts'
import { withDatabase } from './support/database.ts'
import {
  bash,
  broken,
  cancel,
  errand,
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
  statusOf,
  stopReasonOf,
} from './support/executions.ts'
import { withFailingInsert } from './support/fault.ts'
import { slowPrefix } from './support/remote.ts'
import { expectFlatRefusal, expectRefusal } from './support/shapes.ts'
import { skillText } from './support/skills.ts'
import { stack, stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

async function working(person: Person): Promise<string[]> {
  const { items } = await list(person, '?limit=50')
  return items.filter(({ status }) => status === 'working').map(({ executionId }) => executionId)
}

describe('a workspace in which an execution works', () => {
  test('starts no second one, however it is asked', async () => {
    verifies(
      'limits:concurrency:one-per-workspace',
      'limits:concurrency:refusal-body',
      'errors:execution-running:rerun-and-events',
      'errors:run:flat-shape',
      'executions:errors:codes',
    )
    const person = await newRunner()
    const earlier = await runThrough(person, quick)
    const idle = await prepare(person)
    const busy = await mustRun(person, lasting)
    const starts: Answer[] = [
      await run(person, quick),
      await rerun(person, earlier.executionId, quick),
      await post(person, idle, message(quick)),
    ]
    for (const answer of starts) {
      const body = expectFlatRefusal(answer, 429, 'EXECUTION_RUNNING')
      expect(Object.keys(body).toSorted()).toEqual(['error', 'executionId', 'message'])
      expect(body['executionId']).toBe(busy)
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    }
    expect(await working(person)).toEqual([busy])
    expect((await statusOf(person, idle)).status).toBe('idle')
    await cancel(person, busy)
  })

  test('starts one of twenty that come at once', async () => {
    verifies('limits:concurrency:race')
    const person = await newRunner()
    const answers = await Promise.all(Array.from({ length: 20 }, () => run(person, lasting)))
    const [started, ...more] = answers.filter(({ status }) => status === 200)
    expect(more).toEqual([])
    const refused = answers.filter((answer) => answer !== started)
    expect(refused).toHaveLength(19)
    for (const answer of refused) expectFlatRefusal(answer, 429, 'EXECUTION_RUNNING')
    expect(await working(person)).toEqual([started?.body.executionId])
    expect((await list(person, '?limit=50')).items).toHaveLength(1)
    await cancel(person, started?.body.executionId ?? '')
  })

  test('does not keep another workspace of the person from working', async () => {
    verifies('limits:concurrency:workspaces-independent')
    const person = await newRunner()
    const team = inWorkspace((await newWorkspace(person)).id)
    await installSkill(person, errand, team)
    const here = await mustRun(person, lasting)
    const there = await mustRun(person, lasting, {}, team)
    expect(await working(person)).toEqual([here])
    const { items } = await list(person, '', team)
    expect(items).toEqual([expect.objectContaining({ executionId: there, status: 'working' })])
    await cancel(person, here)
    must(await person.post(`/executions/${there}/cancel`, undefined, team), 200)
  })

  test.each([
    ['completed', quick],
    ['failed', broken],
  ])('takes the next start as soon as it is %s', async (status, input) => {
    verifies('limits:concurrency:freed-on-end')
    const person = await newRunner()
    const first = await mustRun(person, input)
    await readLog(person, first)
    const next = await run(person, quick)
    expect(next.status).toBe(200)
    expect((await statusOf(person, first)).status).toBe(status)
  })

  test('keeps its library as it is', async () => {
    verifies('errors:execution-running:install-429', 'errors:execution-running:is-running-sibling')
    const person = await newRunner()
    await installSkill(person, 'second')
    const artifactId = await newSkillArtifact(person, 'third')
    const busy = await mustRun(person, lasting)
    const library = async () => (await person.get('/skills')).text
    const before = await library()
    const writes = [
      await person.post('/skills/third/install', { artifactId }),
      await person.post(`/skills/${errand}/install`, { artifactId }),
      await person.post('/skills/second/uninstall'),
      await person.post(`/skills/${errand}/uninstall`),
    ]
    for (const answer of writes) {
      expect(answer.status).toBe(429)
      expect(answer.body).toEqual({
        error: {
          code: 'EXECUTION_RUNNING',
          message: expect.stringMatching(/./),
          details: { executionId: busy },
        },
        isRunning: true,
      })
    }
    expect(await library()).toBe(before)
    await cancel(person, busy)
    expect((await person.post('/skills/second/uninstall')).status).toBe(200)
  })

  stackOnly('does not run a skill that is being installed or removed', () => {
    verifies('errors:execution-running:run-409-while-installing', 'limits:concurrency:refusal-body')
    return withDatabase(async (database) => {
      const person = await newRunner()
      const artifactId = await newSkillArtifact(person, errand)
      const writes = [
        () => person.post(`/skills/${errand}/install`, { artifactId }),
        () => person.post(`/skills/${errand}/uninstall`),
      ]
      for (const write of writes) {
        // The last thing a write does is to note itself down: there it is held up.
        await database.query('begin; lock table activity in exclusive mode')
        const writing = write()
        await expect.poll(() => isHeldUp(database), { timeout: 10_000, interval: 50 }).toBe(true)
        const refused = await run(person, quick)
        await database.query('commit')
        expectFlatRefusal(refused, 409, 'EXECUTION_RUNNING')
        expect((await writing).status).toBe(200)
      }
      expect((await list(person)).items).toEqual([])
    })
  })

  stackOnly('does not run a skill that is on its way from a slow registry', async () => {
    verifies('errors:execution-running:run-409-while-installing')
    const { url, folder } = stack().remote
    const slug = `${slowPrefix}${randomUUID()}`
    const person = await newRunner()
    const start = () => person.post<Started>(`/skills/${slug}/run`, { input: quick })
    // Until the install has begun, the older version may be started.
    const startInVain = async () => {
      const answer = await start()
      if (answer.status === 200) await cancel(person, answer.body.executionId)
      return answer
    }
    const deliver = () => {
      // At once: the registry gives what is there as soon as it is there.
      const made = join(folder, `${slug}.zip`)
      writeFileSync(`${made}.part`, makeZip([{ name: 'SKILL.md', content: skillText('Slow.') }]))
      renameSync(`${made}.part`, made)
    }
    // The first time it is not in the library yet, the second time an older version is.
    for (const _time of ['first', 'second']) {
      const installing = person.post(`/skills/${slug}/install`, { registry: url })
      await expect.poll(async () => (await startInVain()).status, { timeout: 10_000 }).toBe(409)
      expectFlatRefusal(await start(), 409, 'EXECUTION_RUNNING')
      // Another skill is not held up by it.
      await cancel(person, await mustRun(person, lasting))
      deliver()
      expect((await installing).status).toBe(200)
      rmSync(join(folder, `${slug}.zip`))
      await cancel(person, must(await start(), 200).executionId)
    }
  })
})

async function isHeldUp(database: { query(text: string): Promise<{ rows: unknown[] }> }): Promise<boolean> {
  const { rows } = await database.query(
    `select 1 from pg_locks where relation = 'activity'::regclass and not granted`,
  )
  return rows.length > 0
}

describe('the input of an execution', () => {
  test('is at most 102,400 bytes', async () => {
    verifies('limits:input:100-kb', 'executions:errors:codes')
    const person = await newRunner()
    const [most, over] = [quick.padEnd(102_400), quick.padEnd(102_401)]
    const body = (input: string) => ({ skill_slug: errand, input })
    expect((await person.post('/executions', body(most))).status).toBe(200)
    const refused = expectRefusal(await person.post('/executions', body(over)), 400, 'INVALID_INPUT')
    expect(refused.details?.['limit']).toBe(102_400)
    const { executionId } = await runThrough(person, most)
    expect(expectFlatRefusal(await run(person, over), 400, 'INVALID_INPUT')['limit']).toBe(102_400)
    const again = expectRefusal(await rerun(person, executionId, over), 400, 'INVALID_INPUT')
    expect(again.details?.['limit']).toBe(102_400)
    const idle = await prepare(person)
    const said = expectRefusal(await post(person, idle, message(over)), 400, 'INVALID_INPUT')
    expect(said.details?.['limit']).toBe(102_400)
  })

  test('is measured in bytes and not in characters', async () => {
    verifies('limits:input:bytes-not-characters')
    const person = await newRunner()
    const body = (count: number) => ({ skill_slug: errand, input: '€'.repeat(count) })
    expect((await person.post('/executions', body(34_133))).status).toBe(200)
    expectRefusal(await person.post('/executions', body(34_134)), 400, 'INVALID_INPUT')
  })
})

describe('the rate of starts', () => {
  test('is thirty a minute for a person, whatever becomes of them', async () => {
    verifies(
      'rate-limit:execution:30-per-minute',
      'errors:run:rate-limit-standard',
      'executions:errors:codes',
    )
    const person = await newRunner()
    const earlier = (await runThrough(person, quick)).executionId
    const idle = await prepare(person)
    const busy = await mustRun(person, lasting)
    const kinds: [number, () => Promise<Answer>][] = [
      [429, () => run(person, quick)],
      [400, () => run(person, 5)],
      [404, () => person.post('/skills/never-installed/run', { input: quick })],
      [429, () => rerun(person, earlier, quick)],
      [400, () => rerun(person, earlier, 5)],
      [429, () => post(person, idle, message(quick))],
      [429, () => run(person, quick)],
    ]
    for (let round = 0; round < 4; round++) {
      for (const [status, start] of kinds) {
        const answer = await start()
        expect(answer.status, answer.text).toBe(status)
        if (status === 429) expectFlatRefusal(answer, 429, 'EXECUTION_RUNNING')
      }
    }
    for (const start of [
      () => run(person, quick),
      () => rerun(person, earlier, quick),
      () => run(person, 5),
    ]) {
      const answer = await start()
      expect(expectRefusal(answer, 429, 'RATE_LIMITED').type).toBe('rate_limit_error')
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    }
    expectRefusal(await post(person, idle, message(quick)), 429, 'RATE_LIMITED')
    await cancel(person, busy)
    expectRefusal(await run(person, quick), 429, 'RATE_LIMITED')
    expect((await run(await newRunner(), quick)).status).toBe(200)
  })

  test('is counted over all keys of a person', async () => {
    verifies('errors:code:rate-limited')
    const person = await newRunner()
    const keys = [await newKey(person), await newKey(person)]
    const busy = await mustRun(person, lasting)
    for (let count = 1; count < 30; count++) {
      const key = keys[count % 2] ?? person
      expectFlatRefusal(await run(key, quick), 429, 'EXECUTION_RUNNING')
    }
    for (const key of keys) {
      const refused = expectRefusal(await run(key, quick), 429, 'RATE_LIMITED')
      expect(refused.type).toBe('rate_limit_error')
    }
    await cancel(person, busy)
  })
})

describe('what is kept of a workspace', () => {
  test('holds fifty executions of a key that were never started', async () => {
    verifies('limits:quota:idle-executions')
    const person = await newRunner()
    const key = await newKey(person)
    const make = (caller: Caller) =>
      caller.post<{ id: string }>('/executions', { skill_slug: errand, input: quick })
    const made: string[] = []
    for (let count = 0; count < 50; count++) made.push(must(await make(key), 200).id)
    const refused = expectRefusal(await make(key), 400, 'INVALID_INPUT')
    expect(refused.details?.['limit']).toBe(50)
    expect((await make(person)).status).toBe(200)
    expect((await post(person, made[0] ?? '', message(quick))).status).toBe(200)
    expect((await make(key)).status).toBe(200)
  })

  stackOnly('holds ten gigabytes and a hundred thousand files', async () => {
    verifies('limits:quota:artifacts')
    const person = await newRunner()
    const files = [1, 2].map((at) => ({ path: `${at}.txt`, content: `${at}${randomUUID()}` }))
    const upload = () => person.post('/artifacts', { type: 'file', files })
    const count = async () => (await person.get<{ items: unknown[] }>('/artifacts')).body.items.length
    await upload()
    const before = await count()
    const fill = (bytes: number, used: number) =>
      withDatabase((database) =>
        database.query('update artifact_usage set bytes = $2, files = $3 where workspace_id = $1', [
          person.workspaceId,
          bytes,
          used,
        ]),
      )
    for (const [bytes, used, limit] of [
      [10_000_000_000 - 73, 0, 10_000_000_000],
      [0, 99_999, 100_000],
    ] as const) {
      await fill(bytes, used)
      expect(expectRefusal(await upload(), 400, 'INVALID_INPUT').details?.['limit']).toBe(limit)
    }
    expect(await count()).toBe(before)
    await fill(10_000_000_000 - 74, 99_998)
    expect((await upload()).status).toBe(201)
  })
})

stackOnly('work whose files cannot be kept fails and costs nothing', async () => {
  verifies('executions:ending:storage-unavailable')
  const person = await newRunner()
  const balances = async () => (await person.get<object>('/billing')).body
  const before = await balances()
  const input = script(
    { tools: [bash('echo kept > out.txt')], usage: { input: 1000, output: 100 } },
    { say: 'The file is there.' },
  )
  await withFailingInsert('artifacts', { workspace_id: person.workspaceId }, async () => {
    const { executionId, log } = await runThrough(person, input)
    expect(stopReasonOf(log)).toEqual({ type: 'error', code: 'STORAGE_UNAVAILABLE' })
    expect(JSON.stringify(only(log, 'agent.message'))).toContain('The file is there.')
    expect(await statusOf(person, executionId)).toMatchObject({ status: 'failed', cost: 0 })
  })
  expect(await balances()).toEqual(before)
})
