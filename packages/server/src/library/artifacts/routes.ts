import { artifactRoutes, isSlug, succeeded } from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import { bindRoutes } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import { decodeCursor, timePart, toPage } from '#operations/page.ts'
import type { Deps } from '#platform/deps.ts'
import {
  createArtifact,
  requireArtifactRoom,
  requireReadable,
  storeForWorkspace,
  sweepBlobs,
} from './artifacts.ts'
import { toBundle } from './bundle.ts'
import { readContent } from './content.ts'
import { givenFiles } from './given-files.ts'
import * as store from './store.ts'

const defaultPage = 50
const idPattern = /^artifact_[\w-]{1,80}$/
const idPart = (text: string) => idPattern.test(text)

export function artifactFeature(deps: Deps): Feature {
  const routes = bindRoutes(artifactRoutes, {
    createArtifact: async (call) => {
      const { body, upload, deps, principal } = call
      const bundle = toBundle(body.type, await givenFiles(body.files, upload))
      const slug =
        body.slug ??
        bundle.name ??
        (body.type === 'workflow' ? declaredId(bundle) : undefined) ??
        slugFrom(body.name)
      await requireArtifactRoom(deps.database.db, deps.config, principal.workspaceId, bundle)
      // Bytes first, outside the transaction: a slow store must not hold a connection.
      const stored = await storeForWorkspace(deps, principal.workspaceId, bundle)
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
      return {
        heldBytes: file.size_bytes,
        read: () => readContent(deps, file),
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
  return {
    routes,
    sweeps: [{ table: 'blobs', run: () => sweepBlobs(deps) }],
  }
}

const definitionBytes = 1024 * 1024

/** Of a workflow, as far as it can be read: two that say no slug are two, and installing one leaves the other alone. */
function declaredId({ files }: ReturnType<typeof toBundle>): string | undefined {
  const main = files.find(({ path }) => path === 'workflow.json')
  // Nothing larger is ever installed, and reading it would hold up everybody.
  if (!main || main.bytes.length > definitionBytes) return undefined
  try {
    const { id } = JSON.parse(main.bytes.toString())
    return typeof id === 'string' && isSlug(id) ? id : undefined
  } catch {
    return undefined
  }
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
