import { type AddressInfo, connect, createServer } from 'node:net'

/** What went by since the last time this was asked. */
interface Counts {
  readonly statements: number
  /** Of the statements, those that were sent as a text. */
  readonly texts: number
  readonly rows: number
  /** Of the rows, how many one statement gave at most. */
  readonly mostRows: number
}

export interface StatementCounter {
  /** The database by way of the counter. */
  readonly url: string
  take(): Counts
  close(): void
}

const none = { statements: 0, texts: 0, rows: 0, mostRows: 0 }

/**
 * Stands between a house and PostgreSQL and reads what kinds of messages go by: a Bind is a statement with values, a Parse
 * is one whose text had to be read and planned, and a DataRow is what a statement gives. Probes and the words around
 * transactions have no values.
 */
export async function countStatements(databaseUrl: string): Promise<StatementCounter> {
  const target = new URL(databaseUrl)
  const host = target.searchParams.get('host') ?? target.hostname
  const port = Number(target.port || 5432)
  let counts = { ...none }
  const server = createServer((client) => {
    const backend = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port })
    client.on('error', () => backend.destroy())
    backend.on('error', () => client.destroy())
    // The first message of a client has a length and no kind.
    const asked = new Messages(0, (kind) => {
      if (kind === 'B') counts.statements++
      if (kind === 'P') counts.texts++
    })
    let rowsOfOne = 0
    const answered = new Messages(1, (kind) => {
      if (kind === 'C') rowsOfOne = 0
      if (kind !== 'D') return
      counts.rows++
      counts.mostRows = Math.max(counts.mostRows, ++rowsOfOne)
    })
    client.on('data', (chunk: Buffer) => {
      asked.take(chunk)
      backend.write(chunk)
    })
    backend.on('data', (chunk: Buffer) => {
      answered.take(chunk)
      client.write(chunk)
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
      counts = { ...none }
      return taken
    },
    close: () => server.close(),
  }
}

/** The kinds of messages that go one way, in whatever pieces they come. */
class Messages {
  #kindLength: number
  readonly #see: (kind: string) => void
  #head = Buffer.alloc(0)
  /** Of the message whose kind was seen, what has not come. */
  #left = 0

  constructor(kindLength: number, see: (kind: string) => void) {
    this.#kindLength = kindLength
    this.#see = see
  }

  take(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0) {
      const passed = Math.min(this.#left, rest.length)
      this.#left -= passed
      rest = rest.subarray(passed)
      if (this.#left > 0) return
      const wanted = this.#kindLength + 4 - this.#head.length
      this.#head = Buffer.concat([this.#head, rest.subarray(0, wanted)])
      rest = rest.subarray(wanted)
      if (this.#head.length < this.#kindLength + 4) return
      if (this.#kindLength > 0) this.#see(this.#head.toString('latin1', 0, 1))
      this.#left = this.#head.readUInt32BE(this.#kindLength) - 4
      this.#head = Buffer.alloc(0)
      this.#kindLength = 1
    }
  }
}
