import { setTimeout } from 'node:timers/promises'
import type { Deps } from '#platform/deps.ts'
import { retry } from '#platform/retry.ts'
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
  const bring = async () => {
    if (stopping.aborted) return
    const { skipped, ...report } = await syncShippedCatalog(deps)
    logger.info(report, 'the shipped skills are in the catalog')
    if (skipped.length > 0) logger.warn({ skipped }, 'shipped skills that did not go into the catalog')
  }
  const pauseAfter = (error: unknown, failures: number) => {
    if (stopping.aborted) return undefined
    const retryMs = Math.min(firstRetryMs * 2 ** (failures - 1), longestRetryMs)
    logger.warn({ err: error, retryMs }, 'the shipped skills could not be brought into the catalog yet')
    return retryMs
  }
  await retry(bring, pauseAfter, stopping).catch((error) => {
    if (!stopping.aborted) throw error
  })
}
