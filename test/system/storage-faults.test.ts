import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { withDatabase } from '../support/database.ts'
import { bash, mustRun, newRunner, readLog, script, seen } from '../support/executions.ts'
import { until } from '../support/processes.ts'
import { isProof } from '../support/sizes.ts'
import { roughStack, type SharedStack } from './support/shared-stacks.ts'

/**
 * What becomes of work that is done while what it made cannot be stored. In a proof the folder of blobs is a disk of 4 MiB
 * and full at times; in the gate the database fails alone, for a full disk is waited for as long as a test may take.
 */

const credits = isProof ? 60 : 10_000
const cost = 3
const usage = { input: Math.round((cost * 1_000_000) / 300), output: 0 }
let stack: SharedStack
let own: SpawnedStack | undefined
let app: Caller
let person: Person
let blobs: string

beforeAll(async () => {
  if (isProof) own = await spawnStack(['--limits', 'off', '--env', `STARTING_CREDITS=${credits}`])
  stack = own ?? (await roughStack())
  app = createCaller(stack.baseUrl)
  if (!own) return
  blobs = join(stack.dir, 'blobs')
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0777', 'tmpfs', blobs])
})

afterAll(async () => {
  if (blobs) execFileSync('umount', ['-l', blobs])
  if (own) expect(await own.stop()).toBe(0)
})

const filler = () => join(blobs, 'filler')
const readiness = async () => (await app.call('GET', '/readyz')).body

function fillDisk(): void {
  // Until nothing more goes in, in pieces of the size of a page.
  const page = Buffer.alloc(4096)
  for (;;) {
    try {
      writeFileSync(filler(), page, { flag: 'a' })
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC')
      return
    }
  }
}

const query = async <T>(text: string, values: unknown[] = []): Promise<T[]> =>
  withDatabase(stack.databaseUrl, async (database) => (await database.query(text, values)).rows)

const entriesOf = (executionId: string) =>
  query<{ kind: string; ds: number }>(
    'select kind, amount_milli_ds::float8 / 1000 as ds from ledger where execution_id = $1 order by id',
    [executionId],
  )

/** Leaves a file, then says that it is done; `slow` gives time to prepare a fault. */
const errand = (slow = false) =>
  script(
    { tools: [bash(`${slow ? 'sleep 2; ' : ''}head -c 20000 /dev/urandom > out.bin`)], usage },
    { say: 'The file is there.', usage: { input: 0, output: 0 } },
  )

async function ending(executionId: string) {
  const log = await readLog(app, person, executionId)
  const { body } = await app.call('GET', `/api/v1/executions/${executionId}/status`, { token: person.token })
  const [row] = await query<{ summary: string | null; cost: number }>(
    'select summary, cost_milli_ds::float8 / 1000 as cost from executions where execution_id = $1',
    [executionId],
  )
  const text = log
    .filter(({ type }) => type === 'agent.message')
    .map(({ payload }) => JSON.stringify(payload))
  return { status: body.status, reason: log.at(-1)?.payload['stop_reason'], row, text: text.join(), log }
}

async function expectUncharged(executionId: string): Promise<void> {
  const entries = await entriesOf(executionId)
  expect(entries.map(({ kind }) => kind)).toEqual(['reserve', 'release'])
  // Whoever has little sets all of it aside.
  if (isProof) expect(entries[0]?.ds).toBe(credits)
  expect(entries[1]?.ds).toBe(entries[0]?.ds)
  const billing = await app.call('GET', '/api/v1/billing', { token: person.token })
  expect(billing.body).toMatchObject({ balance: credits, availableBalance: credits })
}

test.runIf(isProof)(
  'a full disk is told by /readyz, and costs nobody anything',
  async () => {
    person = await newRunner(app)
    expect(await readiness()).toEqual({ status: 'ok', down: [] })
    const executionId = await mustRun(app, person, errand(true))
    await seen(app, person, executionId, 'agent.tool_use')
    fillDisk()
    await until(async () => (await readiness()).status === 'degraded', 10_000)
    expect(await readiness()).toEqual({ status: 'degraded', down: ['storage'] })
    const { status, reason, row, text } = await ending(executionId)
    expect([status, reason]).toEqual(['failed', { type: 'error', code: 'STORAGE_UNAVAILABLE' }])
    expect(row).toEqual({ summary: 'The file is there.', cost: 0 })
    expect(text).toContain('The file is there.')
    await expectUncharged(executionId)
    rmSync(filler())
    await until(async () => (await readiness()).status === 'ok', 10_000)
  },
  90_000,
)

