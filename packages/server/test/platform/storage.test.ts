import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BlobStore, InvalidNameError, TooLargeError } from '#platform/storage.ts'
import { createDirectoryStore } from '#platform/storage-directory.ts'
import { createS3Store } from '#platform/storage-s3.ts'
import { makeFolder, removeFolder } from '../../../../stack/folder.ts'
import { type SwiftServer, startSwift } from '../../../../stack/swift.ts'
import { expectAhead } from '../../../../test/support/moments.ts'
import { expectWithin, tell } from '../../../../test/support/proof.ts'
import { atSize } from '../../../../test/support/sizes.ts'
import { nowhere } from '../support/house.ts'

/** More than a page of this server, which has a hundred. */
const many = atSize(110, 2500)
const cap = { maxBytes: 10_000_000 }
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const someBytes = (size = 100) => randomBytes(size)
const s3Config = (swift: SwiftServer) => ({ kind: 's3' as const, forcePathStyle: true, ...swift })

let stackDir: string
let swift: SwiftServer
let directory: string

beforeAll(async () => {
  stackDir = await makeFolder()
  directory = mkdtempSync(join(tmpdir(), 'guildhall-storage-'))
  swift = await startSwift({ dir: stackDir })
})

afterAll(async () => {
  await swift?.stop()
  await removeFolder(stackDir)
  await rm(directory, { recursive: true })
})

async function listAll(store: BlobStore, limit?: number): Promise<string[]> {
  const all: string[] = []
  for (;;) {
    const page = await store.list(all.at(-1), limit)
    all.push(...page.map(({ name }) => name))
    if (page.length < (limit ?? 1000)) return all
  }
}

describe.each([
  ['directory', () => createDirectoryStore(directory)],
  ['swift', () => createS3Store(s3Config(swift))],
])('%s', (_name, open) => {
  let store: BlobStore
  beforeAll(() => {
    store = open()
  })

  test('what was put can be read, found and deleted under its checksum', async () => {
    const bytes = someBytes()
    const checksum = sha256(bytes)
    expect(await store.has(checksum)).toBe(false)
    expect(await store.read(checksum, 100)).toBeUndefined()
    expect(await store.put(bytes, cap)).toEqual({ name: checksum, checksum, sizeBytes: 100, created: true })
    expect(await store.put(bytes, cap)).toEqual({ name: checksum, checksum, sizeBytes: 100, created: false })
    expect(await store.has(checksum)).toBe(true)
    expect(await store.read(checksum, 100)).toEqual(bytes)
    await expect(store.read(checksum, 99)).rejects.toThrow(TooLargeError)
    await store.delete([checksum, sha256(someBytes())])
    expect(await store.has(checksum)).toBe(false)
    expect(await listAll(store)).not.toContain(checksum)
  })

  test('an empty blob is a blob', async () => {
    const { checksum, sizeBytes } = await store.put(Buffer.alloc(0), { maxBytes: 0 })
    expect({ checksum, sizeBytes }).toEqual({ checksum: sha256(Buffer.alloc(0)), sizeBytes: 0 })
    expect(await store.read(checksum, 0)).toEqual(Buffer.alloc(0))
    expect(await store.has(checksum)).toBe(true)
  })

  test('10 MB arrive whole from a stream', async () => {
    const bytes = someBytes(cap.maxBytes)
    const pieces = Array.from({ length: 100 }, (_, i) => bytes.subarray(i * 100_000, (i + 1) * 100_000))
    const begun = performance.now()
    const put = await store.put(Readable.from(pieces), cap)
    const putMs = performance.now() - begun
    expect(put).toMatchObject({ checksum: sha256(bytes), sizeBytes: cap.maxBytes, created: true })
    expect((await store.read(put.checksum, cap.maxBytes))?.equals(bytes)).toBe(true)
    tell(`put ${putMs.toFixed(0)} ms, read ${(performance.now() - begun - putMs).toFixed(0)} ms`)
  })

  test('beyond the cap, or when the source fails, nothing is kept and the source is let go', async () => {
    const before = await listAll(store)
    const bytes = someBytes(250)
    let ended = false
    async function* endless() {
      try {
        for (;;) yield bytes
      } finally {
        ended = true
      }
    }
    await expect(store.put(endless(), { maxBytes: 1000 })).rejects.toThrow(TooLargeError)
    expect(ended).toBe(true)
    await expect(store.put(bytes, { maxBytes: 249 })).rejects.toThrow(TooLargeError)
    async function* failing() {
      yield bytes
      throw new Error('the sender went away')
    }
    await expect(store.put(failing(), cap)).rejects.toThrow('the sender went away')
    expect(await listAll(store)).toEqual(before)
    expect(await store.has(sha256(bytes))).toBe(false)
    expect(readdirSync(join(directory, 'tmp'))).toEqual([])
  })

  test('twenty puts of one content at once leave one whole blob', async () => {
    const bytes = someBytes(100_000)
    const puts = await Promise.all(Array.from({ length: 20 }, () => store.put(Readable.from([bytes]), cap)))
    expect(new Set(puts.map(({ checksum }) => checksum))).toEqual(new Set([sha256(bytes)]))
    expect(await store.read(sha256(bytes), cap.maxBytes)).toEqual(bytes)
    expect((await listAll(store)).filter((checksum) => checksum === sha256(bytes))).toHaveLength(1)
  })

  test.each([
    '../..',
    '../../../../etc/passwd',
    '',
    'A'.repeat(64),
    'a'.repeat(63),
    'a'.repeat(65),
    `${'a'.repeat(64)}\n`,
    `../${'a'.repeat(61)}`,
    `${'a'.repeat(64)}-0`,
    `${'a'.repeat(64)}-1/../b`,
    `${'a'.repeat(64)}-1e9`,
  ])('%j is no name', async (hostile) => {
    for (const use of [
      () => store.read(hostile, 1),
      () => store.has(hostile),
      () => store.delete(['a'.repeat(64), hostile]),
      () => store.list(hostile),
    ]) {
      await expect(use()).rejects.toThrow(InvalidNameError)
    }
  })

  test('generations of one content are apart: what becomes of one is nothing to another', async () => {
    const bytes = someBytes()
    const { name: plain, checksum } = await store.put(bytes, cap)
    const { name: first } = await store.put(bytes, { ...cap, generation: 7 })
    const { name: second, created } = await store.put(bytes, { ...cap, generation: 10 })
    expect([plain, first, second, created]).toEqual([checksum, `${checksum}-7`, `${checksum}-10`, true])
    const listed = await listAll(store)
    expect(listed.filter((name) => name.startsWith(checksum))).toEqual([plain, second, first])
    await store.delete([first])
    expect([await store.has(plain), await store.has(first), await store.has(second)]).toEqual([
      true,
      false,
      true,
    ])
    expect(await store.read(second, 1_000_000)).toEqual(bytes)
    await store.delete([plain, second])
  })

  test('a repeated put makes a blob young again', async () => {
    const bytes = someBytes()
    const asked = Date.now()
    const { checksum } = await store.put(bytes, cap)
    const storedAt = async () =>
      (await store.list()).find((blob) => blob.name === checksum)?.storedAt.getTime()
    const first = (await storedAt()) ?? 0
    expectAhead(first, asked, 0)
    await sleep(1100)
    await store.put(bytes, cap)
    expect(await storedAt()).toBeGreaterThan(first)
  })

  test(`${many} blobs are listed once each, in order, page by page`, { timeout: 240_000 }, async () => {
    const blobs = Array.from({ length: many }, () => someBytes(32))
    const begun = performance.now()
    const waiting = blobs.values()
    const putting = async () => {
      for (const bytes of waiting) await store.put(bytes, cap)
    }
    await Promise.all(Array.from({ length: 16 }, putting))
    const putMs = performance.now() - begun
    const listed = await listAll(store)
    tell(`${many} puts ${putMs.toFixed(0)} ms, list ${(performance.now() - begun - putMs).toFixed(0)} ms`)
    expect(listed).toEqual([...new Set(listed)].sort())
    expect(listed).toEqual(expect.arrayContaining(blobs.map(sha256)))
    expect(await listAll(store, 99)).toEqual(listed)
    expect((await store.list(undefined, 150)).map(({ name }) => name)).toEqual(listed.slice(0, 150))
    const gone = blobs.slice(0, 120).map(sha256)
    await store.delete(gone)
    expect(await listAll(store)).toEqual(listed.filter((checksum) => !gone.includes(checksum)))
  })

  test('a reachable store passes the check', () => store.check())
})

