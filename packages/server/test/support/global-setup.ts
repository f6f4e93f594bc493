import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { migrate } from '#platform/migrate.ts'
import { makeFolder, removeFolder } from '../../../../stack/folder.ts'
import { startPostgres } from '../../../../stack/postgres.ts'
import { startRedis } from '../../../../stack/redis.ts'

declare module 'vitest' {
  interface ProvidedContext {
    databaseUrl: string
    redisUrls: readonly string[]
    templateDatabase: string
  }
}

const templateDatabase = 'house_template'

/** One PostgreSQL for all files, a Redis for each worker; each file gets a database copied from a migrated template. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = await makeFolder()
  const workers = project.config.maxWorkers
  const [postgres, ...redises] = await Promise.all([
    startPostgres({ dir }),
    ...Array.from({ length: workers }, (_, worker) => startRedis({ dir: join(dir, `worker-${worker + 1}`) })),
  ])
  const admin = new pg.Client({ connectionString: postgres.url })
  await admin.connect()
  await admin.query(`create database ${templateDatabase}`)
  await admin.end()
  const templateUrl = new URL(postgres.url)
  templateUrl.pathname = `/${templateDatabase}`
  await migrate(templateUrl.href)
  project.provide('databaseUrl', postgres.url)
  project.provide(
    'redisUrls',
    redises.map(({ url }) => url),
  )
  project.provide('templateDatabase', templateDatabase)
  return async () => {
    await Promise.all([postgres, ...redises].map((part) => part.stop()))
    await removeFolder(dir)
  }
}
