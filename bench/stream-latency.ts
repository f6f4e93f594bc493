import { Database } from '../packages/server/src/platform/database.ts'
import { createLogger } from '../packages/server/src/platform/logger.ts'
import { RedisLink } from '../packages/server/src/platform/redis.ts'
import { EventWriter } from '../packages/server/src/running/executions/event-log.ts'
import { addressOf, checkBar, cpuMicros, insertExecutions, openParts, quantile } from './event-parts.ts'
import { readNumbers } from './options.ts'
import { type Program, startProgram } from './program.ts'

/** From a worker's `write` to the reader: collected, stored, published, sent. Three processes besides the servers. */
const { streams, rate, seconds } = readNumbers({ streams: 1000, rate: 2000, seconds: 10 })
const requiredMs = 50
const paceMs = 5

const parts = await openParts()
const programs: Program[] = []
const logger = createLogger('warn')
const database = new Database({ url: parts.databaseUrl, poolSize: 20, logger })
const redis = new RedisLink({ url: parts.redisUrl, logger })
try {
  const executions = await insertExecutions(parts.databaseUrl, streams)
  const holder = await startProgram('stream-process.ts', parts.env)
  programs.push(holder)
  const clients = await startProgram('stream-clients.ts')
  programs.push(clients)
  await clients.ask({ urls: executions.map((execution) => addressOf(parts, holder.port, execution)) })
  await redis.settle()
  const streamCpu = async () => (await holder.ask<{ cpuMicros: number }>({})).cpuMicros
  const writers = executions.map(({ id }) => new EventWriter({ database, redis, logger }, { id, attempt: 1 }))

  const writeFor = async (seconds: number) => {
    const started = performance.now()
    let written = 0
    while (performance.now() - started < seconds * 1000) {
      const due = Math.floor(((performance.now() - started) / 1000) * rate)
      for (; written < due; written++) {
        const t = performance.timeOrigin + performance.now()
        writers[written % writers.length]?.write({
          type: 'agent.info',
          payload: { t, text: 'x'.repeat(150) },
        })
      }
      await new Promise((resolve) => setTimeout(resolve, paceMs))
    }
    await Promise.all(writers.map((writer) => writer.flush()))
    return written
  }
  await writeFor(2)
  await new Promise((resolve) => setTimeout(resolve, 1000))
  await clients.ask({ read: true })
  const cpuBefore = { writer: cpuMicros(), streams: await streamCpu() }
  const written = await writeFor(seconds)
  await new Promise((resolve) => setTimeout(resolve, 2000))
  const { latencies } = await clients.ask<{ latencies: number[] }>({ read: true })
  const writerMicros = (cpuMicros() - cpuBefore.writer) / written
  const streamMicros = ((await streamCpu()) - cpuBefore.streams) / written
  const at = (share: number) => quantile(latencies, share).toFixed(1)
  console.log(
    `${streams} streams, ${(written / seconds).toFixed(0)} events/s: ${latencies.length} of ${written} arrived; ` +
      `p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms; ` +
      `CPU per event: writer ${writerMicros.toFixed(0)} µs, stream process ${streamMicros.toFixed(0)} µs`,
  )
  if (latencies.length !== written) throw new Error('events were lost or doubled')
  checkBar('event to reader, p99 in ms', quantile(latencies, 0.99), 'at most', requiredMs)
} finally {
  for (const { child } of programs) child.kill()
  redis.close()
  await database.close()
  await parts.stop()
}
