interface Named {
  readonly run_id: string
}

interface Waiting<Ask, Row> {
  readonly runId: string
  readonly ask: Ask
  readonly bytes: number
  /** How often its row was held by somebody else. */
  held: number
  done(row: Row | undefined): void
  failed(error: unknown): void
}

const mostRuns = 200
const mostBytes = 4 * 1024 * 1024
const longestPauseMs = 100

/**
 * Does the same to many runs with one statement: an ask waits only for the statement before it, and whatever came
 * meanwhile goes together, what concerns one run one after the other.
 *
 * The statement takes the rows that nobody holds. Those it left are tried again a moment later, and nobody else waits for
 * them, nor does a connection.
 */
export class RunBatches<Ask, Row extends Named> {
  readonly #send: (asks: readonly Ask[]) => Promise<Row[]>
  readonly #existing: (runIds: readonly string[]) => Promise<ReadonlySet<string>>
  readonly #heldRuns = new Set<string>()
  #waiting: Waiting<Ask, Row>[] = []
  #isSending = false

  constructor(
    send: (asks: readonly Ask[]) => Promise<Row[]>,
    existing: (runIds: readonly string[]) => Promise<ReadonlySet<string>>,
  ) {
    this.#send = send
    this.#existing = existing
  }

  /** Undefined when there is no such run. */
  ask(runId: string, ask: Ask, bytes = 0): Promise<Row | undefined> {
    return new Promise((done, failed) => {
      this.#waiting.push({ runId, ask, bytes, held: 0, done, failed })
      this.#start()
    })
  }

  #start(): void {
    if (this.#isSending) return
    this.#isSending = true
    setImmediate(() => void this.#sendAll())
  }

  async #sendAll(): Promise<void> {
    for (let batch = this.#take(); batch.length > 0; batch = this.#take()) await this.#sendBatch(batch)
    this.#isSending = false
  }

  /** One of each run: two would meet in one statement, and only one of them would count. */
  #take(): Waiting<Ask, Row>[] {
    const batch: Waiting<Ask, Row>[] = []
    const later: Waiting<Ask, Row>[] = []
    const runs = new Set(this.#heldRuns)
    let bytes = 0
    for (const waiting of this.#waiting) {
      const hasRoom = batch.length < mostRuns && bytes < mostBytes && !runs.has(waiting.runId)
      ;(hasRoom ? batch : later).push(waiting)
      runs.add(waiting.runId)
      if (hasRoom) bytes += waiting.bytes
    }
    this.#waiting = later
    return batch
  }

  /** One that cannot be sent fails alone: it is found by sending each by itself. */
  async #sendBatch(batch: readonly Waiting<Ask, Row>[]): Promise<void> {
    try {
      const rows = await this.#send(batch.map(({ ask }) => ask))
      const byRun = new Map(rows.map((row) => [row.run_id, row]))
      const left = batch.filter(({ runId }) => !byRun.has(runId))
      const held = await this.#heldOf(left.map(({ runId }) => runId))
      for (const waiting of batch) {
        if (held.has(waiting.runId)) this.#tryLater(waiting)
        else waiting.done(byRun.get(waiting.runId))
      }
    } catch (error) {
      if (batch.length === 1) batch[0]?.failed(error)
      else await Promise.all(batch.map((one) => this.#sendBatch([one])))
    }
  }

  /** Of the runs that were left those that there are; all, when that cannot be found out now. */
  async #heldOf(runIds: readonly string[]): Promise<ReadonlySet<string>> {
    const all = new Set(runIds)
    return runIds.length === 0 ? all : this.#existing(runIds).catch(() => all)
  }

  #tryLater(waiting: Waiting<Ask, Row>): void {
    const { runId } = waiting
    this.#heldRuns.add(runId)
    const pauseMs = Math.min(2 ** ++waiting.held, longestPauseMs)
    setTimeout(() => {
      this.#heldRuns.delete(runId)
      this.#waiting.unshift(waiting)
      this.#start()
    }, pauseMs)
  }
}
