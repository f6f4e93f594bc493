import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { bundleLimits } from '@guildhall/contract'
import { extract } from 'tar-stream'
import { type Entry, fromBuffer, type ZipFile } from 'yauzl'
import { ApiError } from '#operations/errors.ts'

export interface BundleFile {
  path: string
  bytes: Buffer
}

const unixFileType = 0o170000
const unixRegular = 0o100000
/** Content, and around each file a head or two and the rest of a block. */
const tarBytes = bundleLimits.bytes + bundleLimits.files * 4096 + 1_000_000

/**
 * The files of a zip or tar.gz. Sizes are counted on what really comes out, not on what the headers say, and the
 * first byte too many ends it; links, devices and anything else that is no plain file or folder is refused.
 */
export async function unpack(archive: Buffer): Promise<BundleFile[]> {
  if (archive.subarray(0, 2).toString('latin1') === 'PK') return unzip(archive)
  if (archive[0] === 0x1f && archive[1] === 0x8b) return untar(archive)
  throw refusal('bundle: neither a zip nor a tar.gz')
}

/** What has come out so far, and the refusal of more. */
class Tally {
  readonly files: BundleFile[] = []
  #bytes = 0

  /** What an entry says of itself: enough to refuse it before a byte comes out, never enough to believe it. */
  announce(bytes: number): void {
    if (this.#bytes + bytes > bundleLimits.bytes) throw tooLarge()
  }

  count(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > bundleLimits.bytes) throw tooLarge()
  }

  add(path: string, bytes: Buffer): void {
    if (this.files.length >= bundleLimits.files)
      throw refusal('Too many files', { limit: bundleLimits.files })
    this.files.push({ path, bytes })
  }
}

async function unzip(archive: Buffer): Promise<BundleFile[]> {
  const zip = await new Promise<ZipFile>((resolve, reject) =>
    fromBuffer(
      archive,
      { lazyEntries: true, validateEntrySizes: true, strictFileNames: true },
      (error, opened) => (error ? reject(refusal('bundle: not a readable zip')) : resolve(opened)),
    ),
  )
  const tally = new Tally()
  try {
    for (;;) {
      const entry = await nextEntry(zip)
      if (!entry) return tally.files
      if (entry.fileName.endsWith('/')) continue
      const type = (entry.externalFileAttributes >>> 16) & unixFileType
      if (type !== 0 && type !== unixRegular)
        throw refusal(`${entry.fileName}: only plain files can be in a bundle`)
      if (entry.isEncrypted()) throw refusal(`${entry.fileName}: is encrypted`)
      tally.announce(entry.uncompressedSize)
      tally.add(entry.fileName, await readEntry(zip, entry, tally))
    }
  } finally {
    zip.close()
  }
}

function nextEntry(zip: ZipFile): Promise<Entry | undefined> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      zip.removeAllListeners()
      // Whatever it finds wrong after this is told by the next read.
      zip.on('error', () => {})
      act()
    }
    zip.once('entry', (entry: Entry) => settle(() => resolve(entry)))
    zip.once('end', () => settle(() => resolve(undefined)))
    zip.once('error', () => settle(() => reject(refusal('bundle: the zip is damaged or hostile'))))
    zip.readEntry()
  })
}

async function readEntry(zip: ZipFile, entry: Entry, tally: Tally): Promise<Buffer> {
  const stream = await new Promise<Readable>((resolve, reject) =>
    zip.openReadStream(entry, (error, opened) =>
      error ? reject(refusal(`${entry.fileName}: cannot be read`)) : resolve(opened),
    ),
  )
  return collect(stream, tally, entry.fileName)
}

async function collect(stream: Readable, tally: Tally, path: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of stream) {
      tally.count((chunk as Buffer).length)
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    throw error instanceof ApiError ? error : refusal(`${path}: is damaged`)
  }
  return Buffer.concat(chunks)
}

async function untar(archive: Buffer): Promise<BundleFile[]> {
  const tally = new Tally()
  const tar = extract()
  tar.on('entry', (header, stream, next) => {
    // A refused archive ends its open entry with an error too, which nobody else listens for.
    stream.on('error', () => {})
    const take = async () => {
      if (header.type === 'directory') {
        stream.resume()
      } else if (header.type === 'file' || header.type === 'contiguous-file') {
        tally.announce(header.size ?? 0)
        tally.add(header.name, await collect(stream as unknown as Readable, tally, header.name))
      } else {
        throw refusal(`${header.name}: only plain files can be in a bundle`)
      }
    }
    take().then(
      () => next(),
      (error) => tar.destroy(error),
    )
  })
  try {
    await pipeline(Readable.from([archive]), createGunzip(), atMost(tarBytes), tar)
  } catch (error) {
    throw error instanceof ApiError ? error : refusal('bundle: the tar.gz is damaged or hostile')
  }
  return tally.files
}

/** Ends a stream that has more in it than any bundle needs, whatever it is. */
function atMost(limit: number): Transform {
  let seen = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.length
      if (seen > limit) done(tooLarge())
      else done(null, chunk)
    },
  })
}

function tooLarge(): ApiError {
  return refusal('The files are too large together', { limit: bundleLimits.bytes })
}

function refusal(message: string, details?: Record<string, unknown>): ApiError {
  return new ApiError('INVALID_INPUT', { message, ...(details ? { details } : {}) })
}
