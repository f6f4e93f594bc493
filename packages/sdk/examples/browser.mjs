/** In a page: a person's session runs a skill and shows what it says. */
import { Guildhall } from '@guildhall/sdk'

/** @param {{ baseUrl: string, authToken: string, slug: string, input: string, show: (text: string) => void }} page */
export async function runInPage({ baseUrl, authToken, slug, input, show }) {
  const guild = new Guildhall({ baseUrl, authToken })
  const run = await guild.skills.run(slug, { input })
  for await (const event of run.events()) {
    if (event.known && event.type === 'agent.message') show(JSON.stringify(event.payload.content))
  }
  const { status, cost } = await run.result()
  return { status, cost }
}
