import { setTimeout } from 'node:timers/promises'
import type { Deps } from '../deps.ts'
import { readSkillsFolder } from './skills-folder.ts'
import { type SyncReport, syncCatalog } from './sync.ts'

/** What the skills that come with this service name as their origin. */
const shippedRepository = 'guildhall/catalog'

const waitMs = 2000
const firstRetryMs = 1000
const longestRetryMs = 60_000

type Parts = Pick<Deps, 'config' | 'database' | 'storage' | 'logger' | 'stopping'>

export async function syncShippedCatalog(
  deps: Pick<Deps, 'config' | 'database' | 'storage'>,
): Promise<SyncReport> {
  const { commitHash, folders } = await readSkillsFolder(deps.config.catalogDirectory)
  return syncCatalog(deps, { repository: shippedRepository, commitHash }, folders)
}

/**
 * Brings the shipped skills into the catalog when a process starts. Usually done before it serves; when a part is
 * away the process serves what is there, and this goes on trying.
 */
export async function offerShippedCatalog(deps: Parts): Promise<void> {
  await Promise.race([keepTrying(deps), setTimeout(waitMs, undefined, { ref: false })])
}

async function keepTrying(deps: Parts): Promise<void> {
  const { logger, stopping } = deps
  for (let retryMs = firstRetryMs; !stopping.aborted; retryMs = Math.min(2 * retryMs, longestRetryMs)) {
    try {
      const { skipped, ...report } = await syncShippedCatalog(deps)
      logger.info(report, 'the shipped skills are in the catalog')
      if (skipped.length > 0) logger.warn({ skipped }, 'shipped skills that did not go into the catalog')
      return
    } catch (error) {
      if (stopping.aborted) return
      logger.warn({ err: error, retryMs }, 'the shipped skills could not be brought into the catalog yet')
      await setTimeout(retryMs, undefined, { ref: false, signal: stopping }).catch(() => {})
    }
  }
}