test('a wrong secret, and a bucket that is not there, are refused', async () => {
  const { checksum } = await createS3Store(s3Config(swift)).put(someBytes(), cap)
  const stranger = createS3Store({ ...s3Config(swift), secretAccessKey: 'wrong' })
  await expect(stranger.check()).rejects.toThrow()
  await expect(stranger.read(checksum, 100)).rejects.toThrow(/signature/i)
  await expect(stranger.put(someBytes(), cap)).rejects.toThrow()
  await expect(stranger.has(checksum)).rejects.toThrow()
  const elsewhere = createS3Store({ ...s3Config(swift), bucket: 'elsewhere' })
  await expect(elsewhere.check()).rejects.toThrow()
  await expect(elsewhere.read(checksum, 100)).rejects.toThrow(/bucket/i)
})

test('a store that is away is an error within seconds, never an absent blob', async () => {
  const away = createS3Store({ ...s3Config(swift), endpoint: `http://${nowhere}` })
  const unmounted = createDirectoryStore(join(directory, 'unmounted'))
  for (const store of [away, unmounted]) {
    const begun = performance.now()
    const checksum = sha256(someBytes())
    await expect(store.check()).rejects.toThrow()
    await expect(store.has(checksum)).rejects.toThrow()
    await expect(store.read(checksum, 100)).rejects.toThrow()
    await expect(store.put(someBytes(), cap)).rejects.toThrow()
    await expect(store.delete([checksum])).rejects.toThrow()
    await expect(store.list()).rejects.toThrow()
    expectWithin(performance.now() - begun, 10_000)
  }
})

test('a store that accepts connections and says nothing fails the check in about 2 s', async () => {
  const mute = createServer(() => {}).listen(0, '127.0.0.1')
  await once(mute, 'listening')
  const endpoint = `http://127.0.0.1:${(mute.address() as AddressInfo).port}`
  const begun = performance.now()
  await expect(createS3Store({ ...s3Config(swift), endpoint }).check()).rejects.toThrow()
  expectWithin(performance.now() - begun, 4000)
  mute.close()
})
