import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'

export interface ModelRecorder {
  /** In place of the endpoint's own. */
  readonly url: string
  /** Bodies of what was asked, as they came over the wire, oldest first. */
  readonly asked: readonly string[]
  close(): Promise<void>
}

/** Stands before a model endpoint, passes everything on and keeps what was asked. */
export async function recordModelCalls(endpointUrl: string): Promise<ModelRecorder> {
  const asked: string[] = []
  const { origin } = new URL(endpointUrl)
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    asked.push(body)
    const headers = Object.entries(request.headers).flatMap(([name, value]) =>
      typeof value === 'string' && !['host', 'content-length', 'connection'].includes(name)
        ? [[name, value] as [string, string]]
        : [],
    )
    const answer = await fetch(`${origin}${request.url}`, { method: 'POST', headers, body })
    const contentType = answer.headers.get('content-type') ?? 'application/json'
    response.writeHead(answer.status, { 'content-type': contentType })
    if (answer.body) Readable.fromWeb(answer.body as ReadableStream).pipe(response)
    else response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
