import { addressOf, checkBar, insertExecutions, openParts } from './event-parts.ts'
import { readNumbers } from './options.ts'
import { type Program, startProgram } from './program.ts'

/** Memory of one process with many open streams, each of another execution, against a bare holder of as many. */
const { streams: count } = readNumbers({ streams: 10_000 })
const requiredRatio = 1.5
const settleMs = 3000

type Memory = { rssMiB: number; heldMiB: number }

const parts = await openParts()
const programs: Program[] = []
const start = async (file: string, env: Record<string, string> = {}) => {
  const program = await startProgram(file, env)
  programs.push(program)
  return program
}
try {
  const executions = await insertExecutions(parts.databaseUrl, count)
  const grown: number[] = []
  for (const [name, file] of [
    ['bare', 'bare-stream-holder.ts'],
    ['guildhall', 'stream-process.ts'],
  ] as const) {
    const holder = await start(file, parts.env)
    const clients = await start('stream-clients.ts')
    const before = await holder.ask<Memory>({})
    const urls = executions.map((execution) => addressOf(parts, holder.port, execution))
    const started = performance.now()
    await clients.ask({ urls })
    const seconds = (performance.now() - started) / 1000
    await new Promise((resolve) => setTimeout(resolve, settleMs))
    const after = await holder.ask<Memory>({})
    const perStream = ((after.rssMiB - before.rssMiB) * 1024) / count
    const heldPerStream = ((after.heldMiB - before.heldMiB) * 1024) / count
    grown.push(perStream)
    console.log(
      `${name}: ${count} streams opened in ${seconds.toFixed(1)} s; ${perStream.toFixed(1)} KiB each ` +
        `(${heldPerStream.toFixed(1)} KiB of it held by JavaScript), ${after.rssMiB.toFixed(0)} MiB in all, ${before.rssMiB.toFixed(0)} before`,
    )
    clients.child.kill()
    holder.child.kill()
  }
  const [bare = Number.NaN, ours = Number.NaN] = grown
  checkBar(`memory of ${count} open streams, times bare`, ours / bare, 'at most', requiredRatio)
} finally {
  for (const { child } of programs) child.kill()
  await parts.stop()
}
