import type { CallOptions, Client } from './client.ts'
import { type ExecutionEventsOptions, type ExecutionStep, executionEvents } from './execution-events.ts'
import {
  type CancelExecutionAnswer,
  cancelExecution,
  getExecutionStatus,
  type RerunExecutionBody,
  rerunExecution,
} from './generated/executions.ts'
import type { ExecutionStatus, OutputBlock } from './generated/records.ts'
import { ExecutionFailedError } from './helper-errors.ts'
import { download } from './signed-address.ts'

/** What came out of an execution. */
export interface ExecutionResult {
  readonly executionId: string
  readonly status: ExecutionStatus['status']
  /** Why it ended: `end_turn`, `interrupt`, `limit_reached` or `error`. */
  readonly stopReason: string | null
  readonly errorCode: string | null
  /** All that the agent said, as one text. */
  readonly text: string
  readonly blocks: readonly OutputBlock[]
  readonly files: readonly OutputFile[]
  /** In Ds. */
  readonly cost: number
  /** Tokens, if the events that tell them were read. */
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number } | undefined
  readonly traceId: string
}

/** A file that an execution made. */
export interface OutputFile {
  readonly name: string
  readonly mimeType: string
  readonly sizeBytes: number
  /** Its content, as it comes. */
  download(options?: CallOptions): Promise<Response>
}

/** One execution, by its id. It holds nothing else, so two of them never disagree. */
export class ExecutionHandle {
  readonly id: string
  readonly #client: Client

  constructor(client: Client, id: string) {
    this.#client = client
    this.id = id
  }

  /** Everything it does, until it has ended. */
  events(options?: ExecutionEventsOptions): AsyncGenerator<ExecutionStep, void, undefined> {
    return executionEvents(this.#client, this.id, options)
  }

  /** How far it is, and what has come out of it. */
  status(options?: CallOptions): Promise<ExecutionStatus> {
    return this.#client.call(getExecutionStatus, { params: { executionId: this.id } }, options)
  }

  /** Waits for its end and gives what came out; a failed one throws only with `orThrow`. */
  async result(
    options: ExecutionEventsOptions & { readonly orThrow?: boolean } = {},
  ): Promise<ExecutionResult> {
    let usage: ExecutionResult['usage']
    for await (const event of this.events(options)) {
      if (event.known && event.type === 'execution.result') usage = event.payload.tokenUsage
    }
    const {
      outputBlocks: blocks,
      status,
      stopReason,
      errorCode,
      cost,
      traceId,
    } = await this.status({ signal: options.signal })
    const result: ExecutionResult = {
      executionId: this.id,
      status,
      stopReason,
      errorCode,
      text: blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n\n'),
      blocks,
      files: this.#filesOf(blocks),
      cost,
      usage,
      traceId,
    }
    if (options.orThrow && status !== 'completed')
      throw new ExecutionFailedError(`${this.id} ended as ${status}: ${errorCode ?? stopReason}`, result)
    return result
  }

  /** The files it has made so far. */
  async files(options?: CallOptions): Promise<readonly OutputFile[]> {
    return this.#filesOf((await this.status(options)).outputBlocks)
  }

  /** Ends it, and every process of it. */
  cancel(options?: CallOptions): Promise<CancelExecutionAnswer> {
    return this.#client.call(cancelExecution, { params: { executionId: this.id } }, options)
  }

  /** Runs the same skill again with another input. */
  async rerun(body: RerunExecutionBody, options?: CallOptions): Promise<ExecutionHandle> {
    const call = { params: { executionId: this.id }, body }
    const { executionId } = await this.#client.call(rerunExecution, call, options)
    return new ExecutionHandle(this.#client, executionId)
  }

  #filesOf(blocks: readonly OutputBlock[]): OutputFile[] {
    return blocks.flatMap((block) => {
      if (block.type !== 'file') return []
      const { name, mimeType, sizeBytes, url } = block
      return [{ name, mimeType, sizeBytes, download: (options) => download(this.#client, url, options) }]
    })
  }
}
