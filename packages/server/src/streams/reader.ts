import type { DeltaNews, EventNews } from './frames.ts'
import type { EventStream } from './sse.ts'

/** Consecutive events. */
export interface Page {
  readonly first: number
  readonly last: number
  /** Whether the last of them ends the log. */
  readonly ended: boolean
  /** About how long the frames are, which are made when they are asked for. */
  readonly length: number
  frames(): Buffer
}

/** Pages that a reader does not take are held for it, so they are small. */
export const pageLength = 128 * 1024
const firstRows = 100
const mostRows = 1000

type ReadPage = (after: number, most: number) => Promise<Page | undefined>

/**
 * Somebody who reads a log and follows it. `cursor` is the last event sent, and only the next one
 * is ever sent after it, so there are no gaps and no doubles wherever news and log meet: news that does not
 * begin right there, or comes while the reader has enough to read, only says how far the log reaches, and the
 * reader gets there page by page. So what is held for a slow one is two pages or a message, and no more.
 */
export class Reader {
  readonly #stream: EventStream
  readonly #readPage: ReadPage
  readonly #deltas: boolean
  readonly #only: string | undefined
  #cursor: number
  #known: number
  #pageRows = firstRows
  #catchingUp = false

  constructor(options: {
    stream: EventStream
    readPage: ReadPage
    deltas: boolean
    /** Of a log that several runs write to: the run whose events it is given, by pages alone. */
    only?: string | undefined
    after: number
  }) {
    this.#stream = options.stream
    this.#readPage = options.readPage
    this.#deltas = options.deltas
    this.#only = options.only
    this.#cursor = options.after
    this.#known = options.after
  }

  /** `frames` are those of the news, made once for all readers. */
  hear(news: EventNews, frames: Buffer): Promise<void> | undefined {
    if (news.last <= this.#cursor) return undefined
    const isNext =
      this.#only === undefined && !this.#catchingUp && news.first === this.#cursor + 1 && frames.length > 0
    if (!isNext) return this.learn(news.last)
    return this.#send(frames, news) ? undefined : this.#catchUp()
  }

  hearDeltas(news: DeltaNews, frames: Buffer): Promise<void> | undefined {
    const isLate = this.#catchingUp || news.after < this.#cursor
    const isOthers = this.#only !== undefined && news.of !== this.#only
    if (!this.#deltas || isOthers || isLate || this.#stream.write(frames)) return undefined
    return this.#catchUp()
  }

  /** That the log reaches at least so far. */
  learn(last: number): Promise<void> | undefined {
    this.#known = Math.max(this.#known, last)
    return this.#known > this.#cursor && !this.#catchingUp ? this.#catchUp() : undefined
  }

  end(): void {
    this.#stream.end()
  }

  async #catchUp(): Promise<void> {
    this.#catchingUp = true
    try {
      await this.#stream.drained()
      let ahead: Promise<Page | undefined> | undefined
      while (this.#stream.open && this.#known > this.#cursor) {
        const page = await (ahead ?? this.#readPage(this.#cursor, this.#pageRows))
        // The log is no longer kept.
        if (!page) return this.end()
        const { first, last, ended, length } = page
        // As many as make a page, going by the size of these.
        this.#pageRows = Math.min(mostRows, Math.ceil(((last - first + 1) * pageLength) / length))
        // The next one is on its way while this one is put together and taken.
        ahead = this.#known > last && !ended ? this.#readPage(last, this.#pageRows) : undefined
        this.#send(page.frames(), page)
        await Promise.all([ahead, this.#stream.drained()])
      }
    } finally {
      this.#catchingUp = false
    }
  }

  #send(frames: Buffer, { last, ended }: Pick<Page, 'last' | 'ended'>): boolean {
    const hasRoom = frames.length === 0 || this.#stream.write(frames)
    this.#cursor = last
    if (ended) this.end()
    return hasRoom
  }
}
