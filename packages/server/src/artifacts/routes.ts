import { artifactRoutes, type BodyOf, isSlug, succeeded } from '@guildhall/contract'
import { recordActivity } from '../activity/activity.ts'
import { createOnce } from '../idempotency/idempotency.ts'
import { bindRoutes, type UploadedFile } from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import { decodeCursor, timePart, toPage } from '../operations/page.ts'
import { createArtifact, requireArtifactRoom, requireReadable, storageAway, storeFiles } from './artifacts.ts'
import { decodeBase64, toBundle } from './bundle.ts'
import * as store from './store.ts'
import { type BundleFile, unpack } from './unpack.ts'

const defaultPage = 50
const idPattern = /^artifact_[\w-]{1,80}$/
const idPart = (text: string) => idPattern.test(text)

export function artifactHandlers() {
  return bindRoutes(artifactRoutes, {
    createArtifact: async (call) => {
      const { body, upload, deps, principal } = call
      const bundle = toBundle(body.type, upload ? await filesOfForm(upload) : filesOfJson(body.files))
      const slug = body.slug ?? bundle.name ?? slugFrom(body.name)
      await requireArtifactRoom(deps.database.db, deps.config, principal.workspaceId, bundle)
      // Bytes first, outside the transaction: a slow store must not hold a connection.
      const stored = await storeFiles(deps, bundle)
      return createOnce(call, async (tx) => {
        const row = await createArtifact(
          tx,
          deps.config,
          principal,
          {
            type: body.type,
            slug,
            name: body.name ?? bundle.name ?? slug,
            description: body.description ?? bundle.description ?? '',
          },
          stored,
        )
        return { resourceId: row.id, answer: { ...describeArtifact(row), files: stored.files } }
      })
    },

    listArtifacts: async ({ principal, query, deps }) => {
      const limit = query.limit ?? defaultPage
      const [createdAt = '', id = ''] = query.cursor ? decodeCursor(query.cursor, [timePart, idPart]) : []
      const rows = await store.listArtifacts(deps.database.db, principal.workspaceId, {
        type: query.type,
        limit: limit + 1,
        after: query.cursor ? { createdAt, id } : undefined,
      })
      return toPage(rows, limit, describeArtifact, (row) => [row.created_at, row.id])
    },

    getArtifact: async (call) => {
      const { principal, params, deps } = call
      await requireReadable(call, params.id)
      const { db } = deps.database
      const row = await store.findArtifact(db, principal.workspaceId, params.id)
      if (!row) throw new ApiError('NOT_FOUND')
      const files = await store.listFiles(db, principal.workspaceId, row.id)
      const described = files.map(({ path, size_bytes, checksum }) => ({
        path,
        sizeBytes: size_bytes,
        checksum,
      }))
      return { ...describeArtifact(row), files: described }
    },

    getArtifactContent: async (call) => {
      const { principal, params, query, deps } = call
      await requireReadable(call, params.id)
      const files = await store.listFiles(deps.database.db, principal.workspaceId, params.id)
      if (files.length > 1 && query.path === undefined) {
        throw new ApiError('INVALID_INPUT', { message: 'path: say which of the files' })
      }
      const file = query.path === undefined ? files[0] : files.find(({ path }) => path === query.path)
      if (!file) throw new ApiError('NOT_FOUND')
      const blob = await deps.storage.open(file.checksum).catch(storageAway)
      if (!blob) throw new Error(`The content ${file.checksum} is referred to but not in the store`)
      return {
        stream: blob.stream,
        sizeBytes: blob.sizeBytes,
        contentType: 'application/octet-stream',
        fileName: file.path.split('/').at(-1) ?? 'file',
      }
    },

    deleteArtifact: async ({ principal, params, deps, access }) => {
      await deps.database.transaction(async (tx) => {
        const { workspaceId } = principal
        const gone = await store.deleteArtifact(tx, workspaceId, params.id)
        if (!gone) throw new ApiError('NOT_FOUND')
        await access.spend(tx)
        const { id: artifactId, type, slug, name } = gone
        const details = { artifactId, type, slug, name }
        await recordActivity(tx, principal, { type: 'artifact.deleted', workspaceId, details })
      })
      return succeeded
    },
  })
}

type Body = BodyOf<typeof artifactRoutes.createArtifact>

function filesOfJson(files: Body['files']): BundleFile[] {
  return (files ?? []).map(({ path, content, encoding }) => {
    const bytes = encoding === 'base64' ? decodeBase64(content) : Buffer.from(content)
    if (!bytes) throw new ApiError('INVALID_INPUT', { message: `${path}: content is not base64` })
    return { path, bytes }
  })
}

/** Either one archive in the field `bundle`, or each file for itself under its path as file name. */
async function filesOfForm(upload: readonly UploadedFile[]): Promise<BundleFile[]> {
  const archives = upload.filter(({ field }) => field === 'bundle')
  const [archive] = archives
  if (!archive) return upload.map(({ name, bytes }) => ({ path: name, bytes }))
  if (upload.length > 1)
    throw new ApiError('INVALID_INPUT', { message: 'Send one bundle, or files, not both' })
  return unpack(archive.bytes)
}

function slugFrom(name: string | undefined): string {
  const slug = (name ?? 'artifact')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 64)
  return isSlug(slug) ? slug : 'artifact'
}

function describeArtifact(row: store.ArtifactRow) {
  return {
    id: row.id,
    type: row.type,
    slug: row.slug,
    name: row.name,
    description: row.description,
    filesCount: row.files_count,
    sizeBytes: row.size_bytes,
    contentChecksum: row.content_checksum,
    createdBy: row.created_by,
    createdAt: row.created_at,
  }
}
