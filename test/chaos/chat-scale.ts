// Has many runs of chats wait for a person, and measures what that costs and how soon many of them go on at once:
//   node test/chaos/chat-scale.ts --waiting 10000 --decided 1000
import { parseArgs } from 'node:util'
import { measureWaitingChats } from './waiting-chats.ts'

const most = { memoryGrowth: 1.2, goOnSeconds: 10 }

const { values } = parseArgs({
  options: {
    waiting: { type: 'string', default: '10000' },
    people: { type: 'string', default: '20' },
    decided: { type: 'string', default: '1000' },
  },
})
const { violations, figures } = await measureWaitingChats({
  waiting: Number(values.waiting),
  people: Number(values.people),
  decided: Number(values.decided),
  say: (line) => console.error(line),
})
console.log(JSON.stringify(figures, null, 2))
const { before, after, goOnSeconds } = figures
for (const [index, was] of before.workersMiB.entries())
  if ((after.workersMiB[index] ?? 0) > was * most.memoryGrowth) violations.push('a worker holds what waits')
if (after.engineMiB > before.engineMiB * most.memoryGrowth) violations.push('the engine holds what waits')
if (goOnSeconds.p99 > most.goOnSeconds) violations.push(`the p99 of going on is over ${most.goOnSeconds} s`)
for (const violation of violations) console.log(violation)
process.exitCode = violations.length === 0 ? 0 : 1
