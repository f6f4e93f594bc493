export interface ExecutionCall {
  executionRowId: number
  attempt: number
  /** The engine takes each once. A later one finds another worker while an earlier one is stuck in a worker that hangs. */
  offer: number
}

export interface ThreadCall {
  threadRowId: number
  /** As the row has it. */
  runId: string
  segment: number
  /** The engine takes each once. */
  offer: number
  /** Whose it is, for fairness among those whom a worker has no room for; a call by an older version says nothing. */
  workspaceId?: string
}

export interface AnswerWord {
  readonly key: string
  readonly resumeId: string
}

/** One that the engine has put aside. */
export interface PausedCall {
  readonly invocationId: string
  /** Of the call that drives a run. */
  readonly runId: string | undefined
}

/** How every process speaks to the durable engine, whatever that is. */
export interface EngineClient {
  /** Has a worker take a started execution. Asked again for the same offer, nothing more happens. */
  runExecution(call: ExecutionCall): Promise<void>
  /** Has a worker go on with a chat's run. Asked again for the same offer, nothing more happens. */
  carryThread(call: ThreadCall): Promise<void>
  /** Has a run driven, and gives the id of the call that drives it; asked again, nothing more happens. */
  launchRun(runId: string): Promise<string>
  /** Tells a run which answer was let through. */
  answerRun(runId: string, word: AnswerWord): Promise<void>
  /** Has the engine stop; it does so as soon as it has a worker, and then once for good. */
  cancelRun(runId: string, invocationId: string): Promise<void>
  /** Lets whoever waits for it go on. */
  resolveAwakeable(awakeableId: string): Promise<void>
  /** Calls of runs and steps that failed so often that the engine does not try them again. */
  listPaused(limit: number): Promise<PausedCall[]>
  resumePaused(invocationId: string): Promise<void>
  /** For good; whoever waits for it is told that it was ended. */
  endPaused(invocationId: string): Promise<void>
  /** Whether there is an engine; nothing is sent to it. */
  isAnswering(): Promise<boolean>
  /** Whether the engine answers, and whether it reaches a worker. */
  check(): Promise<{ engine: boolean; workers: boolean }>
}
