import { type RawBuilder, sql } from 'kysely'

/** The database's clock is the only one that decides a deadline. */
export const now: RawBuilder<string> = sql<string>`guild_now()`

export function secondsFromNow(seconds: number): RawBuilder<string> {
  return sql<string>`guild_now() + make_interval(secs => ${seconds})`
}

export function secondsAgo(seconds: number): RawBuilder<string> {
  return sql<string>`guild_now() - make_interval(secs => ${seconds})`
}
