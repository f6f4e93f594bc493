// Has readers tail a trace while logs grow, agents append and API processes are killed:
//   node test/chaos/traces.ts --seconds 60
import { parseArgs } from 'node:util'
import { runTraceMerge } from './trace-merge.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, 'kill-every': { type: 'string', default: '5' } },
})
const { violations, figures } = await runTraceMerge({
  seconds: Number(values.seconds),
  killEveryMs: Number(values['kill-every']) * 1000,
})
console.log(JSON.stringify(figures, null, 2))
for (const violation of violations.slice(0, 20)) console.log(violation)
console.log(`${violations.length} violations`)
process.exitCode = violations.length === 0 ? 0 : 1
