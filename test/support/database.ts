import pg from 'pg'

/** A stack's own database, for what HTTP does not show. */
export async function withDatabase<T>(url: string, work: (database: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  // A connection that breaks while nothing is asked fails what is asked next, and not the whole program.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
