import type { Deps } from '../deps.ts'

const answerWithinMs = 1000
const parts = ['postgres', 'redis', 'restate', 'workers', 'storage'] as const
type Part = (typeof parts)[number]

/**
 * Asks every part whether it answers, for real and each time; requests that come while it asks share the answer.
 */
export function createReadiness(): (deps: Deps) => Promise<Part[]> {
  let underWay: Promise<Part[]> | undefined
  return (deps) => {
    underWay ??= findDown(deps).finally(() => {
      underWay = undefined
    })
    return underWay
  }
}

async function findDown(deps: Deps): Promise<Part[]> {
  const [postgres, redis, engine, storage] = await Promise.all([
    inTime(deps.database.db.selectFrom('migrations').select('name').limit(1).execute()),
    inTime(deps.redis.ping()),
    deps.engine.check(),
    inTime(deps.storage.check()),
  ])
  // Both: the database answers, and requests are let through to it again.
  const serving = postgres && deps.database.available
  const up: Record<Part, boolean> = {
    postgres: serving,
    redis,
    restate: engine.engine,
    workers: engine.workers,
    storage,
  }
  for (const part of parts) deps.metrics.partUp.set({ part }, up[part] ? 1 : 0)
  return parts.filter((part) => !up[part])
}

async function inTime(answer: Promise<unknown>): Promise<boolean> {
  const late = new Promise<false>((resolve) => setTimeout(resolve, answerWithinMs, false).unref())
  return Promise.race([answer.then(() => true).catch(() => false), late])
}
