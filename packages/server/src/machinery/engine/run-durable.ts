import { isDeepStrictEqual } from 'node:util'
import {
  CancelledError,
  type InvocationPromise,
  RestatePromise,
  TerminalError,
  type WorkflowContext,
} from '@restatedev/restate-sdk'
import {
  type Answer,
  accessEnded,
  type Durable,
  RunCanceled,
  RunFailed,
  recordAfter,
  type StepCall,
  type StepChange,
  type StepOutcome,
  type Suspension,
} from '#machinery/graph/graph.ts'
import { isUnstorable } from '#platform/database-errors.ts'
import type { OpenRun, RunRecords, StepWrite } from './drive.ts'
import type { StepService } from './step-runner.ts'

const stepService: StepService = { name: 'StepRunner' }

/** A shorter sleep keeps the run's place: giving it up and taking it again would cost more. */
const napMs = 1000

/** How long readers may not see what a quick step did; steps that follow each other faster are written together. */
const shownWithinMs = 300

interface Performed {
  readonly outcome: StepOutcome
  readonly isWritten: boolean
}

/**
 * A run's port over the engine. Records are not journaled: every change gets a number that a replay counts again alike,
 * and the records keep the highest. They are written with whatever the engine does next, at the latest before the run
 * waits.
 *
 * Worked example, as seen in the engine's journal. The graph is: tool `a` (quick), mapping `m`, tool `ask` (asks a
 * person), tool `b` (quick), sleep `z` of 5 s.
 *
 *     journal                                    what happens here                              changes counted
 *     run      <run>:a:0:0:0    -> success       `#inPlace`; isWritten false, 300 ms not over   a: 1 running, 2 own, 3
 *                                                `m` is computed and has no entry               m: 4, 5
 *     run      <run>:ask:0:0:0  -> suspended     `#inPlace` again                               ask: 6, 7 own, 8
 *     promise  ask:0:0                           `answered`: opened, not awaited yet
 *     run      suspend                           `suspended` writes a 3, m 5, ask 8 and status
 *                                                `suspended`, pause 1; the place is given away
 *     -- the engine puts the run aside. Later somebody answers: the row keeps the answer, the engine resolves the
 *        promise and calls a worker, which opens the run (2) and computes all of the above from the journal --
 *     promise  ask:0:0          -> resume id     `race` ends; `#comeBack` asks for no place, whoever answered did
 *     run      answer ask:0:0   -> "yes"         `readAnswer`                                   ask: 9
 *     run      <run>:ask:0:0:0  -> success       the same attempt, now with its answer          ask: 10 own, 11
 *     run      <run>:b:0:0:0    -> success       `#inPlace`                                     b: 12, 13 own, 14
 *     sleep    z:0:0                             `sleep`; 5 s is a nap that costs the place     z: 15, 16
 *     run      note                              `#writeBeforeWaiting`: ask 11, b 14, z 16, `asleep`
 *     sleep    z:0:0            -> over          (the third opening)
 *     run      place:1          -> true          `#comeBack` takes a place                      z: 17
 *     output                                     `close` writes z 17 and status `success`
 *
 * The second opening must count 1 to 8 exactly as the first did, although it performs nothing. So `++this.#revision`
 * stands outside of what `ctx.run` calls: inside, a replay would count `ask` as 6 instead of 8, and its next change, 7,
 * would lose against the 8 in the table. `isWritten` is journaled with the outcome for a like reason: a replay that asked
 * its own clock could come to other pending records, and journal a `note` where the first attempt had none, for which
 * the engine refuses to go on. Without the `note` before the sleep readers would see `ask` suspended for 5 s after it
 * was answered, and the place would be kept. `suspended` is awaited before the run waits, because an answer is taken only
 * for a row that says `suspended`.
 */
