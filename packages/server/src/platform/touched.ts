import { type TouchedItem, touchedCounted, touchedShown } from '@guildhall/contract'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from './database.ts'

/** Whose traces are asked for, and since when. */
export interface Touching {
  readonly keyId: number
  readonly workspaceId: string
  readonly since: string
}

export interface Touched {
  readonly count: number
  readonly items: readonly TouchedItem[]
}

/**
 * The newest of what a statement finds and how many there are, up to a bound: a key that has worked for a month may have
 * left more than anybody wants to wait for. The statement gives `id`, `title`, `at` and `undo`.
 */
export async function readTouched(db: Db, found: RawBuilder<unknown>): Promise<Touched> {
  const { rows } = await sql<TouchedItem & { count: number }>`
    select id, title, at, undo, count(*) over () as count
    from (${found} order by at desc limit ${sql.lit(touchedCounted)}) found
    order by at desc, id desc limit ${sql.lit(touchedShown)}`.execute(db)
  return {
    count: rows[0]?.count ?? 0,
    items: rows.map(({ id, title, at, undo }) => ({ id, title, at, undo })),
  }
}

/** Two parts of what is one kind to people. */
export function joinTouched(one: Touched, other: Touched): Touched {
  const items = [...one.items, ...other.items].sort((a, b) => (a.at < b.at ? 1 : -1)).slice(0, touchedShown)
  return { count: Math.min(one.count + other.count, touchedCounted), items }
}
