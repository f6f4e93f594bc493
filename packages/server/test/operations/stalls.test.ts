import { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '#platform/logger.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
})

afterAll(() => house.close())

const call = (method: string, path: string, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { token: person.token, ...(body === undefined ? {} : { body }) })
const cursor = (...parts: string[]) => Buffer.from(JSON.stringify(parts)).toString('base64url')
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

/** What this process computed meanwhile, on the thread that answers requests. */
async function cpuMsOf(act: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage()
  await act()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

describe('what cannot be is refused and breaks nothing', () => {
  const skillBundle = (content: string) => ({ type: 'skill', files: [{ path: 'SKILL.md', content }] })

  test.each<[string, string, string, unknown]>([
    ['JSON nested 100,000 deep', 'POST', '/keys', `{"label":"x","device_auth":${nested(100_000)}}`],
    ['a definition nested 100,000 deep', 'POST', '/workflows/validate', `{"definition":${nested(100_000)}}`],
    ['inputs nested 100,000 deep', 'POST', '/workflows/x/launch', `{"inputs":{"a":${nested(100_000)}}}`],
    ['half a surrogate pair', 'POST', '/keys', '{"label":"x\\ud800"}'],
    ['half a surrogate pair in a name', 'PATCH', '/profile', '{"facts":{"\\udc00":"x"}}'],
    ['NUL', 'POST', '/keys', '{"label":"x\\u0000"}'],
    ['a key that ends in the year 0', 'POST', '/keys', { label: 'x', expiresAt: '0000-01-01T00:00:00Z' }],
    [
      'a key that ends in the year 10000',
      'POST',
      '/keys',
      { label: 'x', expiresAt: '9999-12-31T23:59:59-01:00' },
    ],
    ['a key that ends on February 30', 'POST', '/keys', { label: 'x', expiresAt: '2030-02-30T00:00:00Z' }],
    ['a number beyond all ids', 'GET', '/activity?apiKey=99999999999999999999', undefined],
    ['a number with an exponent', 'GET', '/activity?apiKey=1e30', undefined],
    ['activity since the year 0', 'GET', '/activity?since=0000-01-01', undefined],
    ['activity until February 30', 'GET', '/activity?until=2030-02-30', undefined],
    ['a version beyond all versions', 'GET', '/skills/x/diff?from=99999999999', undefined],
    [
      'a cursor of month 13',
      'GET',
      `/artifacts?cursor=${cursor('2026-13-45T99:99:99.999Z', 'artifact_x')}`,
      undefined,
    ],
    [
      'a cursor of the year 0',
      'GET',
      `/approvals?cursor=${cursor('0000-01-01T00:00:00.000Z', 'permission_x')}`,
      undefined,
    ],
    [
      'a cursor of the year 0',
      'GET',
      `/workspaces/current/members?cursor=${cursor('0000-01-01T00:00:00.000Z', '00000000-0000-0000-0000-000000000000')}`,
      undefined,
    ],
    ['a cursor beyond all ids', 'GET', `/activity?cursor=${cursor('9999999999999999')}`, undefined],
    ['a cursor beyond all ids', 'GET', `/billing/ledger?cursor=${cursor('9999999999999999')}`, undefined],
    [
      'front matter nested 9,000 deep',
      'POST',
      '/artifacts',
      skillBundle(`---\nname: ${'['.repeat(9000)}\n---\n`),
    ],
  ])('%s: %s %s', async (_what, method, path, body) => {
    const answer = await call(method, path, body)
    expect(answer.status, answer.text.slice(0, 300)).toBe(400)
    expect(answer.body.error.code).toBe('INVALID_INPUT')
  })

  test('what nests as deep as anybody needs is still taken', async () => {
    const answer = await call(
      'POST',
      '/workflows/validate',
      `{"definition":{"id":"x","graph":${nested(200)}}}`,
    )
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body.valid).toBe(false)
  })
})

