import { type RawBuilder, type SqlBool, sql } from 'kysely'

/**
 * How a row with a deadline reads, as SQL: what is still open when its time is over has expired. It is computed on
 * reading and never stored, so nothing has to run for a deadline to hold. A row without one stays open.
 */
export function stateText(row: string, open: readonly string[] = ['pending']): string {
  const isOpen = `${row}.status in (${open.map((status) => `'${status}'`).join(', ')})`
  return `case when ${isOpen} and ${row}.expires_at <= guild_now() then 'expired' else ${row}.status end`
}

export function stateOf<State extends string>(row: string, open?: readonly string[]): RawBuilder<State> {
  return sql<State>`${sql.raw(stateText(row, open))}`
}

/** The condition of every change of a pending row: its state is `pending`, in a form that indexes of pending rows serve. */
export function isPending(row: string): RawBuilder<SqlBool> {
  const { status, expires } = { status: sql.ref(`${row}.status`), expires: sql.ref(`${row}.expires_at`) }
  return sql<SqlBool>`(${status} = 'pending' and (${expires} is null or ${expires} > guild_now()))`
}
