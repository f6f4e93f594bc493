import type { Bus } from '../bus/bus.ts'
import type { EventStream } from '../http/sse.ts'
import type { Logger } from '../platform/logger.ts'
import { runChannel } from './announce.ts'
import { type ReadParts, type ReadRun, readRun } from './read.ts'
import { findVersion, listVersions } from './read-store.ts'

const lookEveryMs = 1000
const canceledStaysMs = 30_000
const runsPerLook = 1000
const notShownYet = ': not there yet\n\n'
/** The reader of a run that stands at these has nothing more to expect until somebody acts. */
const endsStream: ReadonlySet<string> = new Set(['success', 'failed', 'suspended'])

export type RoomParts = ReadParts & { readonly bus: Bus; readonly logger: Logger }

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

type Versions = ReadonlyMap<string, number | null>

interface Reader {
  readonly stream: EventStream
  /** Nothing older is for this reader, also when it is still being read for others. */
  seen: number
  isWriting: boolean
}

interface Room {
  readonly workspaceId: string
  readonly readers: Set<Reader>
  /** The highest version there is word of. */
  known: number
  latest: Frame | undefined
  isReading: boolean
  leave(): void
}

/**
 * The readers of this process by run; those of one run share what is read for them. Word of a change has it read at
 * once, and all runs are asked for their version every second, because word can be lost. A reader is given the newest
 * state there is when it has taken the one before, so who is slow misses states and holds nobody up.
 */
export class RunRooms {
  readonly #parts: RoomParts
  readonly #rooms = new Map<string, Room>()
  #timer: NodeJS.Timeout | undefined
  #isLooking = false

  constructor(parts: RoomParts) {
    this.#parts = parts
  }

  /** One statement: the run's version where others read it already and what they are told will do, or else the run. */
  async find(workspaceId: string, runId: string): Promise<FoundRun | undefined> {
    const { database } = this.#parts
    const isRead = this.#rooms.get(runId)?.latest !== undefined
    const run = isRead ? undefined : await readRun(this.#parts, workspaceId, runId)
    return run ? { version: run.version, run } : findVersion(database, workspaceId, runId)
  }

  /** From the run as it was found on. Gives what takes the reader away again. */
  join(workspaceId: string, runId: string, found: FoundRun, stream: EventStream): () => void {
    const room = this.#rooms.get(runId) ?? this.#open(workspaceId, runId)
    const reader: Reader = { stream, seen: (found.version ?? 1) - 1, isWriting: false }
    room.readers.add(reader)
    this.#timer ??= setInterval(() => void this.#lookAtAll(), lookEveryMs).unref()
    if (found.run) this.#tell(room, found.run)
    void this.#learnAll([runId], new Map([[runId, found.version]]))
    return () => {
      room.readers.delete(reader)
      if (room.readers.size > 0 || this.#rooms.get(runId) !== room) return
      room.leave()
      this.#rooms.delete(runId)
      if (this.#rooms.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  #open(workspaceId: string, runId: string): Room {
    const leave = this.#parts.bus.listen(runChannel(runId), () => void this.#look([runId]))
    const room: Room = {
      workspaceId,
      readers: new Set(),
      known: 0,
      latest: undefined,
      isReading: false,
      leave,
    }
    this.#rooms.set(runId, room)
    return room
  }

  async #lookAtAll(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    const runIds = [...this.#rooms.keys()]
    for (let from = 0; from < runIds.length; from += runsPerLook) {
      await this.#look(runIds.slice(from, from + runsPerLook))
    }
    this.#isLooking = false
  }

  async #look(runIds: readonly string[]): Promise<void> {
    await this.#learnAll(runIds, listVersions(this.#parts.database, runIds))
  }

  async #learnAll(runIds: readonly string[], known: Versions | Promise<Versions>): Promise<void> {
    try {
      const versions = await known
      await Promise.all(runIds.map((runId) => this.#learn(runId, versions.get(runId))))
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'runs not looked at; they are again shortly')
    }
  }

  async #learn(runId: string, version: number | null | undefined): Promise<void> {
    const room = this.#rooms.get(runId)
    if (!room) return
    if (version === undefined) for (const { stream } of room.readers) stream.end()
    else if (version === null) for (const { stream } of room.readers) stream.write(notShownYet)
    else await this.#show(room, runId, version)
  }

  async #show(room: Room, runId: string, version: number): Promise<void> {
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

  #tell(room: Room, found: ReadRun): void {
    if (found.version > (room.latest?.version ?? 0)) room.latest = frameOf(found)
    room.known = Math.max(room.known, found.version)
    this.#serveAll(room)
  }

  /** Word of a change may have come before anybody was there to hear it. */
  look(runId: string): void {
    void this.#look([runId])
  }

  #serveAll(room: Room): void {
    for (const reader of room.readers) void this.#serve(room, reader)
  }

  async #serve(room: Room, reader: Reader): Promise<void> {
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