export class RunDurable implements Durable {
  readonly #ctx: WorkflowContext
  readonly #records: RunRecords
  readonly #run: OpenRun
  readonly #canceled = new AbortController()
  readonly #signal: AbortSignal
  readonly #calls = new Set<InvocationPromise<StepOutcome>>()
  readonly #naps = new WeakSet<object>()
  readonly #answers = new WeakSet<object>()
  readonly #latest = new Map<string, StepChange>()
  readonly #written = new Map<string, StepChange['record']>()
  #pending = new Map<string, StepWrite>()
  #revision = 0
  #pauses = 0
  #wakings = 0
  #clock: number
  #isAsleep = false
  /** Known to this attempt alone: only what is performed here may look at it. */
  #writtenAt = Date.now()

  constructor(ctx: WorkflowContext, records: RunRecords, run: OpenRun) {
    this.#ctx = ctx
    this.#records = records
    this.#run = run
    this.#clock = run.launch.launchedAt
    this.#signal = AbortSignal.any([this.#canceled.signal, ctx.request().attemptCompletedSignal])
  }

  start(call: StepCall): PromiseLike<StepOutcome> {
    return call.alone && this.#records.isQuick(call) ? this.#inPlace(call) : this.#asCall(call)
  }

  sleep(name: string, durationMs: number): PromiseLike<unknown> {
    const nap = this.#ctx.sleep(durationMs, name)
    if (durationMs >= napMs) this.#naps.add(nap)
    return nap
  }

  now(name: string): PromiseLike<number> {
    return this.#ctx.run(name, () => Date.now())
  }

  answered({ key }: Suspension): PromiseLike<unknown> {
    const answer = this.#ctx.promise<string>(key).get()
    this.#answers.add(answer)
    return answer
  }

  readAnswer({ key }: Suspension, answerId: unknown): PromiseLike<Answer> {
    return this.#ctx.run(
      `answer ${key}`,
      forGood(() => this.#records.readAnswer(this.#ctx.key, String(answerId))),
    )
  }

  async race(promises: readonly PromiseLike<unknown>[]): Promise<{ index: number; value: unknown }> {
    await this.#writeBeforeWaiting(
      promises.every((promise) => this.#naps.has(promise) || this.#answers.has(promise)),
    )
    const native = promises as readonly RestatePromise<unknown>[]
    const [only] = native
    const first =
      only && native.length === 1
        ? { index: 0, value: await this.#orCanceled(only) }
        : await this.#orCanceled(
            RestatePromise.race(native.map((promise, index) => promise.map(indexed(index)))),
          )
    await this.#comeBack(promises[first.index])
    return first
  }

  note(change: StepChange): void {
    const { stepId, record } = change
    this.#latest.set(stepId, change)
    const isKnown = isDeepStrictEqual(this.#written.get(stepId), record)
    this.#written.delete(stepId)
    const revision = ++this.#revision
    if (isKnown) this.#pending.delete(stepId)
    else this.#pending.set(stepId, { ...change, revision })
  }

  async suspended(): Promise<void> {
    const writes = this.takeUnwritten()
    const pause = ++this.#pauses
    // Its place is given away with it.
    this.#isAsleep = true
    await this.#orCanceled(
      this.#ctx.run(
        'suspend',
        forGood(() => this.#records.pause(this.#run.opening, writes, pause)),
      ),
    )
  }

