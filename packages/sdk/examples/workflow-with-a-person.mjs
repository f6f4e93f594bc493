/** A workflow that waits for a person: it is followed through the question to its end. */
import { Guildhall } from '@guildhall/sdk'

const [workflow = 'release'] = process.argv.slice(2)
const guild = new Guildhall()

const run = await guild.workflows.launch(workflow)
for await (const state of run.watch({ until: 'finished' })) {
  if (state.status === 'suspended') console.log(`${run.id} waits for a person: answer it in the app`)
  if (state.status === 'success') console.log(`${run.id} gave ${JSON.stringify(state.snapshot.result)}`)
}
