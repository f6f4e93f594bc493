import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.ts'

const { values } = parseArgs({
  options: { requests: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' } },
})
const seed = Number(values.seed ?? Date.now() % 2 ** 31)
const requests = Number(values.requests ?? 20_000)
console.log(`seed ${seed}, ${requests} requests`)
const report = await fuzz({
  seed,
  requests,
  ...(values.only === undefined ? {} : { only: Number(values.only) }),
  tell: (line) => console.log(line),
})
for (const finding of report.findings) console.log(finding)
const { findings, ...figures } = report
console.log(JSON.stringify({ ...figures, findings: findings.length }))
process.exitCode = findings.length === 0 ? 0 : 1