  takeUnwritten(): StepWrite[] {
    const writes = [...this.#pending.values()]
    this.#pending = new Map()
    return writes
  }

  /**
   * Performs the step in place. Its record is written in the same go, or left to what follows within moments: whether it
   * was is recorded with the outcome, so that a replay knows what is still to be written.
   */
  #inPlace(call: StepCall): PromiseLike<StepOutcome> {
    const { stepId } = call
    const before = this.#latest.get(stepId)
    const writes = this.takeUnwritten()
    const revision = ++this.#revision
    const after = (outcome: StepOutcome) => before && recordAfter(before.record, call, outcome)
    const perform = async (): Promise<Performed> => {
      const outcome = await this.#performShown(call, writes)
      if (Date.now() - this.#writtenAt < shownWithinMs) return { outcome, isWritten: false }
      const record = after(outcome)
      const own = before && record ? [{ ...before, record, revision }] : []
      const others = record ? writes.filter((write) => write.stepId !== stepId) : writes
      await this.#records.write(this.#run.opening, [...others, ...own], 'advancing')
      this.#writtenAt = Date.now()
      return { outcome, isWritten: true }
    }
    return this.#ctx.run(call.idempotencyKey, forGood(perform)).map((performed, failure) => {
      const outcome = this.#outcomeOf(performed?.outcome, failure)
      const record = after(outcome)
      if (!performed?.isWritten) for (const write of writes) this.#pending.set(write.stepId, write)
      else if (record) this.#written.set(stepId, record)
      return outcome
    })
  }

  /** Should it take longer than it ought to, readers see what came before it, and that it runs. */
  async #performShown(call: StepCall, writes: readonly StepWrite[]): Promise<StepOutcome> {
    if (this.#run.isOver) return { kind: 'canceled', at: Date.now() }
    const show = () => void this.#records.write(this.#run.opening, writes, 'advancing').catch(() => {})
    const timer = setTimeout(show, shownWithinMs)
    try {
      return await this.#records.perform(this.#run.caller, call, this.#signal)
    } finally {
      clearTimeout(timer)
    }
  }

  #asCall(call: StepCall): PromiseLike<StepOutcome> {
    const invocation = this.#ctx.serviceClient(stepService).perform({ caller: this.#run.caller, call })
    this.#calls.add(invocation)
    return invocation.map((outcome, failure) => {
      this.#calls.delete(invocation)
      return this.#outcomeOf(outcome, failure)
    })
  }

  /** A call that the engine itself ended tells no time of its own. */
  #outcomeOf(outcome: StepOutcome | undefined, failure: TerminalError | undefined): StepOutcome {
    this.#clock = Math.max(this.#clock, outcome?.at ?? 0)
    if (outcome) return outcome
    if (failure instanceof CancelledError) return { kind: 'canceled', at: this.#clock }
    return { kind: 'failed', error: { code: 'TOOL_FAILED', message: 'The step was ended.' }, at: this.#clock }
  }

  /** Word of a cancellation comes at whatever the run waits for. */
  async #orCanceled<T>(waited: PromiseLike<T>): Promise<T> {
    try {
      return await waited
    } catch (error) {
      if (!(error instanceof CancelledError)) throw error
      this.#canceled.abort()
      await this.#cancelCalls()
      throw new RunCanceled()
    }
  }

  /** The engine does not end what a run has called when the run ends. */
  async #cancelCalls(): Promise<void> {
    for (const call of this.#calls) this.#ctx.cancel(await call.invocationId)
  }

  async #writeBeforeWaiting(willSleep: boolean): Promise<void> {
    if (this.#pending.size === 0 && (!willSleep || this.#isAsleep)) return
    const writes = this.takeUnwritten()
    const pace = willSleep ? 'asleep' : 'advancing'
    this.#isAsleep = willSleep
    const write = () => this.#records.write(this.#run.opening, writes, pace)
    await this.#orCanceled(this.#ctx.run('note', forGood(write)))
  }

  /** Whoever answered has seen to the run's place; after a sleep it has to find one itself. */
  async #comeBack(winner: object | undefined): Promise<void> {
    if (!this.#isAsleep) return
    this.#isAsleep = false
    if (!winner || this.#answers.has(winner)) return
    const key = `place:${++this.#wakings}`
    const wake = () => this.#records.wake(this.#run.opening, this.#run.caller, key)
    const hasPlace = await this.#orCanceled(this.#ctx.run(key, forGood(wake)))
    if (hasPlace === 'refused') {
      await this.#cancelCalls()
      throw new RunFailed({ name: 'WorkflowError', ...accessEnded })
    }
    if (!hasPlace) await this.#orCanceled(this.#ctx.promise<string>(key).get())
  }
}

/** What cannot be stored cannot be the next time either: the engine does not try it again, and the run ends with it. */
export function forGood<T>(act: () => Promise<T>): () => Promise<T> {
  return () =>
    act().catch((error: unknown) => {
      throw isUnstorable(error) ? new TerminalError('What the run came to cannot be stored.') : error
    })
}

function indexed(index: number) {
  return (value: unknown, failure?: TerminalError) => {
    if (failure) throw failure
    return { index, value }
  }
}
