import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { Bearer } from '../packages/server/src/operations/signed-url.ts'
import { migrate } from '../packages/server/src/platform/migrate.ts'
import { parseKeyRing } from '../packages/server/src/platform/secrets.ts'
import { streamUrl } from '../packages/server/src/running/executions/stream.ts'
import { makeFolder, removeFolder } from '../stack/folder.ts'
import { startPostgres } from '../stack/postgres.ts'
import { startRedis } from '../stack/redis.ts'
import { figuresOnly } from './options.ts'

/** What the measurements of events and streams share: the parts they run on, executions to measure, figures. */
const nowhere = 'http://127.0.0.1:9'

export interface Parts {
  readonly databaseUrl: string
  readonly redisUrl: string
  /** For processes that are measured. */
  readonly env: Record<string, string>
  stop(): Promise<void>
}

export async function openParts(): Promise<Parts> {
  const dir = await makeFolder()
  const [postgres, redis] = await Promise.all([startPostgres({ dir }), startRedis({ dir })])
  await migrate(postgres.url)
  const key = () => `1:${randomBytes(32).toString('base64url')}`
  return {
    databaseUrl: postgres.url,
    redisUrl: redis.url,
    env: {
      PUBLIC_URL: nowhere,
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      STORAGE: `directory:${dir}`,
      RESTATE_INGRESS_URL: nowhere,
      RESTATE_ADMIN_URL: nowhere,
      RESTATE_IDENTITY_KEY: 'none',
      KEY_PEPPERS: key(),
      SIGNING_KEYS: key(),
      ENCRYPTION_KEYS: key(),
      RECEIPT_KEYS: key(),
      LIMITS: 'off',
      LOG_LEVEL: 'warn',
      STOP_GRACE_MS: '0',
    },
    stop: async () => {
      await Promise.all([postgres.stop(), redis.stop()])
      await removeFolder(dir)
    },
  }
}

export interface BenchExecution {
  readonly id: number
  readonly executionId: string
  readonly bearer: Bearer
}

const streamsPerSession = 100

/** Working executions, each in a workspace of its own, of one person with as many sessions as streams need. */
export async function insertExecutions(databaseUrl: string, count: number): Promise<BenchExecution[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const checksum = randomBytes(32).toString('hex')
  await client.query('insert into bundles (checksum, files_count, size_bytes) values ($1, 1, 1)', [checksum])
  const user = await client.query(
    `insert into users (email, mode) values ('bench@example.test', 'basedmode') returning id`,
  )
  const userId: string = user.rows[0].id
  const workspaces = await client.query(
    `insert into workspaces (kind) select 'team' from generate_series(1, $1::int) returning id`,
    [count],
  )
  const workspaceIds: string[] = workspaces.rows.map(({ id }) => id)
  await client.query(
    `insert into workspace_members (workspace_id, user_id, role) select id, $2, 'owner' from unnest($1::uuid[]) as id`,
    [workspaceIds, userId],
  )
  const sessions = await client.query(
    `insert into sessions (token_hash, user_id, workspace_id, expires_at)
     select sha256(g::text::bytea), $1, $2, now() + interval '1 day' from generate_series(1, $3::int) g returning id`,
    [userId, workspaceIds[0], Math.ceil(count / streamsPerSession)],
  )
  const { rows } = await client.query(
    `insert into executions (execution_id, workspace_id, user_id, status, skill_id, skill_slug, skill_name, skill_version,
       bundle_checksum, source, interface, input_text, trace_id, attempt)
     select 'exec_' || id, id, $2, 'working', 1, 's', 'S', 1, $3, 'api', 'api', '', '', 1 from unnest($1::uuid[]) as id
     returning id, execution_id, workspace_id`,
    [workspaceIds, userId, checksum],
  )
  await client.query('vacuum analyze')
  await client.end()
  return rows.map((row, index) => ({
    id: Number(row.id),
    executionId: row.execution_id,
    bearer: {
      kind: 'session',
      credentialId: Number(sessions.rows[Math.floor(index / streamsPerSession)]?.id),
      userId,
      workspaceId: row.workspace_id,
    },
  }))
}

export function addressOf(parts: Parts, port: number, { bearer, executionId }: BenchExecution): string {
  const signingKeys = parseKeyRing(parts.env['SIGNING_KEYS'] ?? '')
  return streamUrl({ signingKeys, streamUrl: `http://127.0.0.1:${port}` }, bearer, executionId)
}

/** In MiB: what the process occupies, and what it holds after all else was collected. */
export function memoryNow(): { rssMiB: number; heldMiB: number } {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  const { rss, heapUsed, external } = process.memoryUsage()
  return { rssMiB: rss / 2 ** 20, heldMiB: (heapUsed + external) / 2 ** 20 }
}

/** User and system time so far. */
export function cpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5)
}

/** Prints a line of the verdict; the exit code tells whether all were reached. */
export function checkBar(what: string, figure: number, is: 'at least' | 'at most', bar: number): void {
  const reached = is === 'at least' ? figure >= bar : figure <= bar
  console.log(`${what}: ${figure.toFixed(2)} (required ${is} ${bar})${reached ? '' : '  NOT REACHED'}`)
  if (!reached && !figuresOnly) process.exitCode = 1
}
