import { type Config, readConfig } from './platform/config.ts'
import { createLogger, type Logger } from './platform/logger.ts'
import { missingMigrations } from './platform/migrate.ts'

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
  for (let attempt = 0; ; attempt++) {
    try {
      return await missingMigrations(url)
    } catch (error) {
      if (attempt % 20 === 0) logger.warn({ err: error }, 'waiting for PostgreSQL')
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }
}
