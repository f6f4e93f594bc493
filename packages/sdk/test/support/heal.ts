import { text } from 'node:stream/consumers'
import { Guildhall } from '../../src/index.ts'

/** A program of its own whose keys may run nothing yet: it asks for that, and tells whom it asked and what came of it. */
const { baseUrl, keys }: { baseUrl: string; keys: string[] } = JSON.parse(await text(process.stdin))
const tell = (fact: object) => console.log(JSON.stringify(fact))
const waiting = keys.map((apiKey, person) => ({ apiKey, person }))

async function work(): Promise<void> {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { apiKey, person } = next
    const guild = new Guildhall({
      baseUrl,
      apiKey,
      permissions: {
        onMissing: 'ask',
        reason: 'For the test',
        mode: 'session',
        onAsk: ({ requestId }) => tell({ person, requestId }),
      },
    })
    const ended = guild.skills.run('errand', { input: 'Say hello.' }).then((run) => run.result())
    tell(
      await ended.then(
        ({ executionId, status }) => ({ person, executionId, status }),
        (error: unknown) => ({ person, status: String(error) }),
      ),
    )
  }
}
await Promise.all(Array.from({ length: 10 }, work))
