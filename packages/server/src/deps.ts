import type { EngineClient } from './engine/client.ts'
import type { Config } from './platform/config.ts'
import type { Database } from './platform/database.ts'
import type { Logger } from './platform/logger.ts'
import type { Metrics } from './platform/metrics.ts'
import type { RateWindows } from './platform/rate-window.ts'
import type { RedisLink } from './platform/redis.ts'
import type { Telemetry } from './platform/telemetry.ts'

/** The parts every feature works with; made once per process. */
export interface Deps {
  readonly config: Config
  readonly logger: Logger
  readonly metrics: Metrics
  readonly database: Database
  readonly redis: RedisLink
  readonly rateWindows: RateWindows
  readonly engine: EngineClient
  readonly telemetry: Telemetry
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal
}
