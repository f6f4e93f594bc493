// Sends to threads while processes are killed and frozen, and checks that nothing was lost or doubled:
//   node test/chaos/threads.ts --senders 20 --messages 50 --threads 10 --planted check-then-start
import { parseArgs } from 'node:util'
import { runThreadChaos, type ThreadChaosOptions } from './thread-chaos.ts'

const { values } = parseArgs({
  options: {
    senders: { type: 'string', default: '20' },
    messages: { type: 'string', default: '50' },
    threads: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '75' },
    freezes: { type: 'string', default: '1' },
    'freeze-seconds': { type: 'string', default: '30' },
    /** Of how many messages the run is interrupted. */
    interrupts: { type: 'string', default: '0.1' },
    /** check-then-start or no-fence. The first has been found here, the second only by thread-fences.test.ts. */
    planted: { type: 'string' },
  },
})
const { violations, figures } = await runThreadChaos({
  senders: Number(values.senders),
  messagesEach: Number(values.messages),
  threads: Number(values.threads),
  seconds: Number(values.seconds),
  apis: 3,
  workers: 2,
  killWorkerEveryMs: 3000,
  killApiEveryMs: 10_000,
  once: ['redis', 'restate', 'postgres'],
  freezeMs: Number(values['freeze-seconds']) * 1000,
  freezes: Number(values.freezes),
  interrupts: Number(values.interrupts),
  ...(values.planted !== undefined && {
    planted: values.planted as NonNullable<ThreadChaosOptions['planted']>,
  }),
})
console.log(JSON.stringify(figures, null, 2))
for (const [sort, all] of Map.groupBy(violations, (violation) => violation))
  console.log(`${all.length} times: ${sort}`)
console.log(`${violations.length} violations`)
process.exitCode = violations.length === 0 ? 0 : 1
