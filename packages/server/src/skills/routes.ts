import { type AnswerOf, type BodyOf, skillRoutes, succeeded } from '@guildhall/contract'
import { recordActivity } from '../activity/activity.ts'
import { type BundleFile, toBundle, zipBundle } from '../artifacts/artifacts.ts'
import type { Bus } from '../bus/bus.ts'
import { createOnce } from '../idempotency/idempotency.ts'
import { bindRoutes, type Call } from '../operations/bind.ts'
import { ApiError } from '../operations/errors.ts'
import { walkPages } from '../operations/page.ts'
import type { Db, Tx } from '../platform/database.ts'
import { openComparer } from './comparer.ts'
import { diffBundles } from './diff.ts'
import { fetchSource, findOrigin, fromBundle } from './origins.ts'
import { contentOfRow, requireFreeSlot, type SkillContent, whileFetching, writeVersion } from './skills.ts'
import * as store from './store.ts'

const readAtOnce = 200

type Install = typeof skillRoutes.install

interface SkillParts {
  readonly bus: Bus
  /** Of another feature: what was fetched turned out to be a workflow. */
  installWorkflow(call: Call<Install>, files: readonly BundleFile[]): Promise<AnswerOf<Install>>
}

export function skillHandlers({ bus, installWorkflow }: SkillParts) {
  const announce = (workspaceId: string, slug: string) =>
    bus.publish({ type: 'cache-invalidate', workspaceId, keys: ['skills'], ids: [slug] })

  const compare = openComparer()

  return bindRoutes(skillRoutes, {
    listSkills: async ({ principal: { workspaceId }, query, deps: { database } }) => {
      const { db } = database
      const { limit, offset = 0 } = query
      const describe = async (row: Listed<store.LiveSkill>) => describeSkill(await withPrompt(db, row))
      if (limit === undefined) {
        const page = (after: string, size: number) => store.listSkillsAfter(db, workspaceId, after, size)
        return { items: walkPages({ start: '', size: readAtOnce }, page, ({ slug }) => slug, describe) }
      }
      const total = await store.countSkills(db, workspaceId)
      let shown = 0
      const page = (passed: number, size: number) =>
        store.listSkills(db, workspaceId, { limit: Math.min(size, limit - passed), offset: offset + passed })
      const items = walkPages(
        { start: 0, size: readAtOnce },
        page,
        () => shown,
        (row) => {
          shown++
          return describe(row)
        },
      )
      const rest = () => ({ total, limit, offset, hasMore: shown > 0 && offset + shown < total })
      return { items, within: { field: 'items', rest } }
    },

    getSkill: async ({ principal, params, deps }) => {
      const row = await store.findSkill(deps.database.db, principal.workspaceId, params.slug)
      if (!row) throw new ApiError('NOT_FOUND')
      return describeSkill(row)
    },

    installSkill: async (call) => {
      const { principal, params, body, deps, signal } = call
      // Bytes first, outside the transaction: a slow store or a slow registry must not hold a connection.
      const bring = async () => {
        const { content, stored } = await findOrigin(deps, principal, params.slug, body, signal)
        const wanted = withOverrides(content, body)
        return createOnce(call, async (tx) => {
          const { asksForMore } = await writeVersion(tx, deps.config, principal, params.slug, wanted, {
            stored,
          })
          const skill = await requireSkill(tx, principal.workspaceId, params.slug)
          return {
            resourceId: params.slug,
            answer: { ...describeSkill(skill), ...(asksForMore ? { asksForMore } : {}) },
          }
        })
      }
      const { db } = deps.database
      // From another registry, or from a store that may be as slow; what the catalog offers is in the database.
      const isFetched = body.registry !== undefined || body.artifactId !== undefined
      const answer = isFetched
        ? await whileFetching(db, principal.workspaceId, params.slug, bring)
        : await bring()
      announce(principal.workspaceId, params.slug)
      return answer
    },

    uninstallSkill: async ({ principal, params, deps, access }) => {
      const { workspaceId } = principal
      await deps.database.transaction(async (tx) => {
        await access.spend(tx)
        await requireFreeSlot(tx, workspaceId)
        if (!(await store.claimUninstall(tx, workspaceId, params.slug))) throw new ApiError('NOT_FOUND')
        const entry = { type: 'skill.uninstalled' as const, workspaceId, details: { slug: params.slug } }
        await recordActivity(tx, principal, entry)
      })
      announce(workspaceId, params.slug)
      return succeeded
    },

    listSkillVersions: async ({ principal: { workspaceId }, params, deps: { database } }) => {
      await requireSkill(database.db, workspaceId, params.slug)
      const page = (below: number, limit: number) =>
        store.listVersions(database.db, workspaceId, params.slug, { below, limit })
      const pages = { start: 2 ** 31 - 1, size: readAtOnce }
      const describe = async (row: Listed<store.VersionRow>) =>
        describeVersion(await withPrompt(database.db, row))
      return { items: walkPages(pages, page, (row) => row.version_number, describe) }
    },

    restoreSkillVersion: async ({ principal, params, deps, access }) => {
      const { workspaceId } = principal
      const { slug } = params
      const number = versionNumber(params.versionNumber)
      const restored = await deps.database.transaction(async (tx) => {
        await access.spend(tx)
        await requireFreeSlot(tx, workspaceId)
        // Held from here on, so that an uninstall cannot come between the look and the new version.
        await store.lockSkill(tx, workspaceId, slug)
        const row = await store.findVersion(tx, workspaceId, slug, number ?? 0)
        if (!row) throw await whyNot(tx, workspaceId, slug, number)
        const note = `Restored from version ${row.version_number}`
        await writeVersion(tx, deps.config, principal, slug, contentOfRow(row), { note })
        return row
      })
      announce(workspaceId, slug)
      const skill = { slug, contentChecksum: restored.bundle_checksum }
      return { success: true, restoredFrom: restored.version_number, skill } as const
    },

    diffSkillVersions: async ({ principal: { workspaceId }, params: { slug }, query, deps, signal }) => {
      const { db } = deps.database
      const { version_number: latest } = await requireSkill(db, workspaceId, slug)
      const to = query.to ?? latest
      const from = query.from ?? Math.max(1, to - 1)
      const [before, after] = await Promise.all(
        [from, to].map((number) => store.findVersion(db, workspaceId, slug, number)),
      )
      if (!before || !after) throw new ApiError('NOT_FOUND')
      const bundles = { workspaceId, from: before.bundle_checksum, to: after.bundle_checksum }
      return { slug, from, to, files: await diffBundles(deps, compare, bundles, signal) }
    },

    exportSkill: async ({ principal, params, deps }) => {
      const skill = await requireSkill(deps.database.db, principal.workspaceId, params.slug)
      return {
        stream: await zipBundle(deps, skill.bundle_checksum, skill.slug),
        contentType: 'application/zip',
        fileName: `${skill.slug}.zip`,
      }
    },

    install: async (call) => {
      const { principal, body, deps, signal } = call
      const fetch = () => fetchSource(deps, principal, body.source, body.kind, signal)
      const { files, origin } =
        body.slug === undefined
          ? await fetch()
          : await whileFetching(deps.database.db, principal.workspaceId, body.slug, fetch)
      if ((body.kind ?? kindOf(files)) === 'workflow') return installWorkflow(call, files)
      const bundle = toBundle('skill', files)
      const { content, stored } = await fromBundle(deps, principal.workspaceId, bundle, origin)
      const slug = body.slug ?? content.name
      const answer = await createOnce(call, async (tx) => {
        const wanted = withOverrides(content, body)
        const { asksForMore } = await writeVersion(tx, deps.config, principal, slug, wanted, { stored })
        const skill = describeSkill(await requireSkill(tx, principal.workspaceId, slug))
        const { filesCount, contentChecksum } = skill
        return {
          resourceId: slug,
          answer: {
            kind: 'skill' as const,
            slug,
            source: body.source,
            filesCount,
            contentChecksum,
            skill: { ...skill, ...(asksForMore ? { asksForMore } : {}) },
          },
        }
      })
      announce(principal.workspaceId, slug)
      return answer
    },
  })
}

