import type { StepErrorCode } from '#machinery/graph/graph.ts'

/** On whose behalf a tool is called, and within what. */
export interface ToolCall {
  readonly workspaceId: string
  readonly userId: string
  readonly apiKeyId: number | null
  readonly runId: string
  readonly stepId: string
  /** `runId:stepId:index:iteration:attempt`. A call that a crash repeats has the same one. */
  readonly idempotencyKey: string
  /** Whether the definition says that agents may answer what it asks. */
  readonly isForAgents?: boolean
  /** Aborted when the run is canceled. */
  readonly signal: AbortSignal
  /** What a person said when this call had suspended. */
  readonly answer?: { readonly data: unknown; readonly at: number }
}

export type ToolResult =
  | { readonly kind: 'output'; readonly output: unknown }
  | { readonly kind: 'suspend'; readonly payload: unknown }

/**
 * Something a workflow can do in a step. The input was checked against the schema before it comes here. A call is made
 * at least once: whatever has effects elsewhere passes the idempotency key on.
 */
export interface Tool {
  readonly id: string
  readonly description: string
  readonly inputSchema: Record<string, unknown>
  /** What comes out, in words for whoever writes definitions. */
  readonly gives?: string
  /** Whether it reaches anything but the workspace. What does not say so does, and a person is asked before an agent uses it. */
  readonly reach?: 'inside' | 'outside'
  /** Waits in a way that only the engine has; conversations have their own. */
  readonly isForWorkflows?: true
  /** Whether what it reaches honours the idempotency key; false for what nobody knows that about. */
  readonly isKeyed?: boolean
  /** Done within seconds, so that it need not be a call of its own when nothing runs beside it. */
  readonly quick: boolean
  run(input: unknown, call: ToolCall): Promise<ToolResult>
  /** What is wrong with an answer to a suspension of this tool; nothing when it fits. */
  checkAnswer?(data: unknown, payload: unknown): string[]
  /** Throws with what to do when this host lacks what the tool needs. */
  check?(): Promise<void>
  /**
   * Whether an agent may answer, too: told by what the tool suspended with, or by the input of the step. Without this
   * only people may, since no agent allows itself anything.
   */
  isForAgents?(payload: unknown): boolean
}

/** Fails the step under another code than TOOL_FAILED, which is what any other error becomes. */
export class ToolFailure extends Error {
  readonly code: StepErrorCode
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(code: StepErrorCode, message: string, details?: Readonly<Record<string, unknown>>) {
    super(message)
    this.code = code
    this.details = details
  }
}

export function outputOf(output: unknown): ToolResult {
  return { kind: 'output', output }
}
