import { type Config, readConfig } from '#platform/config.ts'
import { createLogger, type Logger } from '#platform/logger.ts'
import { missingMigrations } from '#platform/migrate.ts'
import { retry } from '#platform/retry.ts'

/** What both roles do first: read the configuration and refuse to run on a database they do not know. */
export async function startProcess(): Promise<{ config: Config; logger: Logger }> {
  let config: Config
  try {
    config = readConfig(process.env)
  } catch (error) {
    console.error((error as Error).message)
    console.error('See .env.example for what each setting means.')
    process.exit(2)
  }
  const logger = createLogger(config.logLevel)
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'a rejection nobody handled'))
  const missing = await waitForDatabase(config.databaseUrl, logger)
  if (missing.length > 0) {
    logger.fatal({ missing }, 'the database is older than this version: run "npm run migrate" first')
    process.exit(3)
  }
  return { config, logger }
}

/** A process manager starts things in any order; an absent database at start is waited for, not died of. */
async function waitForDatabase(url: string, logger: Logger): Promise<string[]> {
  return retry(
    () => missingMigrations(url),
    (error, failures) => {
      if (failures % 20 === 1) logger.warn({ err: error }, 'waiting for PostgreSQL')
      return 250
    },
  )
}
