import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  NotFound,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import type { S3Config } from './config.ts'
import {
  type BlobStore,
  blobName,
  importKey,
  isBlobName,
  keyOf,
  keyPrefix,
  type ListedBlob,
  listedAtOnce,
  measure,
  type OpenedBlob,
  probe,
  probing,
  readCapped,
  readVerified,
} from './storage.ts'

const connectWithinMs = 1000
const answerWithinMs = 10_000
// In the middle of a body.
const silentForMs = 60_000
const attempts = 3
const checkWithinMs = 2000
// Swift takes 11 ms for each and answers after the last; a thousand would not be done in time.
const deletedAtOnce = 100

/**
 * Blobs in a bucket. Only Put, Get, Head, List and Delete, and no conditional writes: Swift and R2 differ from
 * Amazon in nearly everything else.
 */
export function createS3Store(config: S3Config): BlobStore {
  const client = connect(config)
  const Bucket = config.bucket

  async function openBlob(name: string): Promise<OpenedBlob | undefined> {
    const Key = keyOf(name)
    const object = await client.send(new GetObjectCommand({ Bucket, Key })).catch(absent)
    if (!object) return undefined
    return { stream: object.Body as Readable, sizeBytes: object.ContentLength ?? 0 }
  }

  async function has(name: string): Promise<boolean> {
    const Key = keyOf(name)
    return (await client.send(new HeadObjectCommand({ Bucket, Key })).catch(absent)) !== undefined
  }

  const writeProbe = probing(() => {
    const object = { Key: 'probe', Body: probe, ContentLength: probe.length, ContentMD5: md5(probe) }
    const abortSignal = AbortSignal.timeout(checkWithinMs)
    return client.send(new PutObjectCommand({ Bucket, ...object }), { abortSignal })
  })

  return {
    /** Held in memory up to the cap: the key is the checksum, which is known only at the end. */
    async put(bytes, { maxBytes, generation = null }) {
      const measured = measure(bytes, maxBytes)
      const chunks: Uint8Array[] = []
      for await (const chunk of measured.chunks) chunks.push(chunk)
      const Body = Buffer.concat(chunks)
      const checksum = measured.checksum()
      const name = blobName({ checksum, generation })
      const created = !(await has(name))
      await client.send(
        // Also over a blob that is there: it becomes whole if it was damaged.
        new PutObjectCommand({
          Bucket,
          Key: keyOf(name),
          Body,
          ContentLength: Body.length,
          ContentMD5: md5(Body),
          ContentType: 'application/octet-stream',
        }),
      )
      return { name, checksum, sizeBytes: Body.length, created }
    },

    read: async (name, maxBytes) => readVerified(await openBlob(name), name, maxBytes),

    has,

    async delete(names) {
      const objects = names.map((name) => ({ Key: keyOf(name) }))
      for (let start = 0; start < objects.length; start += deletedAtOnce) {
        const Delete = { Objects: objects.slice(start, start + deletedAtOnce), Quiet: true }
        const { Errors = [] } = await client.send(new DeleteObjectsCommand({ Bucket, Delete }))
        const failed = Errors.filter(({ Code }) => Code !== 'NoSuchKey')
        if (failed[0]) throw new Error(`${failed.length} blobs were not deleted: ${failed[0].Message}`)
      }
    },

    async list(after, limit = listedAtOnce) {
      const found: ListedBlob[] = []
      let StartAfter = after === undefined ? undefined : keyOf(after)
      while (found.length < limit) {
        const MaxKeys = Math.min(limit - found.length, listedAtOnce)
        const page = await client.send(
          new ListObjectsV2Command({ Bucket, Prefix: keyPrefix, StartAfter, MaxKeys }),
        )
        for (const { Key = '', LastModified } of page.Contents ?? []) {
          const name = Key.split('/').at(-1) ?? ''
          const isBlob = isBlobName(name) && keyOf(name) === Key
          if (isBlob && LastModified) found.push({ name, storedAt: LastModified })
          StartAfter = Key
        }
        if (!page.IsTruncated) break
      }
      return found
    },

    async readImport(workspaceId, name, maxBytes) {
      const Key = importKey(workspaceId, name)
      const object = await client.send(new GetObjectCommand({ Bucket, Key })).catch(absent)
      return object && readCapped(object.Body as Readable, maxBytes)
    },

    async check() {
      const abortSignal = AbortSignal.timeout(checkWithinMs)
      await client.send(new HeadBucketCommand({ Bucket }), { abortSignal })
      await writeProbe()
    },
  }
}

function connect(config: S3Config): S3Client {
  const client = new S3Client({
    endpoint: config.endpoint,
    region: config.region,
    forcePathStyle: config.forcePathStyle,
    credentials: { accessKeyId: config.accessKeyId, secretAccessKey: config.secretAccessKey },
    maxAttempts: attempts,
    requestHandler: {
      connectionTimeout: connectWithinMs,
      requestTimeout: answerWithinMs,
      // Without it a late answer is only warned about.
      throwOnRequestTimeout: true,
      socketTimeout: silentForMs,
    },
    // The default wraps bodies in a trailing checksum, which Swift would store as content.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  // Swift refuses a deletion of many without this header, and the client no longer sends it.
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        const request = args.request as { headers: Record<string, string>; body: string | Uint8Array }
        if (commandName === 'DeleteObjectsCommand') request.headers['content-md5'] = md5(request.body)
        return next(args)
      },
    { step: 'build', priority: 'low', name: 'contentMd5' },
  )
  return client
}

function absent(error: unknown): undefined {
  if (error instanceof NoSuchKey || error instanceof NotFound) return undefined
  throw error
}

function md5(body: string | Uint8Array): string {
  return createHash('md5').update(body).digest('base64')
}
