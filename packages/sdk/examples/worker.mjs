/** In a worker: a request runs a skill and streams what it says. */
import { createClient } from '@guildhall/sdk/core'
import { Skills } from '@guildhall/sdk/skills'

export default {
  /** @param {Request} request @param {{ GUILD_BASE_URL: string, GUILD_API_KEY: string }} env */
  async fetch(request, { GUILD_BASE_URL: baseUrl, GUILD_API_KEY: apiKey }) {
    const { slug, input } = /** @type {{ slug: string, input: string }} */ (await request.json())
    const run = await new Skills(createClient({ baseUrl, apiKey })).run(slug, { input })
    const lines = new TransformStream()
    const writer = lines.writable.getWriter()
    const write = async () => {
      for await (const event of run.events()) {
        await writer.write(new TextEncoder().encode(`${JSON.stringify(event)}\n`))
      }
      await writer.close()
    }
    void write().catch((error) => writer.abort(error))
    return new Response(lines.readable, { headers: { 'content-type': 'application/x-ndjson' } })
  },
}
