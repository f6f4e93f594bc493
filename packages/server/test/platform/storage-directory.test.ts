import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DamagedBlobError } from '#platform/storage.ts'
import { createDirectoryStore } from '#platform/storage-directory.ts'
import { createReadiness } from '#transports/status/status.ts'
import { until } from '../../../../test/support/processes.ts'
import { tell } from '../../../../test/support/proof.ts'
import { createDatabase, openHouse } from '../support/house.ts'

const cap = { maxBytes: 10_000_000 }
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const fileOf = (checksum: string) => join(directory, 'blobs', checksum.slice(0, 2), checksum)
let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'guildhall-storage-'))
})

afterEach(() => rm(directory, { recursive: true, force: true }))

/** Puts blobs of up to 2 MB, eight at a time, and names each one that it was told is stored. */
const putForever = (root: string) => `
  import { randomBytes, randomInt } from 'node:crypto'
  import { writeSync } from 'node:fs'
  import { Readable } from 'node:stream'
  const { createDirectoryStore } = await import(${JSON.stringify(
    new URL('../../src/platform/storage-directory.ts', import.meta.url).href,
  )})
  const store = createDirectoryStore(${JSON.stringify(root)})
  async function putting() {
    for (;;) {
      const pieces = Array.from({ length: randomInt(1, 20) }, () => randomBytes(100_000))
      const { checksum } = await store.put(Readable.from(pieces), { maxBytes: 10_000_000 })
      writeSync(1, checksum + '\\n')
    }
  }
  await Promise.all(Array.from({ length: 8 }, putting))
`

test('kill -9 in the middle of puts leaves whole blobs only, and all that were reported', async () => {
  const reported: string[] = []
  for (let round = 0; round < 5; round++) {
    const args = ['--input-type=module', '-e', putForever(directory)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    await once(child.stdout, 'data')
    await sleep(100 + round * 37)
    child.kill('SIGKILL')
    await once(child, 'close')
    reported.push(...said.split('\n').filter((line) => line.length === 64))
  }
  const store = createDirectoryStore(directory)
  const listed = (await store.list()).map(({ name }) => name)
  for (const checksum of listed) expect(sha256(readFileSync(fileOf(checksum)))).toBe(checksum)
  expect(listed).toEqual(expect.arrayContaining(reported))
  const drafts = readdirSync(join(directory, 'tmp'))
  tell(`${reported.length} reported, ${listed.length} stored, ${drafts.length} drafts left`)
  expect(drafts.length).toBeGreaterThan(0)
})

test('a draft that nobody finished is removed when it is an hour old, one under way is not', async () => {
  await createDirectoryStore(directory).put(randomBytes(10), cap)
  const drafts = join(directory, 'tmp')
  for (const name of ['old', 'young']) writeFileSync(join(drafts, name), 'half')
  const anHourAndMoreAgo = new Date(Date.now() - 3_700_000)
  utimesSync(join(drafts, 'old'), anHourAndMoreAgo, anHourAndMoreAgo)
  await createDirectoryStore(directory).put(randomBytes(10), cap)
  expect(readdirSync(drafts)).toEqual(['young'])
})

test('a damaged blob is an error when it is read, and mended by the next put', async () => {
  const store = createDirectoryStore(directory)
  const bytes = randomBytes(100)
  const { checksum } = await store.put(bytes, cap)
  writeFileSync(fileOf(checksum), randomBytes(100))
  await expect(store.read(checksum, 1000)).rejects.toThrow(DamagedBlobError)
  await store.put(bytes, cap)
  expect(await store.read(checksum, 1000)).toEqual(bytes)
})

test('blobs are not for every user of the machine', async () => {
  const { checksum } = await createDirectoryStore(directory).put(randomBytes(10), cap)
  expect(statSync(fileOf(checksum)).mode & 0o007).toBe(0)
})

test('other files in the folder are not listed', async () => {
  const store = createDirectoryStore(directory)
  const { checksum } = await store.put(randomBytes(10), cap)
  for (const path of ['lost+found', 'blobs/README', `blobs/${checksum.slice(0, 2)}/x`]) {
    writeFileSync(join(directory, path), '')
  }
  expect((await store.list()).map(({ name }) => name)).toEqual([checksum])
})

test('a house without its storage says that it is degraded, and recovers', async () => {
  const house = await openHouse({ DATABASE_URL: await createDatabase(), STORAGE: `directory:${directory}` })
  try {
    const down = async () => (await house.call('GET', '/readyz')).body
    expect((await down()).down).not.toContain('storage')
    renameSync(directory, `${directory}-away`)
    expect(await down()).toMatchObject({
      status: 'degraded',
      down: expect.arrayContaining(['storage']),
    })
    renameSync(`${directory}-away`, directory)
    expect((await down()).down).not.toContain('storage')
  } finally {
    await house.close()
  }
})

test('a disk that is full can be reached and is down all the same', async () => {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', directory])
  const house = await openHouse({ DATABASE_URL: await createDatabase(), STORAGE: `directory:${directory}` })
  try {
    const isDown = async () => (await house.call('GET', '/readyz')).body.down.includes('storage')
    expect(await isDown()).toBe(false)
    expect(readdirSync(join(directory, 'tmp'))).toEqual([])
    writeFileSync(join(directory, 'filler'), randomBytes(250_000))
    await until(isDown, 5000)
    await rm(join(directory, 'filler'))
    await until(async () => !(await isDown()), 5000)
  } finally {
    await house.close()
    execFileSync('umount', [directory])
  }
})

test('a disk that is late is believed for three seconds after it answered', async () => {
  const house = await openHouse({ DATABASE_URL: await createDatabase(), STORAGE: `directory:${directory}` })
  try {
    let lateMs = 0
    const check = async () => {
      await sleep(lateMs)
      await house.deps.storage.check()
    }
    const deps = { ...house.deps, storage: { ...house.deps.storage, check } }
    const readiness = createReadiness()
    const isDown = async () => (await readiness(deps)).includes('storage')
    expect(await isDown()).toBe(false)
    lateMs = 60_000
    expect(await isDown()).toBe(false)
    await until(isDown, 5000)
    lateMs = 1500
    expect(await isDown()).toBe(true)
    await sleep(1000)
    expect(await isDown()).toBe(false)
    renameSync(directory, `${directory}-away`)
    lateMs = 0
    expect(await isDown()).toBe(true)
    renameSync(`${directory}-away`, directory)
  } finally {
    await house.close()
  }
}, 60_000)
