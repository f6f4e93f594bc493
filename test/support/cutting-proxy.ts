import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** What a proxy does with what the server says on one connection. */
interface Line {
  /** Lets these bytes through. */
  pass(bytes: Buffer): void
  /** Breaks the connection, on both sides. */
  cut(): void
}

/** One request and what was answered so far. */
interface Exchange {
  asked: string
  said: Buffer
}

/** Told of every piece the server says. */
export type Interfere = (piece: Buffer, line: Line, exchange: Exchange) => void

/** A way to the server that bytes take, and on which something may happen to them. */
export async function openProxy(target: string, interfere: Interfere) {
  const { hostname, port } = new URL(target)
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const backend = connect(Number(port), hostname)
    let exchange: Exchange = { asked: '', said: Buffer.alloc(0) }
    const cut = () => {
      client.destroy()
      backend.destroy()
    }
    const line: Line = { pass: (bytes) => void (client.writable && client.write(bytes)), cut }
    for (const socket of [client, backend]) {
      open.add(socket)
      socket.setNoDelay().on('error', cut)
      socket.on('close', () => {
        open.delete(socket)
        // What was said before the end is on its way; only a cut is sudden.
        if (socket === backend) client.end()
        else backend.destroy()
      })
    }
    client.on('data', (bytes) => {
      const text = bytes.toString('latin1')
      // Nobody sends a request before the last is answered, so what begins like one is the next.
      if (/^[A-Z]+ \S+ HTTP/.test(text)) exchange = { asked: text, said: Buffer.alloc(0) }
      else exchange.asked += text
      backend.write(bytes)
    })
    backend.on('data', (bytes) => {
      interfere(bytes, line, exchange)
      exchange.said = Buffer.concat([exchange.said, bytes])
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    /** A `fetch` whose requests to the server take this way, also to addresses that the server names itself. */
    fetch: ((input, init) => fetch(String(input).replace(target, url), init)) as typeof globalThis.fetch,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}
