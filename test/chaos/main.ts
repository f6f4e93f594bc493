// Lets all kinds of faults happen to a stack under a mixed load, and checks that nothing was lost, doubled or left:
//   node test/chaos/main.ts --faults 200 --operations 20000 --seed 7 --kinds api-pause-2.5,worker-kill --seconds 4200
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { faultKinds } from './faults/kinds.ts'
import { probeNames } from './mixed/probes.ts'
import { type MixedFigures, type MixedOutcome, runMixedChaos, type Spread } from './mixed-chaos.ts'

const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: '200' },
    operations: { type: 'string', default: '20000' },
    lanes: { type: 'string', default: '24' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** All, when left out. */
    kinds: { type: 'string', default: faultKinds.map(({ name }) => name).join(',') },
    seconds: { type: 'string', default: '4200' },
  },
})
const names = values.kinds.split(',')
const unknown = names.filter((name) => !faultKinds.some((kind) => kind.name === name))
if (unknown.length > 0) {
  console.error(
    `There is no fault ${unknown.join(', ')}. There are: ${faultKinds.map(({ name }) => name).join(', ')}`,
  )
  process.exit(2)
}
// An interrupted run leaves by the same door as any other: the disk is unmounted and the stack ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

console.error(`seed ${values.seed}`)
const outcome = await runMixedChaos({
  kinds: faultKinds.filter(({ name }) => names.includes(name)),
  faults: Number(values.faults),
  operations: Number(values.operations),
  lanes: Number(values.lanes),
  seed: Number(values.seed),
  withinSeconds: Number(values.seconds),
  say: (line) => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`),
})
report(outcome)
process.exitCode = outcome.violations.length === 0 ? 0 : 1

function report({ violations, history, figures }: MixedOutcome): void {
  console.log(summarize(figures))
  for (const [sort, all] of Map.groupBy(violations, withoutIds)) {
    console.log(`VIOLATION, ${all.length} times: ${sort}`)
    for (const violation of all.slice(0, 3)) console.log(`  ${violation}`)
  }
  console.log(`seed ${values.seed}: ${violations.length} violations`)
  if (violations.length === 0) return
  const file = join(mkdtempSync(join(tmpdir(), 'guildhall-chaos-history-')), 'history.json')
  const { readings, state, ...seen } = history.seen
  const logs = Object.fromEntries(state.logs)
  const kept = {
    violations,
    figures,
    ...history,
    seen: { ...seen, state: { ...state, logs }, readings: [...readings] },
  }
  writeFileSync(file, JSON.stringify(kept))
  console.log(`The history is in ${file}`)
}

/** Alike for violations of one sort. */
function withoutIds(violation: string): string {
  return violation.replace(/(exec|run|art|req)_[\w-]+/g, '$1').replace(/op-\w+-\d+/g, 'op')
}

function summarize(figures: MixedFigures): string {
  const pad = (text: string | number, width: number) => String(text).padStart(width)
  const cell = ({ p50, max }: Spread) => pad(`${p50}/${max}`, 14)
  const recovery = Object.entries(figures.recovery)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(
      ([kind, { times, probes }]) =>
        `  ${kind.padEnd(33)}${pad(times, 5)}${Object.values(probes).map(cell).join('')}`,
    )
  const columns = probeNames.map((name) => pad(name, 14)).join('')
  const list = (counts: Record<string, number | string>) =>
    Object.entries(counts)
      .map(([name, count]) => `${name.trim()} ${count}`)
      .join(', ')
  return [
    `${figures.faults} faults, ${figures.operations} operations in ${figures.seconds} s`,
    `succeeded   ${(figures.succeededShare * 100).toFixed(1)} %: ${list(figures.bySort)}`,
    `executions  ${list(figures.executions)}`,
    `runs        ${list(figures.runs)}`,
    `quiet       ${figures.quietAfterMs} ms after the last fault`,
    `recovery, p50/max in ms            times${columns}`,
    ...recovery,
  ].join('\n')
}
