import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { migrate } from '#platform/migrate.ts'
import { makeFolder, removeFolder } from '../../../../stack/folder.ts'
import { startPostgres } from '../../../../stack/postgres.ts'
import { startRedis } from '../../../../stack/redis.ts'

declare module 'vitest' {
  interface ProvidedContext {
    databaseUrl: string
    redisUrl: string
    templateDatabase: string
  }
}

const templateDatabase = 'house_template'

/** One PostgreSQL and one Redis for all files; each file gets a database copied from a migrated template. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = await makeFolder()
  const [postgres, redis] = await Promise.all([startPostgres({ dir }), startRedis({ dir })])
  const admin = new pg.Client({ connectionString: postgres.url })
  await admin.connect()
  await admin.query(`create database ${templateDatabase}`)
  await admin.end()
  const templateUrl = new URL(postgres.url)
  templateUrl.pathname = `/${templateDatabase}`
  await migrate(templateUrl.href)
  project.provide('databaseUrl', postgres.url)
  project.provide('redisUrl', redis.url)
  project.provide('templateDatabase', templateDatabase)
  return async () => {
    await Promise.all([postgres.stop(), redis.stop()])
    await removeFolder(dir)
  }
}
