import type { ReadRun } from './read.ts'

/** How a reader wants to be told. */
export interface Telling {
  /** Goes on while the run waits for an answer. */
  readonly throughSuspended: boolean
  /** After the first frame only what is different. */
  readonly changes: boolean
}

/** One state of a run as its readers get it. Bytes are made once for all of them. */
export class Frame {
  readonly version: number
  readonly #run: ReadRun['run']
  #whole: Buffer | undefined
  #entries: ReadonlyMap<string, string> | undefined

  constructor({ version, run }: ReadRun) {
    this.version = version
    this.#run = run
  }

  get status(): string {
    return this.#run.status
  }

  /** As bytes: a text would be held twice for each reader that does not take it. */
  get whole(): Buffer {
    this.#whole ??= toBytes(this.version, {
      type: 'workflow-snapshot',
      ...this.#facts,
      snapshot: this.#run.snapshot,
    })
    return this.#whole
  }

  /** What is different since the frame that a reader got before; a state that was passed over is in it. */
  since(before: Frame): Buffer {
    const context = Object.fromEntries(
      [...this.#texts].flatMap(([name, text]) =>
        before.#texts.get(name) === text ? [] : [[name, this.#context[name]]],
      ),
    )
    const { context: _context, ...rest } = this.#run.snapshot
    return toBytes(this.version, {
      type: 'workflow-changes',
      ...this.#facts,
      since: before.version,
      changed: { ...rest, context },
      removed: [...before.#texts.keys()].filter((name) => !this.#texts.has(name)),
    })
  }

  get #facts() {
    const { runId, workflowId, status, updatedAt } = this.#run
    return { runId, workflowId, status, updatedAt }
  }

  get #context(): Readonly<Record<string, unknown>> {
    return this.#run.snapshot.context
  }

  get #texts(): ReadonlyMap<string, string> {
    this.#entries ??= new Map(
      Object.entries(this.#context).map(([name, entry]) => [name, JSON.stringify(entry)]),
    )
    return this.#entries
  }
}

function toBytes(version: number, event: object): Buffer {
  return Buffer.from(`id: ${version}\ndata: ${JSON.stringify(event)}\n\n`)
}
