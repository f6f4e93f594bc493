import type { Principal } from '#operations/principal.ts'

/** Reads, changes what the workspace has, uses credits, or reaches what is not ours. */
export type ToolClass = 'look' | 'make' | 'spend' | 'outside'

/** Through what the message was sent that a run answers. */
export interface Credential {
  readonly kind: Principal['kind']
  readonly id: number
}

/** What the thread is told of a question. */
interface ApprovalRequired {
  readonly approvalId: string
  readonly kind: 'permission' | 'tool' | 'budget'
  readonly toolUseId: string
  readonly scope?: string
  readonly summary: string
  readonly expiresAt: string
}

/** Why a run must wait, and for what. */
export interface Wait {
  readonly kind: 'approval' | 'execution' | 'run'
  readonly ref: string
  readonly until?: Date
  readonly frame?: { readonly type: 'approval.required'; readonly payload: ApprovalRequired }
}

export interface ToolOutput {
  readonly output: string
  readonly isError: boolean
  /** What it had others spend, to be counted once, with the result. */
  readonly delegatedMilliDs?: number
  /** The run of a workflow that it launched, to be named once, by the end of the run. */
  readonly launchedRunId?: string
}

export type Used = ToolOutput | { readonly pause: Wait }

/** The run that uses tools, as far as they know it. */
export interface ToolRun {
  /** As the interface has it: `chat_…`. */
  readonly runId: string
  readonly threadId: string
  readonly workspaceId: string
  readonly userId: string
  readonly credential: Credential
  readonly agent: {
    readonly slug: string
    readonly tools: readonly string[]
    readonly skills: readonly string[]
    readonly outside: 'ask' | 'never'
  }
  /** Whether it has read anything from outside. */
  tainted(): boolean
  taint(why: string): Promise<void>
  /** Of what the message and all it causes may cost. */
  remainingMilliDs(): Promise<number>
  /** What came of a run that it had asked, and of all that this had others do: whether anything goes on, and the cost. */
  causedBy(runId: string): Promise<{ isOpen: boolean; milliDs: number }>
  /** How many agents asked one another before this one. */
  readonly depth: number
  readonly signal: AbortSignal
  /** What it waited for before it went on. */
  readonly waited:
    | { readonly kind: Wait['kind']; readonly ref: string; readonly toolUseId: string }
    | undefined
  /** Notes that a call which cannot be repeated is about to have its effect. False when it was noted before. */
  begin(toolUseId: string): Promise<boolean>
}

/** What is asked of an operation of the contract. */
export interface Request {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number>>
  readonly body?: Readonly<Record<string, unknown>>
  /** Of what is launched: another one than this is refused. */
  readonly definitionSha256?: string
}

/** What one use of a tool would come to, where the input alone does not tell. */
export interface Reach {
  readonly isOutside: boolean
  /** Shown to the person who is asked, beside the input; a yes holds for just these. */
  readonly facts: Readonly<Record<string, string>>
}

/** One use of a tool, with the authority of whoever sent the message. */
export interface ToolUse {
  readonly id: string
  readonly run: ToolRun
  readonly principal: Principal
  /** Performs the operation and gives its answer. What it refuses is thrown, and turned into words or a wait. */
  perform(operation: string, request: Request): Promise<unknown>
  readonly facts: Reach['facts']
  /** Undefined once the person who is asked allows exactly this; else what to say or to wait for. */
  askPerson(summary: string): Promise<Used | undefined>
}

export type ToolInput = Readonly<Record<string, unknown>>

export interface ThreadTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly does: ToolClass
  /** Whether a repeat of a call that was broken off does nothing a second time. */
  readonly isKeyed: boolean
  /**
   * Its result holds no words but ours and the model's own, or it says itself what it has read. Any other result makes the
   * run one that has read from outside: names and descriptions are written by whoever may write them.
   */
  readonly isOurs?: true
  /** Asked before each use of a tool whose input decides what it reaches. */
  reach?(input: ToolInput, perform: ToolUse['perform']): Promise<Reach>
  /** What it is about to do, for the person who watches or is asked. */
  summary(input: ToolInput): string
  use(input: ToolInput, use: ToolUse): Promise<Used>
}

export function said(value: unknown): ToolOutput {
  return { output: typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), isError: false }
}

export function refused(output: string): ToolOutput {
  return { output, isError: true }
}
