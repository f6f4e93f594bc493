import type { Attempt } from './sandbox-settings.ts'
import { readCount } from './setting-readers.ts'

/** What a workspace may have at most, and what of it one key. */
export interface QuotaSettings {
  readonly artifactBytes: number
  readonly artifactFiles: number
  readonly idleExecutions: number
  readonly idleExecutionsPerKey: number
  readonly traceBytes: number
  readonly runBytes: number
}

export function readQuotas(attempt: Attempt): QuotaSettings {
  return {
    artifactBytes: attempt('QUOTA_ARTIFACT_BYTES', readCount, 10_000_000_000),
    artifactFiles: attempt('QUOTA_ARTIFACT_FILES', readCount, 100_000),
    idleExecutions: attempt('QUOTA_IDLE_EXECUTIONS', readCount, 1000),
    idleExecutionsPerKey: attempt('QUOTA_IDLE_EXECUTIONS_PER_KEY', readCount, 50),
    traceBytes: attempt('QUOTA_TRACE_BYTES', readCount, 10_000_000_000),
    runBytes: attempt('QUOTA_RUN_BYTES', readCount, 10_000_000_000),
  }
}
