import type { Bus } from '../bus/bus.ts'
import { type EventStream, Hub, type HubParts, type Room, type Seat } from '../streams/streams.ts'
import { runChannel } from './announce.ts'
import { type ReadParts, type ReadRun, readRun } from './read.ts'
import { findVersion, listVersions } from './read-store.ts'

const everyMs = { sure: 1000, unsure: 1000 }
const canceledStaysMs = 30_000
const notShownYet = ': not there yet\n\n'
/** The reader of a run that stands at these has nothing more to expect until somebody acts. */
const endsStream: ReadonlySet<string> = new Set(['success', 'failed', 'suspended'])

export type RoomParts = ReadParts & HubParts & { readonly bus: Bus }

interface Frame {
  readonly version: number
  readonly status: string
  /** As bytes: a text would be held twice for each reader that does not take it. */
  readonly bytes: Buffer
}

/** `version` is null while the run is not shown yet. */
interface FoundRun {
  readonly version: number | null
  readonly run?: ReadRun
}

interface Reader {
  readonly stream: EventStream
  /** Nothing older is for this reader, also when it is still being read for others. */
  seen: number
  isWriting: boolean
}

interface RunRoom extends Room<Reader> {
  readonly workspaceId: string
  /** The highest version there is word of. */
  known: number
  latest: Frame | undefined
  isReading: boolean
}

/**
 * The readers of this process by run; those of one run share what is read for them. A reader is given the newest state
 * there is when it has taken the one before, so who is slow misses states and holds nobody up.
 */
export class RunRooms {
  readonly #parts: RoomParts
  readonly #hub: Hub<string, RunRoom, Reader, number | null>

  constructor(parts: RoomParts) {
    this.#parts = parts
    this.#hub = new Hub(parts, {
      everyMs,
      find: (runIds) => listVersions(parts.database, runIds),
      learn: (room, version, runId) => this.#learn(room, version, runId),
    })
  }

  /** Undefined when there is no such run. Word of a change that comes while it is looked for is kept. */
  async enter(workspaceId: string, runId: string): Promise<Seat | undefined> {
    let isOld = false
    const stopListening = this.#parts.bus.listen(runChannel(runId), () => {
      isOld = true
    })
    const found = await this.#find(workspaceId, runId).catch((error: unknown) => {
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
        leave = this.#join(workspaceId, runId, found, stream)
        stopListening()
        if (isOld) this.#hub.watch(this.#hub.look([runId]))
      },
    }
  }

  /** One statement: the run's version where others read it already and what they are told will do, or else the run. */
  async #find(workspaceId: string, runId: string): Promise<FoundRun | undefined> {
    const { database } = this.#parts
    const isRead = this.#hub.get(runId)?.latest !== undefined
    const run = isRead ? undefined : await readRun(this.#parts, workspaceId, runId)
    return run ? { version: run.version, run } : findVersion(database, workspaceId, runId)
  }

  /** From the run as it was found on. Gives what takes the reader away again. */
  #join(workspaceId: string, runId: string, found: FoundRun, stream: EventStream): () => void {
    const reader: Reader = { stream, seen: (found.version ?? 1) - 1, isWriting: false }
    const room = this.#hub.enter(runId, reader, () => this.#open(workspaceId, runId))
    if (found.run) this.#tell(room, found.run)
    this.#hub.watch(this.#learn(room, found.version, runId))
    return () => this.#hub.leave(runId, room, reader)
  }

  #open(workspaceId: string, runId: string): RunRoom {
    const leave = this.#parts.bus.listen(runChannel(runId), () => {
      this.#hub.watch(this.#hub.look([runId]))
    })
    return { workspaceId, readers: new Set(), known: 0, latest: undefined, isReading: false, leave }
  }

  #learn(room: RunRoom, version: number | null | undefined, runId: string): Promise<void> | undefined {
    if (typeof version === 'number') return this.#show(room, runId, version)
    for (const { stream } of room.readers) {
      if (version === null) stream.write(notShownYet)
      else stream.end()
    }
    return undefined
  }

  async #show(room: RunRoom, runId: string, version: number): Promise<void> {
    room.known = Math.max(room.known, version)
    if (room.isReading) return
    room.isReading = true
    try {
      while (room.known > (room.latest?.version ?? 0)) {
        const found = await readRun(this.#parts, room.workspaceId, runId)
        if (!found) return
        this.#tell(room, found)
      }
    } finally {
      room.isReading = false
    }
    this.#serveAll(room)
  }

  #tell(room: RunRoom, found: ReadRun): void {
    if (found.version > (room.latest?.version ?? 0)) room.latest = frameOf(found)
    room.known = Math.max(room.known, found.version)
    this.#serveAll(room)
  }

  #serveAll(room: RunRoom): void {
    for (const reader of room.readers) void this.#serve(room, reader)
  }

  async #serve(room: RunRoom, reader: Reader): Promise<void> {
    const { stream } = reader
    if (reader.isWriting) return
    reader.isWriting = true
    for (;;) {
      const { latest } = room
      if (!latest || latest.version <= reader.seen || !stream.open) break
      reader.seen = latest.version
      stream.write(latest.bytes)
      if (endsStream.has(latest.status)) stream.end()
      if (latest.status === 'canceled') setTimeout(() => stream.end(), canceledStaysMs).unref()
      await stream.drained()
    }
    reader.isWriting = false
  }
}

function frameOf({ version, run }: ReadRun): Frame {
  const { runId, workflowId, status, updatedAt, snapshot } = run
  const event = { type: 'workflow-snapshot', runId, workflowId, status, updatedAt, snapshot }
  return { version, status, bytes: Buffer.from(`data: ${JSON.stringify(event)}\n\n`) }
}
