import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'

type Bytes = Buffer | AsyncIterable<Uint8Array>

/** Content is stored anew under another name once it was swept, see `blobName`. */
export interface BlobRef {
  readonly checksum: string
  readonly generation: number | null
}

interface StoredBlob {
  name: string
  /** SHA-256 of the content, in hex. */
  checksum: string
  sizeBytes: number
  /** Whether it was absent a moment before. Of concurrent puts of one content several may say so. */
  created: boolean
}

export interface ListedBlob {
  name: string
  /** When it was last put. */
  storedAt: Date
}

export interface OpenedBlob {
  stream: Readable
  sizeBytes: number
}

/**
 * Content under its own checksum and a generation. A key holds its whole content or nothing, whenever a process is killed.
 * Who refers to a blob, and that something exists once, is for PostgreSQL to say.
 */
export interface BlobStore {
  /** Throws TooLargeError, and keeps nothing, when the bytes are more than the cap. */
  put(bytes: Bytes, options: { maxBytes: number; generation?: number | null }): Promise<StoredBlob>
  /**
   * Whole, so that no connection to the store, and no open file, is anybody's who takes it slowly. Verified: content that is
   * not what its name says is a DamagedBlobError.
   */
  read(name: string, maxBytes: number): Promise<Buffer | undefined>
  has(name: string): Promise<boolean>
  /** What is not there counts as deleted. */
  delete(names: readonly string[]): Promise<void>
  /** In the order of names, those after the given one; fewer than the limit means the end. */
  list(after?: string, limit?: number): Promise<ListedBlob[]>
  /**
   * What an operator laid into the import folder of a workspace, apart from all blobs. The name is a clean relative
   * path; whoever calls has judged it.
   */
  readImport(workspaceId: string, name: string, maxBytes: number): Promise<Buffer | undefined>
  /** Throws when nothing can be stored: it writes a little, because a full disk can still be reached. */
  check(): Promise<void>
}

export class TooLargeError extends Error {
  override name = 'TooLargeError'
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super(`more than ${maxBytes} bytes`)
    this.maxBytes = maxBytes
  }
}

export class InvalidNameError extends Error {
  override name = 'InvalidNameError'
}

export class DamagedBlobError extends Error {
  override name = 'DamagedBlobError'
}

export const listedAtOnce = 1000
export const keyPrefix = 'blobs/'

/** What a check writes: more than a file system finds room for among its own records. */
export const probe = Buffer.alloc(65_536)
const probedEveryMs = 2000

/** Answers again what it found, for a while: a check may be asked for many times a second. */
export function probing(write: () => Promise<unknown>): () => Promise<unknown> {
  let probed: { at: number; outcome: Promise<unknown> } | undefined
  return () => {
    if (!probed || performance.now() - probed.at > probedEveryMs) {
      probed = { at: performance.now(), outcome: write() }
    }
    return probed.outcome
  }
}

/** A generation is used once. What is older than generations has its checksum alone. */
export function blobName({ checksum, generation }: BlobRef): string {
  return generation === null ? checksum : `${checksum}-${generation}`
}

/** The only way from a name to a place: nothing else from outside becomes part of a path or a key. */
export function keyOf(name: string): string {
  if (!isBlobName(name))
    throw new InvalidNameError('a name is 64 lower-case hex digits, and may end with a number')
  return `${keyPrefix}${name.slice(0, 2)}/${name}`
}

export function isBlobName(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9a-f]{64}(-[1-9][0-9]{0,15})?$/.test(text)
}

interface Measure {
  chunks: AsyncIterable<Uint8Array>
  /** Both of what has passed so far. */
  checksum(): string
  sizeBytes(): number
}

/** Passes the bytes on while it counts and digests them, and ends with TooLargeError beyond the cap. */
export function measure(bytes: Bytes, maxBytes: number): Measure {
  const hash = createHash('sha256')
  let sizeBytes = 0
  async function* pass() {
    for await (const chunk of Buffer.isBuffer(bytes) ? [bytes] : bytes) {
      sizeBytes += chunk.byteLength
      if (sizeBytes > maxBytes) throw new TooLargeError(maxBytes)
      hash.update(chunk)
      yield chunk
    }
  }
  return { chunks: pass(), checksum: () => hash.copy().digest('hex'), sizeBytes: () => sizeBytes }
}

export function importKey(workspaceId: string, name: string): string {
  return `imports/${workspaceId}/${name}`
}

export async function readCapped(stream: Readable, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of measure(stream, maxBytes).chunks) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export async function readVerified(
  opened: OpenedBlob | undefined,
  name: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  if (!opened) return undefined
  if (opened.sizeBytes > maxBytes) {
    opened.stream.destroy()
    throw new TooLargeError(maxBytes)
  }
  const measured = measure(opened.stream, maxBytes)
  const chunks: Uint8Array[] = []
  for await (const chunk of measured.chunks) chunks.push(chunk)
  if (measured.checksum() !== name.slice(0, 64)) throw new DamagedBlobError(`blob ${name} is damaged`)
  return Buffer.concat(chunks)
}