function kindOf(files: readonly BundleFile[]): 'skill' | 'workflow' {
  const has = (name: string) => files.some(({ path }) => path === name || path.endsWith(`/${name}`))
  return has('workflow.json') && !has('SKILL.md') ? 'workflow' : 'skill'
}

type Listed<Row extends { prompt: string }> = Omit<Row, 'prompt'> & { readonly prompt: string | null }

/** Long instructions are read one at a time, when it is their turn in a list. */
async function withPrompt<Row extends Parameters<typeof store.findPrompt>[1] & { prompt: string | null }>(
  db: Db,
  row: Row,
) {
  return { ...row, prompt: row.prompt ?? (await store.findPrompt(db, row)) }
}

async function requireSkill(db: Parameters<typeof store.findSkill>[0], workspaceId: string, slug: string) {
  const row = await store.findSkill(db, workspaceId, slug)
  if (!row) throw new ApiError('NOT_FOUND')
  return row
}

/** Undefined for what is no positive integer. */
function versionNumber(text: string): number | undefined {
  const number = Number(text)
  return /^\d+$/.test(text) && number > 0 && number < 2 ** 31 ? number : undefined
}

/** A skill that is not there is missing before its version can be malformed. */
async function whyNot(tx: Tx, workspaceId: string, slug: string, number: number | undefined) {
  await requireSkill(tx, workspaceId, slug)
  if (number !== undefined) return new ApiError('NOT_FOUND')
  return new ApiError('INVALID_INPUT', { message: 'versionNumber: must be a positive integer' })
}

type Overrides = Pick<BodyOf<typeof skillRoutes.installSkill>, 'name' | 'description' | 'category'>

function withOverrides(content: SkillContent, { name, description, category }: Overrides): SkillContent {
  return {
    ...content,
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(category === undefined ? {} : { category }),
  }
}

function describeBundle({ bundle_checksum, files_count }: { bundle_checksum: string; files_count: number }) {
  return {
    contentChecksum: bundle_checksum,
    bundleType: files_count === 1 ? 'file' : 'folder',
    storagePath: `bundles/${bundle_checksum}`,
  }
}

function describeSkill(row: store.LiveSkill) {
  return {
    name: row.name,
    slug: row.slug,
    description: row.description,
    category: row.category,
    prompt: row.prompt,
    ...describeBundle(row),
    ...(row.repository === null ? {} : { repository: row.repository }),
    ...(row.commit_hash === null ? {} : { commitHash: row.commit_hash }),
    filesCount: row.files_count,
    versionNumber: row.version_number,
    warnings: row.warnings,
  }
}

function describeVersion(row: store.VersionRow) {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    skillId: row.skill_id,
    versionNumber: row.version_number,
    ...describeBundle(row),
    prompt: row.prompt,
    name: row.name,
    description: row.description,
    createdBy: row.created_by,
    note: row.note,
    createdAt: row.created_at,
    active: row.version_number === row.latest_version,
  }
}
