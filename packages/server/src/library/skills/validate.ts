import { type BundleFile, toBundle } from '#library/artifacts/artifacts.ts'
import { ApiError } from '#operations/errors.ts'
import type { Db } from '#platform/database.ts'
import { contentOf, whatIsMore } from './skills.ts'
import * as store from './store.ts'

/** What would become of these files if they were installed; nothing does. */
export async function validateSkill(
  db: Db,
  workspaceId: string,
  slug: string | undefined,
  readFiles: () => Promise<readonly BundleFile[]>,
) {
  try {
    const bundle = toBundle('skill', await readFiles())
    const content = contentOf(bundle, { checksum: '' }, undefined)
    const before = await store.findSkill(db, workspaceId, slug ?? content.name)
    const asksForMore = before && whatIsMore(before, content)
    return {
      valid: true,
      issues: [],
      warnings: content.warnings,
      name: content.name,
      description: content.description,
      filesCount: bundle.files.length,
      sizeBytes: bundle.sizeBytes,
      ...(asksForMore && { asksForMore }),
    }
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'INVALID_INPUT') throw error
    const path = error.details?.['path']
    const issue = { message: error.message, ...(typeof path === 'string' && { path }) }
    return { valid: false, issues: [issue], warnings: [] }
  }
}
