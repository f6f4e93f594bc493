import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Database } from '#platform/database.ts'
import { createLogger } from '#platform/logger.ts'
import { createDatabase } from '../support/house.ts'

/** A server that can fall silent: what it answers is passed on only while it is awake. */
class Between {
  readonly server: Server
  readonly #sockets = new Set<Socket>()
  #silent = false

  constructor(target: URL) {
    this.server = createServer((near) => {
      const far = connect(Number(target.port), target.hostname)
      for (const socket of [near, far]) {
        this.#sockets.add(socket)
        socket.on('error', () => {}).on('close', () => [near, far].map((one) => one.destroy()))
      }
      near.pipe(far)
      far.on('data', (bytes) => void this.#awake().then(() => near.writable && near.write(bytes)))
    })
  }

  set silent(silent: boolean) {
    this.#silent = silent
  }

  async #awake(): Promise<void> {
    while (this.#silent) await delay(5)
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.server.close(resolve))
  }
}

let between: Between
let database: Database

beforeEach(async () => {
  const url = new URL(await createDatabase())
  between = new Between(new URL(url))
  await new Promise<void>((resolve) => between.server.listen(0, '127.0.0.1', resolve))
  const address = between.server.address() as AddressInfo
  url.host = `127.0.0.1:${address.port}`
  database = new Database({ url: String(url), poolSize: 2, logger: createLogger('silent') })
  await database.hot({ name: 'one', text: 'select 1' }, [])
})

afterEach(async () => {
  between.silent = false
  await database.close()
  await between.close()
})

test('a server that falls silent is away, and back when it speaks', async () => {
  between.silent = true
  await expect.poll(() => database.available, { timeout: 30_000 }).toBe(false)
  between.silent = false
  await expect.poll(() => database.available, { timeout: 30_000 }).toBe(true)
})

/** As long as this process has had no time to read an answer, it knows nothing of the server. */
test('a process that hardly gets a turn does not take the server for away', async () => {
  for (let turn = 0; turn < 3; turn++) {
    between.silent = true
    // Long enough for a probe to have been sent, whose answer then comes late by this process's fault alone.
    await delay(350)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1100)
    between.silent = false
    await delay(100)
    expect(database.available).toBe(true)
  }
})