test.runIf(isProof)(
  'a disk that is full for a moment is waited for',
  async () => {
    person = await newRunner(app)
    const executionId = await mustRun(app, person, errand(true))
    await seen(app, person, executionId, 'agent.tool_use')
    fillDisk()
    await seen(app, person, executionId, 'agent.message')
    await pause(2000)
    rmSync(filler())
    const { status, log } = await ending(executionId)
    expect(status).toBe('completed')
    expect(log.filter(({ payload }) => payload['kind'] === 'file')).toHaveLength(1)
    expect((await entriesOf(executionId)).map(({ kind, ds }) => [kind, ds])).toContainEqual(['settle', cost])
  },
  90_000,
)

test.each([
  ['blobs', 'before the bytes are written'],
  ['artifacts', 'while the artifact is made'],
])(
  'a connection that breaks at %s, %s, loses nothing',
  async (table) => {
    person = await newRunner(app)
    const executionId = await mustRun(app, person, errand(true))
    await seen(app, person, executionId, 'agent.tool_use')
    await withDatabase(stack.databaseUrl, async (holder) => {
      await holder.query('begin')
      await holder.query(`lock table ${table} in exclusive mode`)
      let broken = 0
      await until(async () => {
        const rows = await query<{ done: boolean }>(
          `select pg_terminate_backend(pid) as done from pg_stat_activity
         where wait_event_type = 'Lock' and datname = current_database() and query like $1`,
          [`%${table}%`],
        )
        broken += rows.length
        return broken > 0
      }, 20_000)
      await holder.query('rollback')
    })
    const { status, reason, log } = await ending(executionId)
    expect([status, reason]).toEqual(['completed', { type: 'end_turn' }])
    expect(log.filter(({ payload }) => payload['kind'] === 'file')).toHaveLength(1)
    const artifacts = await query('select id from artifacts where workspace_id = $1 and type = $2', [
      person.workspaceId,
      'file',
    ])
    expect(artifacts).toHaveLength(1)
  },
  90_000,
)

test.each([
  ['holds as much as it may', 'bytes'],
  ['has written as much as it may within the hour', 'written_bytes'],
])(
  'work in a workspace that %s ends with a word about it, is paid and leaves nothing',
  async (_what, column) => {
    person = await newRunner(app)
    const executionId = await mustRun(app, person, errand(true))
    await seen(app, person, executionId, 'agent.tool_use')
    const full = 10_000_000_000 - 10_000
    await query(
      `update artifact_usage set ${column} = $2, written_hour = date_trunc('hour', guild_now()) where workspace_id = $1`,
      [person.workspaceId, full],
    )
    const { status, reason, row, text } = await ending(executionId)
    expect([status, reason]).toEqual(['failed', { type: 'error', code: 'QUOTA_EXCEEDED' }])
    expect(row).toEqual({ summary: 'The file is there.', cost })
    expect(text).toContain('The file is there.')
    expect((await entriesOf(executionId)).map(({ kind, ds }) => [kind, ds])).toContainEqual(['settle', cost])
    const made = await query("select from artifacts where workspace_id = $1 and type = 'file'", [
      person.workspaceId,
    ])
    expect(made).toEqual([])
    const { body } = await app.call('GET', `/api/v1/executions/${executionId}/status`, {
      token: person.token,
    })
    const said = {
      type: 'error',
      code: 'QUOTA_EXCEEDED',
      message: expect.stringContaining('delete artifacts'),
    }
    expect(body.outputBlocks.at(-1)).toMatchObject(said)
  },
  90_000,
)

test('a log that cannot be written to is a fault of ours too', async () => {
  person = await newRunner(app)
  await query(`
    create function refuse_event() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file' using errcode = '53100'; end $$;
    create trigger refuse before insert on execution_events for each row
      when (new.type = 'agent.message') execute function refuse_event()`)
  // Also when it is given up on: others write to the same table.
  onTestFinished(async () => {
    await query('drop trigger refuse on execution_events; drop function refuse_event()')
  })
  const executionId = await mustRun(app, person, errand())
  const { status, reason } = await ending(executionId)
  expect([status, reason]).toEqual(['failed', { type: 'error', code: 'STORAGE_UNAVAILABLE' }])
  await expectUncharged(executionId)
}, 90_000)
