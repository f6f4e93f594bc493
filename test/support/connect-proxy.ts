import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** A proxy as companies have them: opens tunnels and notes where they lead. `reach` says where a name really is. */
export async function openConnectProxy(reach: (address: string) => string) {
  const tunnels: string[] = []
  const plain: string[] = []
  const open = new Set<Duplex>()
  const server = createServer((request, response) => {
    plain.push(request.url ?? '')
    response.writeHead(400).end()
  })
  server.on('connect', ({ url = '' }, client: Socket) => {
    tunnels.push(url)
    const { hostname, port } = new URL(`tcp://${reach(url)}`)
    const backend = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(backend).pipe(client)
    })
    for (const [socket, other] of [
      [client, backend],
      [backend, client],
    ] as const) {
      open.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        open.delete(socket)
        other.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Where tunnels were asked for, in order. */
    tunnels,
    /** What was asked for without a tunnel. */
    plain,
    close: async () => {
      server.close()
      for (const socket of open) socket.destroy()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
