import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { findPostgresPrograms } from '../../stack/programs.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { atSize } from '../support/sizes.ts'

const pairings = atSize(30, 300)
let stack: SpawnedStack
let app: Caller
let redis: Redis
const issued: string[] = []
/** Every command that reached Redis, also those whose effect is long gone. */
const heardByRedis: string[] = []

beforeAll(async () => {
  stack = await spawnStack(['--api', '2', '--limits', 'off', '--env', 'LOG_LEVEL=trace'])
  app = createCaller(stack.baseUrl)
  redis = new Redis(stack.redisUrl)
  const watching = new Redis(stack.redisUrl)
  const monitor = await watching.monitor()
  monitor.on('monitor', (_time: string, args: string[]) => heardByRedis.push(args.join(' ')))
  const people = await Promise.all(Array.from({ length: 10 }, () => app.newPerson()))
  issued.push(...people.map((person) => person.token))
  for (let i = 0; i < pairings; i += 10) await Promise.all(people.map(pairAndUse))
  monitor.disconnect()
  watching.disconnect()
}, 120_000)

afterAll(async () => {
  redis.disconnect()
  await stack.stop()
})

/** All that happens to a secret: made, collected, used, rotated, reported, and mistaken for something else. */
async function pairAndUse(person: Person): Promise<void> {
  const { deviceCode, userCode } = await app.newCode()
  await app.call('GET', `/api/v1/activate/lookup?code=${userCode}`, { token: person.token })
  await app.call('POST', '/api/v1/activate/poll', { body: { device_code: deviceCode } })
  await app.call('POST', '/api/v1/activate/confirm', { token: person.token, body: { code: userCode } })
  const poll = await app.call('POST', '/api/v1/activate/poll', { body: { device_code: deviceCode } })
  const key = poll.body.api_key
  issued.push(deviceCode, key)
  await app.call('GET', '/api/v1/workspaces', { key })
  await app.call('GET', `/api/v1/nope?key=${key}`, { key, headers: { 'user-agent': key } })
  await app.call('POST', '/api/v1/activate/confirm', { token: person.token, body: { code: deviceCode } })
  await app.call('POST', '/api/v1/keys', { token: key, body: { label: 'x' } })
  const keys = await app.call('GET', '/api/v1/keys', { token: person.token })
  const rotated = await app.call('POST', `/api/v1/keys/${keys.body[0].id}/rotate`, {
    token: person.token,
    headers: { 'idempotency-key': deviceCode.slice(-20) },
  })
  issued.push(rotated.body.api_key)
  await app.call('POST', '/api/v1/keys/report-leak', { body: { key } })
}

/** Texts long enough to hold a secret, from whatever the bytes are. */
function longRuns(bytes: string): string[] {
  return bytes.match(/[0-9A-Za-z+/=_-]{32,}/g) ?? []
}

/** A secret as it is, without its prefix, and as the encodings a store or a dump may use. */
function needlesOf(secret: string): string[] {
  const bare = secret.replace(/^guild_[a-z]+_/, '')
  const middle = bare.slice(3, 35)
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.from(bare.slice(shift, shift + 30))
      .toString('base64')
      .slice(0, 38),
  )
  return [
    middle.slice(0, 24),
    Buffer.from(middle).toString('hex').slice(0, 32),
    ...base64.map((text) => text.slice(2, 34)),
  ]
}

function findSecrets(place: string, secrets: readonly string[]): string[] {
  const haystack = longRuns(place).join('\n')
  return secrets.filter((secret) => needlesOf(secret).some((needle) => haystack.includes(needle)))
}

function dumpDatabase(): string {
  const program = join(findPostgresPrograms(), 'pg_dump')
  return execFileSync(program, ['--dbname', stack.databaseUrl], {
    encoding: 'latin1',
    maxBuffer: 512 * 1024 * 1024,
  })
}

async function dumpRedis(): Promise<string> {
  const parts = [...heardByRedis]
  for await (const keys of redis.scanStream({ count: 1000 })) {
    for (const key of keys as string[]) {
      const type = await redis.type(key)
      const value =
        type === 'list' ? await redis.lrange(key, 0, -1) : type === 'string' ? [await redis.get(key)] : [type]
      expect(['list', 'string']).toContain(type)
      parts.push(key, ...value.map(String))
    }
  }
  return parts.join('\n')
}

function readFilesBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n')
}

const places: Record<
  string,
  { read: () => string | Promise<string>; plant: (secret: string) => Promise<void> }
> = {
  'the dump of PostgreSQL': {
    read: dumpDatabase,
    plant: async (secret) => {
      const db = new pg.Client({ connectionString: stack.databaseUrl })
      await db.connect()
      await db.query('update users set name = $1 where id = (select id from users limit 1)', [secret])
      await db.end()
    },
  },
  'the files of PostgreSQL, its write-ahead log included': {
    read: () => readFilesBelow(join(stack.dir, 'postgres/data')),
    plant: async (secret) => writeFileSync(join(stack.dir, 'postgres/data/planted'), `xx${secret}yy`),
  },
  'Redis, with everything it was ever told': {
    read: dumpRedis,
    plant: async (secret) => void (await redis.set(`rate:${secret}`, '1')),
  },
  'the logs of every process': {
    read: () => readFilesBelow(join(stack.dir, 'logs')),
    plant: async (secret) => appendFileSync(join(stack.dir, 'logs/api-1.log'), `{"msg":"${secret}"}\n`),
  },
  "the engine's files": {
    read: () => readFilesBelow(join(stack.dir, 'restate')),
    plant: async (secret) => writeFileSync(join(stack.dir, 'restate/planted'), `\u0000${secret}\u0000`),
  },
}

test(`${pairings} pairings went through`, () => {
  expect(new Set(issued).size).toBe(10 + pairings * 3)
  expect(issued.every((secret) => secret?.startsWith('guild_'))).toBe(true)
  expect(heardByRedis.length).toBeGreaterThan(pairings)
})

describe.each(Object.entries(places))('%s', (_name, place) => {
  test('holds none of the issued secrets, and the search finds a planted one', async () => {
    const before = await place.read()
    expect(before.length).toBeGreaterThan(500)
    expect(findSecrets(before, issued)).toEqual([])
    const planted = `guild_live_${randomBytes(24).toString('hex')}p`
    await place.plant(planted)
    expect(findSecrets(await place.read(), [...issued, planted])).toEqual([planted])
  })
})

test('the search also knows a secret without its prefix, in hex and in base64', () => {
  const secret = issued[11] ?? ''
  const bare = secret.replace(/^guild_[a-z]+_/, '')
  for (const form of [bare, Buffer.from(secret).toString('hex'), Buffer.from(bare).toString('base64')]) {
    expect(findSecrets(`before ${form} after`, issued)).toEqual([secret])
  }
})
