import { type AddressInfo, connect, createServer } from 'node:net'

export interface StatementCounter {
  /** The database by way of the counter. */
  readonly url: string
  /** Statements with values since the last time this was asked, and how many of them were sent as a text. */
  take(): { statements: number; texts: number }
  close(): void
}

/**
 * Stands between a house and PostgreSQL and reads what kinds of messages go by: a Bind is a statement with values, and a
 * Parse is one whose text had to be read and planned. Probes and the words around transactions have no values.
 */
export async function countStatements(databaseUrl: string): Promise<StatementCounter> {
  const target = new URL(databaseUrl)
  const host = target.searchParams.get('host') ?? target.hostname
  const port = Number(target.port || 5432)
  let counts = { statements: 0, texts: 0 }
  const server = createServer((client) => {
    const backend = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port })
    client.on('error', () => backend.destroy())
    backend.on('error', () => client.destroy())
    backend.pipe(client)
    let unread = Buffer.alloc(0)
    // The first message of a connection has a length and no kind.
    let kindLength = 0
    client.on('data', (chunk: Buffer) => {
      backend.write(chunk)
      unread = Buffer.concat([unread, chunk])
      while (unread.length >= kindLength + 4) {
        const length = kindLength + unread.readUInt32BE(kindLength)
        if (unread.length < length) break
        const kind = kindLength === 0 ? '' : String.fromCharCode(unread[0] ?? 0)
        if (kind === 'B') counts.statements++
        if (kind === 'P') counts.texts++
        unread = unread.subarray(length)
        kindLength = 1
      }
    })
    client.on('close', () => backend.end())
    backend.on('close', () => client.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  url.searchParams.delete('host')
  return {
    url: url.href,
    take: () => {
      const taken = counts
      counts = { statements: 0, texts: 0 }
      return taken
    },
    close: () => server.close(),
  }
}
