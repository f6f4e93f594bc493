import { JsonText, textsOf } from '#platform/json-text.ts'
import { type ReadRun, snapshotOf } from './read.ts'

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
  readonly #run: ReadRun
  #whole: Buffer | undefined

  constructor(run: ReadRun) {
    this.version = run.version
    this.#run = run
  }

  get status(): string {
    return this.#run.status
  }

  /** As bytes: a text would be held twice for each reader that does not take it. */
  get whole(): Buffer {
    this.#whole ??= this.#toBytes('workflow-snapshot', [['snapshot', snapshotOf(this.#run)]])
    return this.#whole
  }

  /** What is different since the frame that a reader got before; a state that was passed over is in it. */
  since(before: Frame): Buffer {
    const old = before.#run.context
    const context = [...this.#run.context].filter(([name, text]) => old.get(name) !== text)
    const removed = [...old.keys()].filter((name) => !this.#run.context.has(name))
    return this.#toBytes('workflow-changes', [
      ...textsOf({ since: before.version }),
      ['changed', snapshotOf({ ...this.#run, context: new Map(context) })],
      ...textsOf({ removed }),
    ])
  }

  #toBytes(type: string, fields: ConstructorParameters<typeof JsonText>[0]): Buffer {
    const { runId, workflowId, status, updatedAt } = this.#run.facts
    const text = new JsonText([...textsOf({ type, runId, workflowId, status, updatedAt }), ...fields])
    // A line of an event stream is one line, however its texts were laid out.
    const pieces = [...text.pieces()].map((piece) => Buffer.from(piece.replace(/[\r\n]/g, ' ')))
    return Buffer.concat([Buffer.from(`id: ${this.version}\ndata: `), ...pieces, Buffer.from('\n\n')])
  }
}
