import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { exceptions, ownerOf } from '../support/table-owners.ts'
import { findTableUses } from '../support/table-uses.ts'

const root = join(import.meta.dirname, '../../src')
const tables: ReadonlySet<string> = new Set(Object.keys(ownerOf))

interface Use {
  readonly feature: string
  readonly table: string
  readonly writes: boolean
  readonly place: string
}

function usesIn(file: string, text: string): Use[] {
  const feature = basename(dirname(file))
  return findTableUses(file, text, tables).map(({ table, writes, line }) => ({
    feature,
    table,
    writes,
    place: `${file}:${line}`,
  }))
}

const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
)
const uses = files.flatMap((file) => usesIn(file, readFileSync(join(root, file), 'utf8')))

function isListed({ feature, table, writes }: Use): boolean {
  return exceptions.some(
    (one) =>
      one.feature === feature &&
      one.tables.some((name) => name === table) &&
      (!writes || one.may === 'write'),
  )
}

function violations(found: readonly Use[]): string[] {
  return found
    .filter((use) => ownerOf[use.table as keyof typeof ownerOf] !== use.feature && !isListed(use))
    .map(
      ({ feature, table, writes, place }) => `${place} ${feature}/ ${writes ? 'writes' : 'reads'} ${table}`,
    )
}

test('a statement names the tables of its own feature, or is listed with a reason', () => {
  expect(violations(uses)).toEqual([])
})

test('every table has a use that is found, and an owner that writes it', () => {
  // Counters that triggers keep, and what a migration alone fills.
  const writtenByTriggers = ['trace_usage', 'run_usage']
  const written = new Set(uses.filter((use) => use.writes).map(({ table }) => table))
  expect([...tables].filter((table) => !written.has(table))).toEqual(writtenByTriggers)
})

test('what is listed as an exception is one', () => {
  const idle = exceptions.flatMap(({ feature, tables: named, may }) =>
    named
      .filter((table) => {
        const own = uses.filter((use) => use.feature === feature && use.table === table)
        return own.length === 0 || (may === 'write' && !own.some(({ writes }) => writes))
      })
      .map((table) => `${feature} ${table}`),
  )
  expect(idle).toEqual([])
})

test('approval requests have one writer', () => {
  const writers = uses.filter((use) => use.table === 'approval_requests' && use.writes)
  expect(new Set(writers.map(({ place }) => place.split(':')[0]))).toEqual(
    new Set(['access/approvals/store.ts']),
  )
})

test.each([
  [
    'consent/store.ts',
    "tx.updateTable('approval_requests').set({ status: 'granted' })",
    'writes approval_requests',
  ],
  ['consent/store.ts', "db.insertInto('approval_requests').values(row)", 'writes approval_requests'],
  ['runs/store.ts', "db.deleteFrom('approval_requests')", 'writes approval_requests'],
  ['runs/store.ts', 'sql`update approval_requests set expires_at = guild_now()`', 'writes approval_requests'],
  [
    'runs/store.ts',
    "const text = `insert into approval_requests (id) values ('a')`",
    'writes approval_requests',
  ],
  [
    'runs/store.ts',
    'sql`with a as (delete from only approval_requests returning id) select 1`',
    'writes approval',
  ],
  ['consent/store.ts', "db.selectFrom('approval_requests as r').selectAll()", 'reads approval_requests'],
  ['consent/store.ts', "db.selectFrom('grants').innerJoin('workspaces', 'a', 'b')", 'reads workspaces'],
  ['consent/store.ts', "db.selectFrom(['grants', 'sessions as s'])", 'reads sessions'],
  ['consent/store.ts', 'const text = `select 1 from grants g, sessions s where $1`', 'reads sessions'],
  ['runs/log.ts', "createLog({ table: 'execution_events', key: 'id' })", 'writes execution_events'],
  ['approvals/store.ts', "db.updateTable('api_keys').set({ label })", 'writes api_keys'],
])('a planted statement is found: %s %s', (file, text, told) => {
  expect(violations(usesIn(file, text)).join()).toContain(told)
})

test('sentences to people are no statements', () => {
  const text = "const a = 'Pick one from the skills'; const b = `agents from other workspaces`"
  expect(usesIn('keys/keys.ts', text)).toEqual([])
})
