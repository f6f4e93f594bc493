import { createEngineClient } from '#machinery/engine/client.ts'
import type { Config, StorageConfig } from '#platform/config.ts'
import { Database } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import type { Logger } from '#platform/logger.ts'
import { createMetrics } from '#platform/metrics.ts'
import { openOutbound } from '#platform/outbound.ts'
import { RateWindows } from '#platform/rate-window.ts'
import { RedisLink } from '#platform/redis.ts'
import type { BlobStore } from '#platform/storage.ts'
import { createDirectoryStore } from '#platform/storage-directory.ts'
import { createS3Store } from '#platform/storage-s3.ts'
import { startTelemetry } from '#platform/telemetry.ts'

export async function openDeps(config: Config, logger: Logger, stopping: AbortSignal): Promise<Deps> {
  const metrics = createMetrics()
  const redis = new RedisLink({ url: config.redisUrl, logger })
  return {
    config,
    logger,
    metrics,
    database: new Database({ url: config.databaseUrl, poolSize: config.databasePoolSize, logger }),
    redis,
    rateWindows: new RateWindows({ redis, onLocal: () => metrics.localLimiter.inc() }),
    storage: openStorage(config.storage),
    outbound: openOutbound(config.fetchAllow, config.fetchAllowCaFile),
    engine: createEngineClient(config.restateIngressUrl, config.restateAdminUrl),
    telemetry: await startTelemetry(config, 'api'),
    stopping,
  }
}

function openStorage(config: StorageConfig): BlobStore {
  return config.kind === 's3' ? createS3Store(config) : createDirectoryStore(config.path)
}

export async function closeDeps({ redis, database, telemetry }: Deps): Promise<void> {
  redis.close()
  await database.close()
  await telemetry.close()
}
