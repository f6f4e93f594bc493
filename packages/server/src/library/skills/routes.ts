import { type AnswerOf, skillRoutes, succeeded } from '@guildhall/contract'
import { recordActivity } from '#accounts/activity/activity.ts'
import {
  type BundleFile,
  failingAs,
  givenFiles,
  requireNameable,
  toBundle,
  zipBundle,
} from '#library/artifacts/artifacts.ts'
import { bindRoutes, type Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import { walkPages } from '#operations/page.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { openComparer } from './comparer.ts'
import { describeSkill, describeVersion, kindOf, withOverrides, withPrompt } from './describe.ts'
import { diffBundles } from './diff.ts'
import * as fetchStore from './fetch-store.ts'
import { fetchSource, findOrigin, fromBundle } from './origins.ts'
import { contentOfRow, requireFreeSlot, whileFetching, writeVersion } from './skills.ts'
import * as store from './store.ts'
import { validateSkill } from './validate.ts'

const readAtOnce = 200

type Install = typeof skillRoutes.install

interface SkillParts {
  /** Of another feature: what was fetched turned out to be a workflow. */
  installWorkflow(call: Call<Install>, files: readonly BundleFile[]): Promise<AnswerOf<Install>>
}

export function skillFeature({ database }: Deps, { installWorkflow }: SkillParts): Feature {
  const compare = openComparer()

  const routes = bindRoutes(skillRoutes, {
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

    validateSkill: ({ principal, body, upload, deps }) =>
      validateSkill(deps.database.db, principal.workspaceId, body.slug, () => givenFiles(body.files, upload)),

    installSkill: async (call) => {
      const { principal, params, body, deps, signal } = call
      if (body.artifactId !== undefined) await requireNameable(call, body.artifactId)
      // Bytes first, outside the transaction: a slow store or a slow registry must not hold a connection.
      const bring = async () => {
        const { content, stored } = await findOrigin(deps, principal, params.slug, body, signal)
        const wanted = withOverrides(content, body)
        return createOnce(call, async (tx) => {
          const { slug } = params
          const { asksForMore } = await writeVersion(tx, deps.config, principal, slug, wanted, { stored })
          const skill = describeSkill(await requireSkill(tx, principal.workspaceId, slug))
          return { resourceId: slug, answer: { ...skill, ...(asksForMore ? { asksForMore } : {}) } }
        })
      }
      const { db } = deps.database
      // From another registry, or from a store that may be as slow; what the catalog offers is in the database.
      const isFetched = body.registry !== undefined || body.artifactId !== undefined
      return isFetched
        ? failingAs('INTERNAL_ERROR', whileFetching(db, principal.workspaceId, params.slug, bring))
        : bring()
    },

    uninstallSkill: async ({ principal, params, deps, access }) => {
      const { workspaceId } = principal
      await deps.database.transaction(async (tx) => {
        await access.spend(tx)
        await requireSkill(tx, workspaceId, params.slug)
        await requireFreeSlot(tx, workspaceId)
        if (!(await store.claimUninstall(tx, workspaceId, params.slug))) throw new ApiError('NOT_FOUND')
        const entry = { type: 'skill.uninstalled' as const, workspaceId, details: { slug: params.slug } }
        await recordActivity(tx, principal, entry)
      })
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

    restoreSkillVersion: async (call) => {
      const { principal, params, deps } = call
      const { workspaceId } = principal
      const { slug } = params
      const number = versionNumber(params.versionNumber)
      return createOnce(call, async (tx) => {
        // Held from here on, so that an uninstall cannot come between the look and the new version.
        await store.lockSkill(tx, workspaceId, slug)
        const row = await store.findVersion(tx, workspaceId, slug, number ?? 0)
        if (!row) throw await whyNot(tx, workspaceId, slug, number)
        const restored = { from: row.version_number }
        await writeVersion(tx, deps.config, principal, slug, contentOfRow(row), { restored })
        const skill = { slug, contentChecksum: row.bundle_checksum }
        return {
          resourceId: slug,
          answer: { success: true as const, restoredFrom: row.version_number, skill },
        }
      })
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
        ...(await zipBundle(deps, skill.bundle_checksum, skill.slug)),
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
      const storing = fromBundle(deps, principal.workspaceId, bundle, origin)
      const { content, stored } = await failingAs('INTERNAL_ERROR', storing)
      const slug = body.slug ?? content.name
      return createOnce(call, async (tx) => {
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
    },
  })
  return {
    routes,
    sweeps: [{ table: 'skill_fetches', run: () => fetchStore.deleteLapsedFetches(database.db) }],
  }
}

type Listed<Row extends { prompt: string }> = Omit<Row, 'prompt'> & { readonly prompt: string | null }

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