describe('what an agent shows with a request has a size', () => {
  const ask = async (args: unknown) => {
    const { secret: key } = await house.newKey(person, { scopes: ['profile:read'] })
    const body = { scope: 'profile:write', reason: 'to test', action: { summary: 'x', args } }
    return house.call('POST', '/api/v1/agents/request-permission', { key, body })
  }

  test('64 KiB are taken, and one byte more is refused', async () => {
    expect((await ask('x'.repeat(65_534))).status).toBe(202)
    const large = await ask('x'.repeat(65_535))
    expect(large.status).toBe(400)
    expect(large.body.error).toMatchObject({ code: 'INVALID_INPUT', details: { limit: 65_536 } })
  })

  test('what nests deeper than 64 levels is refused', async () => {
    expect((await ask(JSON.parse(nested(60)))).status).toBe(202)
    expect((await ask(JSON.parse(nested(70)))).status).toBe(400)
  })
})

describe('one request does not hold the process', () => {
  test('14 million blanks as base64', async () => {
    const body = JSON.stringify({
      type: 'file',
      files: [{ path: 'a.txt', content: `${' '.repeat(14_000_000)}!`, encoding: 'base64' }],
    })
    const ms = await cpuMsOf(async () => expect((await call('POST', '/artifacts', body)).status).toBe(400))
    expectWithin(ms, 1500)
  })

  test('14 megabytes of empty lists', async () => {
    const body = `{"type":"file","files":[${'[],'.repeat(4_800_000)}[]]}`
    const ms = await cpuMsOf(async () => expect((await call('POST', '/artifacts', body)).status).toBe(400))
    expectWithin(ms, 1500)
  })

  test('a word of a million letters in a logged error', async () => {
    let length = 0
    const sink = new Writable({
      write: (line, _encoding, done) => {
        length += line.length
        done()
      },
    })
    const logger = createLogger('info', sink)
    const ms = await cpuMsOf(async () => {
      for (const word of ['x'.repeat(1_000_000), 'a://b:'.repeat(200_000), '"cookie":['.repeat(100_000)])
        logger.error({ err: new Error(word) }, word)
    })
    expect(length).toBeGreaterThan(3_000_000)
    expectWithin(ms, 1500)
  })

  test('a comparison of 40 rewritten files: others are answered meanwhile, and what is left out is named', async () => {
    const lines = (seed: number) =>
      Array.from({ length: 15_000 }, (_, line) => `${(line * seed) % 99_991}`).join('\n')
    const install = async (seed: number) => {
      const head = { path: 'SKILL.md', content: `---\nname: long\ndescription: version ${seed}\n---\n` }
      const files = Array.from({ length: 40 }, (_, n) => ({ path: `f${n}.txt`, content: lines(seed + n) }))
      const made = await call('POST', '/artifacts', {
        type: 'skill',
        files: [head, ...files, { path: 'large.txt', content: `${seed}`.repeat(60_000) }],
      })
      expect(made.status, made.text).toBe(201)
      const installed = await call('POST', '/skills/long/install', { artifactId: made.body.id })
      expect(installed.status, installed.text).toBe(200)
    }
    await install(7919)
    await install(104_729)
    const ms = await cpuMsOf(async () => {
      const answer = await call('GET', '/skills/long/diff')
      expect(answer.status, answer.text.slice(0, 300)).toBe(200)
      const found = new Map(answer.body.files.map((file: { path: string }) => [file.path, file]))
      expect(found.get('SKILL.md')).toMatchObject({
        change: 'changed',
        diff: expect.stringContaining('104729'),
      })
      expect(found.get('large.txt')).toMatchObject({ change: 'changed', diff: null, omitted: 'too-large' })
      const reasons = new Set(answer.body.files.map((file: { omitted?: string }) => file.omitted))
      expect(reasons).toContain('too-different')
      expect(reasons).toContain('over-budget')
    })
    // Comparing alone took eight seconds here when it was done on this thread.
    expectWithin(ms, 1000)
  })
})
