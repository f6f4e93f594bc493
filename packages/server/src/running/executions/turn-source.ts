import type { RedisLink } from '#platform/redis.ts'
import { turnsOfLog } from '#running/traces/traces.ts'
import { executionLog } from './event-log.ts'
import { listKeptLogs, updateErased } from './event-store.ts'

/** How traces read the logs of executions. */
export function executionTurns(redis: RedisLink) {
  return turnsOfLog(redis, executionLog, { listKept: listKeptLogs, erase: updateErased })
}
