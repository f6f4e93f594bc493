import pg from 'pg'
import { stack } from './stack-only.ts'

/** The stack's own database, for what HTTP cannot bring about: a later time, a part that fails. */
export async function withDatabase<T>(work: (database: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: stack().databaseUrl })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
