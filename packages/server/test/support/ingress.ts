import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the engine's ingress was asked: the path, and the body as it came. */
export interface Asked {
  readonly path: string
  readonly body: string
}

export interface Ingress {
  readonly url: string
  readonly asked: Asked[]
  /** What it does from now on; it may do things before it answers, and it may never answer. */
  behave(as: Behaviour): void
  close(): Promise<void>
}

/** Of the form that the engine gives its own. */
export const invocationId = `inv_${'1'.repeat(40)}`
export const awakeableId = `sign_${'1'.repeat(40)}`

/** Takes what it is asked, as the engine does. */
export function takes(_asked: Asked, response: ServerResponse): void {
  response.writeHead(202, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ invocationId, status: 'Accepted' }))
}

/** Took it or not: the connection breaks before the answer. */
export function breaksOff(_asked: Asked, response: ServerResponse): void {
  response.destroy()
}

/** Says that it is there, and takes nothing. */
export function isThereOnly(asked: Asked, response: ServerResponse): void {
  if (asked.path === '/restate/health') takes(asked, response)
  else breaksOff(asked, response)
}

type Behaviour = (asked: Asked, response: ServerResponse) => unknown

/** A stand-in for the engine's ingress, for answers that are late, lost or never come. */
export async function openIngress(behaviour: Behaviour = takes): Promise<Ingress> {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const one = { path: request.url ?? '', body: await textOf(request) }
    asked.push(one)
    await behaviour(one, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    behave: (as) => {
      behaviour = as
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
