import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'

const folder = join(import.meta.dirname, '../../migrations')
/** Any number does, as long as every process uses the same one. */
const lockId = 7_141_001

function migrationNames(): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
}

/**
 * Brings the database up to this version. Each migration runs in a transaction of its own together with the
 * note that it ran; a lock lets one process do it while others wait.
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const applied: string[] = []
  try {
    await client.query('select pg_advisory_lock($1)', [lockId])
    await client.query(
      'create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())',
    )
    const done = await appliedNames(client)
    for (const name of migrationNames()) {
      if (done.has(name)) continue
      await client.query('begin')
      await client.query(readFileSync(join(folder, name), 'utf8'))
      await client.query('insert into migrations (name) values ($1)', [name])
      await client.query('commit')
      applied.push(name)
    }
  } finally {
    await client.end()
  }
  return applied
}

/** What this version needs and the database does not have; a process must not serve on an older schema. */
export async function missingMigrations(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query("select to_regclass('migrations') is not null as known")
    const done = rows[0].known ? await appliedNames(client) : new Set()
    return migrationNames().filter((name) => !done.has(name))
  } finally {
    await client.end()
  }
}

async function appliedNames(client: pg.Client): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>('select name from migrations')
  return new Set(rows.map((row) => row.name))
}
