import { type RawBuilder, sql } from 'kysely'

/**
 * The database's clock is the only one that decides a deadline: this is for comparing with one, and for bringing one about.
 * It is the time at which the transaction began.
 */
export const now: RawBuilder<string> = sql<string>`guild_now()`

/**
 * When something happens, for what is written of it: later than `now` by what the transaction has waited for others, so
 * that of two that waited for each other the second is told as the second.
 */
export const thisMoment: RawBuilder<string> = sql<string>`guild_moment()`

/** From the time at which a row is written that is made by this statement: it lasts as long as it says. */
export function secondsFromNow(seconds: number): RawBuilder<string> {
  return sql<string>`guild_statement() + make_interval(secs => ${seconds})`
}

export function secondsAgo(seconds: number): RawBuilder<string> {
  return sql<string>`guild_now() - make_interval(secs => ${seconds})`
}
