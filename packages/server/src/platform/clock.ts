import { type RawBuilder, sql } from 'kysely'

/** The database's clock is the only one that decides a deadline. */
export const now: RawBuilder<string> = sql<string>`guild_now()`

/** Later than `now` by what the transaction has waited for others: for two moments that stand in an order. */
export const thisMoment: RawBuilder<string> = sql<string>`guild_now() + (clock_timestamp() - now())`

export function secondsFromNow(seconds: number): RawBuilder<string> {
  return sql<string>`guild_now() + make_interval(secs => ${seconds})`
}

export function secondsAgo(seconds: number): RawBuilder<string> {
  return sql<string>`guild_now() - make_interval(secs => ${seconds})`
}
