// Kills parts of a stack at random while it runs executions, and checks that nothing was lost:
//   node test/chaos/executions.ts --executions 200 --faults 60 --lanes 12
import { parseArgs } from 'node:util'
import { runExecutionChaos } from './execution-chaos.ts'

const { values } = parseArgs({
  options: {
    executions: { type: 'string', default: '200' },
    faults: { type: 'string', default: '60' },
    lanes: { type: 'string', default: '12' },
  },
})
const { violations, figures } = await runExecutionChaos({
  executions: Number(values.executions),
  lanes: Number(values.lanes),
  faults: { count: Number(values.faults), gapMs: { least: 300, most: 2000 }, random: Math.random },
  say: (line) => console.error(line),
})
console.log(JSON.stringify(figures, null, 2))
for (const violation of violations) console.log(violation)
console.log(
  violations.length === 0 ? 'Nothing was lost.' : `${violations.length} things cannot have happened.`,
)
process.exitCode = violations.length === 0 ? 0 : 1
