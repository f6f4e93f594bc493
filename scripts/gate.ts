import { parseArgs } from 'node:util'
import { budgets } from './gate/budgets.ts'
import { looksAtInvariants } from './gate/failures.ts'
import { runGate } from './gate/gate.ts'
import { plan } from './gate/plan.ts'
import { endAll } from './gate/run-step.ts'

/**
 * What every change must pass: `npm run gate`, or only some of its steps with `-- --only server,unit`. Ends by itself at
 * its deadline, with a reason.
 */
const { values } = parseArgs({
  options: { only: { type: 'string' }, deadline: { type: 'string', default: '55' } },
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    endAll('SIGTERM')
    process.exit(1)
  })
}
const wanted = values.only?.split(',')
const passed = await runGate({
  plan: plan.map((lanes) => lanes.map((steps) => steps.filter(({ name }) => wanted?.includes(name) ?? true))),
  deadlineMs: Number(values.deadline) * 60_000,
  mostSecondChances: 5,
  looksAtInvariants,
  budgets,
  say: (line) => console.log(line),
})
process.exitCode = passed ? 0 : 1
