/** From nothing to a first run: a person confirms a code, and the key that comes of it runs a skill. */
import { Guildhall, pair } from '@guildhall/sdk'

const [slug = 'weekly-report', input = 'The last 7 days'] = process.argv.slice(2)

// Where the service is stands in GUILD_BASE_URL.
const { apiKey, workspace } = await pair({
  label: 'pair-and-run',
  onCode: ({ userCode, verificationUrlComplete }) =>
    console.log(`Confirm ${userCode} at ${verificationUrlComplete}`),
})
console.log(`Paired with ${workspace?.name}`)

const guild = new Guildhall({ apiKey })
const run = await guild.skills.run(slug, { input, maxCost: 200 })
for await (const event of run.events()) {
  if (event.known && event.type === 'agent.message') console.log(event.payload.content)
}
const { text, cost, stopReason } = await run.result()
console.log(`Ended with ${stopReason} for ${cost} Ds: ${text}`)
