import type { RedisLink } from '#platform/redis.ts'
import { turnsOfLog } from '#running/traces/traces.ts'
import { listKeptLogs, updateErased } from './event-store.ts'
import { threadLog } from './thread-log.ts'

/** How traces read the logs of threads. */
export function threadTurns(redis: RedisLink) {
  return turnsOfLog(redis, threadLog, { listKept: listKeptLogs, erase: updateErased })
}
