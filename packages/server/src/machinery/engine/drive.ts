import type {
  Answer,
  Launch,
  Reuse,
  RunEnd,
  StepCall,
  StepChange,
  StepOutcome,
  Workflow,
} from '#machinery/graph/graph.ts'

/** For whom a run acts. */
export interface RunCaller {
  readonly workspaceId: string
  readonly userId: string
  readonly apiKeyId: number | null
}

/**
 * One time that the engine began or went on with a run. Of all openings of a run only the last may write: the engine may
 * have given up a worker that does not know it yet.
 */
interface Opening {
  readonly runId: string
  readonly opened: number
}

/** A run as its driver needs it; the same at every look, but for `opening` and `isOver`. */
export interface OpenRun {
  readonly opening: Opening
  readonly workflow: Workflow
  readonly launch: Launch
  readonly reuse?: Reuse
  readonly caller: RunCaller
  /** Canceled, as of this look: nothing more may be done for it. */
  readonly isOver: boolean
}

/** A step's record and its place among the changes of its run. */
export interface StepWrite extends StepChange {
  readonly revision: number
}

/**
 * What driving a run needs of the records. Everything here may happen twice, after a crash, and then changes nothing
 * the second time. What an opening writes that is not the last fails, and changes nothing either.
 */
export interface RunRecords {
  /** Undefined when there is nothing to drive: the launch was refused, or the definition cannot be read. */
  open(runId: string, invocationId: string): Promise<OpenRun | undefined>
  /** Whether a step that is alone needs no call of its own. */
  isQuick(call: StepCall): boolean
  perform(caller: RunCaller, call: StepCall, signal: AbortSignal): Promise<StepOutcome>
  /** `asleep` gives the run's place to another one, until `wake`. */
  write(opening: Opening, writes: readonly StepWrite[], pace: 'advancing' | 'asleep'): Promise<void>
  /**
   * Takes a place again. False when there is none: then the promise `key` is resolved once there is. `refused` when who
   * launched the run may not act any more.
   */
  wake(opening: Opening, caller: RunCaller, key: string): Promise<boolean | 'refused'>
  /** The run now waits for people, for the `pause`th time. */
  pause(opening: Opening, writes: readonly StepWrite[], pause: number): Promise<void>
  /** False when the answer was taken back before. */
  takeAnswer(runId: string, resumeId: string): Promise<boolean>
  readAnswer(runId: string, resumeId: string): Promise<Answer>
  close(opening: Opening, writes: readonly StepWrite[], end: RunEnd): Promise<void>
}

export type SkillBegun = { readonly executionId: number } | { readonly outcome: StepOutcome }

/** An agent that uses tools answers in a conversation of its own, elsewhere. */
export interface AgentBegun {
  readonly kind: 'begun'
  readonly agentRunId: number
}

/** What a step needs that is a call of its own. */
export interface StepWork {
  isSkill(call: StepCall): boolean
  /**
   * What came of the step; or what it began, as an earlier try of the same step may have done, whose end resolves the
   * awakeable.
   */
  perform(
    caller: RunCaller,
    call: StepCall,
    awakeableId: string,
    signal: AbortSignal,
  ): Promise<StepOutcome | AgentBegun>
  interruptAgent(agentRunId: number): Promise<void>
  collectAgent(call: StepCall, agentRunId: number): Promise<StepOutcome>
  /** Starts or queues the skill, or finds what an earlier try of this step began; its end resolves the awakeable. */
  beginSkill(caller: RunCaller, call: StepCall, awakeableId: string): Promise<SkillBegun>
  interruptSkill(executionId: number): Promise<void>
  collectSkill(executionId: number): Promise<StepOutcome>
}
