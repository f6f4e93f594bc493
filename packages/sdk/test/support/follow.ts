import { Guildhall } from '../../src/index.ts'

/** A program of its own that runs something and follows it; how long it takes to end says whether a timer is left. */
const [baseUrl = '', proxyUrl = '', input = ''] = process.argv.slice(2)
const guild = new Guildhall({
  baseUrl,
  fetch: (url, init) => fetch(String(url).replace(baseUrl, proxyUrl), init),
})
const run = await guild.skills.run('errand', { input })
const sequences: unknown[] = []
let longestMs = 0
let last = performance.now()
for await (const event of run.events({ idleTimeoutMs: 1500 })) {
  longestMs = Math.max(longestMs, performance.now() - last)
  last = performance.now()
  if ('sequence' in event) sequences.push(event.sequence)
}
const ended = performance.now()
process.once('exit', () => {
  const endedAfterMs = performance.now() - ended
  console.log(JSON.stringify({ executionId: run.id, sequences, longestMs, endedAfterMs }))
})
