import { CancelledError, type Context, service } from '@restatedev/restate-sdk'
import type { StepCall, StepOutcome } from '#machinery/graph/graph.ts'
import { attempts } from './attempts.ts'
import type { RunCaller, StepWork } from './drive.ts'

export interface StepRequest {
  readonly caller: RunCaller
  readonly call: StepCall
}

/** Longer than a step may last, so that the engine never cuts a call that is merely long. */
const longerThanAnyMs = 70 * 60_000

/**
 * Steps that are calls of their own: what may last, and what runs beside others. One call is one attempt and always
 * answers with an outcome; a worker that dies has it called again elsewhere, with the same idempotency key. While a
 * skill runs, or an agent with tools, nothing is held open here: the call is suspended until the end of either resolves
 * its awakeable.
 */
export function createStepService(work: StepWork) {
  return service({
    name: 'StepRunner',
    handlers: {
      perform: async (ctx: Context, { caller, call }: StepRequest): Promise<StepOutcome> =>
        work.isSkill(call) ? runSkill(ctx, work, caller, call) : runStep(ctx, work, caller, call),
    },
    options: {
      inactivityTimeout: longerThanAnyMs,
      abortTimeout: longerThanAnyMs,
      journalRetention: 0,
      ingressPrivate: true,
      retryPolicy: { initialInterval: 100, ...attempts },
    },
  })
}

async function runStep(
  ctx: Context,
  work: StepWork,
  caller: RunCaller,
  call: StepCall,
): Promise<StepOutcome> {
  const canceled = new AbortController()
  const signal = AbortSignal.any([canceled.signal, ctx.request().attemptCompletedSignal])
  // Named before anything is journaled, which writes nothing: a step that begins nothing has the journal of its outcome.
  const ended = ctx.awakeable<null>()
  try {
    const done = await ctx.run(call.idempotencyKey, () => work.perform(caller, call, ended.id, signal))
    if (done.kind !== 'begun') return done
    const { agentRunId } = done
    return await awaitEnd(ctx, ended.promise, {
      interrupt: () => work.interruptAgent(agentRunId),
      collect: () => work.collectAgent(call, agentRunId),
    })
  } catch (error) {
    canceled.abort()
    if (error instanceof CancelledError) return { kind: 'canceled', at: Date.now() }
    throw error
  }
}

async function runSkill(
  ctx: Context,
  work: StepWork,
  caller: RunCaller,
  call: StepCall,
): Promise<StepOutcome> {
  const ended = ctx.awakeable<null>()
  const begun = await ctx.run('begin', () => work.beginSkill(caller, call, ended.id))
  if ('outcome' in begun) return begun.outcome
  const { executionId } = begun
  return awaitEnd(ctx, ended.promise, {
    interrupt: () => work.interruptSkill(executionId),
    collect: () => work.collectSkill(executionId),
  })
}

/** Waits for what goes on elsewhere with nothing held here; a step that is canceled meanwhile ends it. */
async function awaitEnd(
  ctx: Context,
  ended: Promise<null>,
  work: { interrupt(): Promise<void>; collect(): Promise<StepOutcome> },
): Promise<StepOutcome> {
  try {
    await ended
  } catch (error) {
    if (!(error instanceof CancelledError)) throw error
    await ctx.run('interrupt', () => work.interrupt())
    return { kind: 'canceled', at: Date.now() }
  }
  return ctx.run('collect', () => work.collect())
}

export type StepService = ReturnType<typeof createStepService>
