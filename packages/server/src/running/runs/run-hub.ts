import type { Bus } from '#platform/bus.ts'
import { type EventStream, Hub, type HubParts, type Seat, type Topic } from '#streams/streams.ts'
import { runChannel } from './announce.ts'
import { type Reading, type ReadParts, type ReadRun, readRun } from './read.ts'
import { findVersion, listVersions } from './read-store.ts'
import { Frame, type Telling } from './run-frames.ts'

const everyMs = { sure: 1000, unsure: 1000 }
const canceledStaysMs = 30_000
const notShownYet = ': not there yet\n\n'
/** The reader of a run that stands at these has nothing more to expect until somebody acts. */
const endsStream: ReadonlySet<string> = new Set(['success', 'failed', 'suspended'])

export type RunHubParts = ReadParts & HubParts & { readonly bus: Bus }

type Watcher = Pick<Reading, 'workspaceId' | 'userId'>

/** What is read is shared by all who watch, so nothing is in it that is for some. */
const toMany = ({ workspaceId, userId }: Watcher) => ({ workspaceId, userId, personId: null })

/** `version` is null while the run is not shown yet. */
interface FoundRun {
  readonly version: number | null
  readonly run?: ReadRun
}

interface Reader {
  readonly stream: EventStream
  readonly telling: Telling
  /** What this reader got last, as long as only what is different since then is told. */
  before: Frame | undefined
  /** Nothing older is for this reader, also when it is still being read for others. */
  seen: number
  isWriting: boolean
}

interface RunTopic extends Topic<Reader> {
  /** Whoever came first. */
  readonly watcher: Watcher
  /** The highest version there is word of. */
  known: number
  latest: Frame | undefined
  isReading: boolean
}

/**
 * The readers of this process by run; those of one run share what is read for them. A reader is given the newest state
 * there is when it has taken the one before, so who is slow misses states and holds nobody up.
 */
export class RunHub {
  readonly #parts: RunHubParts
  readonly #hub: Hub<string, RunTopic, Reader, number | null>

  constructor(parts: RunHubParts) {
    this.#parts = parts
    this.#hub = new Hub(parts, {
      everyMs,
      find: (runIds) => listVersions(parts.database, runIds),
      learn: (topic, version, runId) => this.#learn(topic, version, runId),
    })
  }

  /** Undefined when there is no such run. Word of a change that comes while it is looked for is kept. */
  async enter(watcher: Watcher, runId: string, telling: Telling): Promise<Seat | undefined> {
    let isOld = false
    const stopListening = this.#parts.bus.listen(runChannel(runId), () => {
      isOld = true
    })
    const found = await this.#find(watcher, runId).catch((error: unknown) => {
      stopListening()
      throw error
    })
    if (!found) {
      stopListening()
      return undefined
    }
    let leave = stopListening
    return {
      leave: () => leave(),
      take: (stream) => {
        leave = this.#join(watcher, runId, found, { stream, telling })
        stopListening()
        if (isOld) this.#hub.watch(this.#hub.look([runId]))
      },
    }
  }

  /** One statement: the run's version where others read it already and what they are told will do, or else the run. */
  async #find(watcher: Watcher, runId: string): Promise<FoundRun | undefined> {
    const { database } = this.#parts
    const isRead = this.#hub.get(runId)?.latest !== undefined
    const run = isRead ? undefined : await readRun(this.#parts, toMany(watcher), runId)
    return run ? { version: run.version, run } : findVersion(database, watcher.workspaceId, runId)
  }

  /** From the run as it was found on. Gives what takes the reader away again. */
  #join(
    watcher: Watcher,
    runId: string,
    found: FoundRun,
    who: Pick<Reader, 'stream' | 'telling'>,
  ): () => void {
    const { stream, telling } = who
    const seen = (found.version ?? 1) - 1
    const reader: Reader = { stream, telling, before: undefined, seen, isWriting: false }
    const topic = this.#hub.enter(runId, reader, () => this.#open(watcher, runId))
    if (found.run) this.#tell(topic, found.run)
    this.#hub.watch(this.#learn(topic, found.version, runId))
    return () => this.#hub.leave(runId, topic, reader)
  }

  #open(watcher: Watcher, runId: string): RunTopic {
    const leave = this.#parts.bus.listen(runChannel(runId), () => {
      this.#hub.watch(this.#hub.look([runId]))
    })
    return { watcher, readers: new Set(), known: 0, latest: undefined, isReading: false, leave }
  }

  #learn(topic: RunTopic, version: number | null | undefined, runId: string): Promise<void> | undefined {
    if (typeof version === 'number') return this.#show(topic, runId, version)
    for (const { stream } of topic.readers) {
      if (version === null) stream.write(notShownYet)
      else stream.end()
    }
    return undefined
  }

  async #show(topic: RunTopic, runId: string, version: number): Promise<void> {
    topic.known = Math.max(topic.known, version)
    if (topic.isReading) return
    topic.isReading = true
    try {
      while (topic.known > (topic.latest?.version ?? 0)) {
        const found = await readRun(this.#parts, toMany(topic.watcher), runId)
        if (!found) return
        this.#tell(topic, found)
      }
    } finally {
      topic.isReading = false
    }
    this.#serveAll(topic)
  }

  #tell(topic: RunTopic, found: ReadRun): void {
    if (found.version > (topic.latest?.version ?? 0)) topic.latest = new Frame(found)
    topic.known = Math.max(topic.known, found.version)
    this.#serveAll(topic)
  }

  #serveAll(topic: RunTopic): void {
    for (const reader of topic.readers) void this.#serve(topic, reader)
  }

  async #serve(topic: RunTopic, reader: Reader): Promise<void> {
    const { stream, telling } = reader
    if (reader.isWriting) return
    reader.isWriting = true
    for (;;) {
      const { latest } = topic
      if (!latest || latest.version <= reader.seen || !stream.open) break
      reader.seen = latest.version
      stream.write(reader.before ? latest.since(reader.before) : latest.whole)
      if (telling.changes) reader.before = latest
      if (endsStream.has(latest.status) && !(telling.throughSuspended && latest.status === 'suspended'))
        stream.end()
      if (latest.status === 'canceled') setTimeout(() => stream.end(), canceledStaysMs).unref()
      await stream.drained()
    }
    reader.isWriting = false
  }
}
