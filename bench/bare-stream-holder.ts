import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { memoryNow } from './event-parts.ts'
import { sayReady } from './program.ts'

/** The least that keeps streams open: a head, a comment, and a place to find them again. */
const open = new Map<string, ServerResponse>()
const server = createServer((request, response) => {
  const name = request.url ?? ''
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  response.write(': open\n\n')
  open.set(name, response)
  response.on('close', () => open.delete(name))
})
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
  sayReady((server.address() as AddressInfo).port)
})
process.on('message', () => process.send?.(memoryNow()))
