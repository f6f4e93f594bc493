import type { Config } from './config.ts'
import type { Database } from './database.ts'
import type { EngineClient } from './engine-client.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'
import type { Outbound } from './outbound.ts'
import type { RateWindows } from './rate-window.ts'
import type { RedisLink } from './redis.ts'
import type { BlobStore } from './storage.ts'
import type { Telemetry } from './telemetry.ts'

/** The parts every feature works with; made once per process. */
export interface Deps {
  readonly config: Config
  readonly logger: Logger
  readonly metrics: Metrics
  readonly database: Database
  readonly redis: RedisLink
  readonly rateWindows: RateWindows
  readonly storage: BlobStore
  readonly outbound: Outbound
  readonly engine: EngineClient
  readonly telemetry: Telemetry
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal
}
