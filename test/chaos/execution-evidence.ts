import type pg from 'pg'
import { isAlive } from '../support/processes.ts'
import type { Account, Entry, ExecutionRecord, Reservation } from './execution-history.ts'

const lookEveryMs = 500

/** The process that has an execution; workers name themselves host/pid/number. */
function pidOf(workerId: string | null): number {
  return Number(workerId?.split('/')[1] ?? 0)
}

/** Watches how long executions work without a living worker. */
export function watchHolders(database: pg.Client) {
  const longest = new Map<string, number>()
  let unheldSince = new Map<string, number>()
  const look = async () => {
    const { rows } = await database.query<{ execution_id: string; worker_id: string | null }>(
      `select execution_id, worker_id from executions where status = 'working'`,
    )
    const now = performance.now()
    const unheld = rows.filter(({ worker_id }) => worker_id === null || !isAlive(pidOf(worker_id)))
    unheldSince = new Map(unheld.map(({ execution_id: id }) => [id, unheldSince.get(id) ?? now]))
    for (const [id, since] of unheldSince) {
      longest.set(id, Math.max(longest.get(id) ?? 0, Math.round(now - since)))
    }
  }
  let looking = Promise.resolve()
  const timer = setInterval(() => {
    looking = looking.then(look)
  }, lookEveryMs)
  return {
    longest,
    stop: async () => {
      clearInterval(timer)
      await looking
    },
  }
}

export async function countOpen(database: pg.Client): Promise<number> {
  const { rows } = await database.query<{ open: number }>(
    `select count(*)::int as open from executions where status not in ('completed', 'failed')`,
  )
  return rows[0]?.open ?? 0
}

export type ExecutionRow = Omit<ExecutionRecord, 'accepted' | 'longestUnheldMs' | 'readings'> & {
  readonly userId: string
}

export async function listExecutionRows(
  database: pg.Client,
  killedWorkers: ReadonlySet<number>,
): Promise<ExecutionRow[]> {
  const { rows } = await database.query(
    `select execution_id, user_id, status, error_code, cost_milli_ds::int as cost, worker_id from executions order by id`,
  )
  return rows.map((row) => ({
    executionId: row.execution_id,
    userId: row.user_id,
    status: row.status,
    errorCode: row.error_code,
    costMilliDs: row.cost,
    workerKilled: killedWorkers.has(pidOf(row.worker_id)),
  }))
}

/** Of all, or of one person. */
export async function readMoney(database: pg.Client | pg.Pool, userId: string | null = null) {
  const whose = 'where $1::uuid is null or user_id = $1'
  const [entries, accounts, reservations] = [
    await database.query<Entry>(
      `select user_id as "userId", source, target, amount_milli_ds::int as "amountMilliDs",
      execution_id as "executionId" from ledger ${whose}`,
      [userId],
    ),
    await database.query<Account>(
      `select user_id as "userId", available_milli_ds::int as available,
      reserved_milli_ds::int as reserved, spent_milli_ds::int as spent from credit_accounts ${whose}`,
      [userId],
    ),
    await database.query<Reservation>(
      `select execution_id as "executionId", amount_milli_ds::int as "amountMilliDs",
      charged_milli_ds::int as "chargedMilliDs" from reservations ${whose}`,
      [userId],
    ),
  ]
  return { entries: entries.rows, accounts: accounts.rows, reservations: reservations.rows }
}
