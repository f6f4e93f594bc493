/** Several runs at once, each followed to its end. */
import { Guildhall } from '@guildhall/sdk'

const [workflow = 'nightly', count = '3'] = process.argv.slice(2)
const guild = new Guildhall()

const runs = await Promise.all(
  Array.from({ length: Number(count) }, (_, number) =>
    guild.workflows.launch(workflow, { inputs: { number } }),
  ),
)
await Promise.all(
  runs.map(async (run) => {
    for await (const { changed } of run.watch()) {
      for (const { stepId, status } of changed) console.log(`${run.id} ${stepId} is ${status}`)
    }
  }),
)

const ids = new Set(runs.map(({ id }) => id))
for await (const { runId, status } of guild.runs.list({ limit: 2 })) {
  if (ids.delete(runId)) console.log(`${runId} ended as ${status}`)
  if (ids.size === 0) break
}
