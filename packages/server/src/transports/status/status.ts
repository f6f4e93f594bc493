import type { Deps } from '#platform/deps.ts'

const answerWithinMs = 1000
/** A busy disk is late now and then: storage that answered so recently and has not failed since is believed. */
const storageSilentMs = 3000
const parts = ['postgres', 'redis', 'restate', 'workers', 'storage'] as const
type Part = (typeof parts)[number]

/**
 * Asks every part whether it answers, for real and each time; requests that come while it asks share the answer.
 */
export function createReadiness(): (deps: Deps) => Promise<Part[]> {
  let underWay: Promise<Part[]> | undefined
  let storageAnsweredAt = Number.NEGATIVE_INFINITY
  const checkStorage = async (deps: Deps) => {
    const asked = deps.storage.check().then(
      () => {
        storageAnsweredAt = performance.now()
        return true
      },
      () => false,
    )
    return inTime(asked, () => performance.now() - storageAnsweredAt < storageSilentMs)
  }
  return (deps) => {
    underWay ??= findDown(deps, checkStorage).finally(() => {
      underWay = undefined
    })
    return underWay
  }
}

async function findDown(deps: Deps, checkStorage: (deps: Deps) => Promise<boolean>): Promise<Part[]> {
  const [postgres, redis, engine, storage] = await Promise.all([
    inTime(answers(deps.database.db.selectFrom('migrations').select('name').limit(1).execute())),
    inTime(answers(deps.redis.ping())),
    deps.engine.check(),
    checkStorage(deps),
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

const answers = (asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => true,
    () => false,
  )

async function inTime(answer: Promise<boolean>, otherwise = () => false): Promise<boolean> {
  const late = new Promise<boolean>((resolve) =>
    setTimeout(() => resolve(otherwise()), answerWithinMs).unref(),
  )
  return Promise.race([answer, late])
}
