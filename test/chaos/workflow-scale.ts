// Has one workspace hold runs that wait for people and runs that sleep, and measures what they cost:
//   node test/chaos/workflow-scale.ts --suspended 20000 --sleeping 20000
import { parseArgs } from 'node:util'
import { measureWaitingRuns } from './waiting-runs.ts'

const barMs = 30
/** What a worker may grow by with all that waits. */
const barMiB = 100

const { values } = parseArgs({
  options: {
    suspended: { type: 'string', default: '20000' },
    sleeping: { type: 'string', default: '20000' },
    ended: { type: 'string', default: '1000' },
    looks: { type: 'string', default: '2000' },
  },
})
const { violations, figures } = await measureWaitingRuns({
  suspended: Number(values.suspended),
  sleeping: Number(values.sleeping),
  ended: Number(values.ended),
  looks: Number(values.looks),
  say: (line) => console.error(line),
})
console.log(JSON.stringify(figures, null, 2))
for (const what of ['list', 'detail'] as const)
  if (figures[what].p99Ms > barMs) violations.push(`the p99 of the ${what} is over ${barMs} ms`)
for (const [index, before] of figures.workerMiB.before.entries())
  if ((figures.workerMiB.after[index] ?? Infinity) - before > barMiB)
    violations.push(`a worker has grown by more than ${barMiB} MiB`)
for (const violation of violations) console.log(violation)
process.exitCode = violations.length === 0 ? 0 : 1
