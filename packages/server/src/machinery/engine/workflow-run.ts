import {
  CancelledError,
  handlers,
  InvocationIdParser,
  TerminalError,
  type WorkflowContext,
  type WorkflowSharedContext,
  workflow,
} from '@restatedev/restate-sdk'
import { type RunEnd, runGraph } from '#machinery/graph/graph.ts'
import type { AnswerWord } from '#platform/engine-client.ts'
import { attempts } from './attempts.ts'
import type { RunRecords } from './drive.ts'
import { forGood, RunDurable } from './run-durable.ts'

/** An orchestrator that only waits is put aside at once; its steps are calls of their own when they may last. */
const putAsideAfterMs = 1000
/** Longer than anything that is done in place; a worker that holds on to a run for longer hangs. */
const doneInPlaceMs = 60_000
const rememberedMs = 10 * 60_000

/**
 * Drives one run of a workflow; its key is the run's id, so a launch that is sent twice is one run. The run is a program
 * over the journal: a crash has it computed again on another worker, and what was recorded is not done again. What is
 * read and written at both ends is not journaled: definition and inputs never change, and the end is a compare-and-set.
 *
 * Only the run row says whether a run is canceled or waits for an answer. What comes here are hints that may be repeated.
 */
export function createWorkflowService(records: RunRecords) {
  return workflow({
    name: 'WorkflowRun',
    handlers: {
      run: async (ctx: WorkflowContext): Promise<void> => {
        const run = await records.open(ctx.key, ctx.request().id)
        if (!run) return
        const durable = new RunDurable(ctx, records, run)
        try {
          const end = await runGraph(run.workflow, durable, run.launch, run.reuse)
          await forGood(() => records.close(run.opening, durable.takeUnwritten(), end))()
        } catch (error) {
          // Thrown on, it would end the call and leave the run as it is.
          if (!(error instanceof TerminalError) || error instanceof CancelledError) throw error
          await records.close(run.opening, [], failedFor(error))
        }
      },
      answer: handlers.workflow.shared(
        async (ctx: WorkflowSharedContext, { key, resumeId }: AnswerWord): Promise<void> => {
          // From here on nobody takes the answer back; one that was is not passed on.
          if (!(await ctx.run('take', () => records.takeAnswer(ctx.key, resumeId)))) return
          await ctx
            .promise<string>(key)
            .resolve(resumeId)
            .catch((error: unknown) => {
              // Passed on before.
              if (!(error instanceof TerminalError)) throw error
            })
        },
      ),
      cancel: handlers.workflow.shared(
        async (ctx: WorkflowSharedContext, invocationId: string): Promise<void> => {
          ctx.cancel(InvocationIdParser.fromString(invocationId))
        },
      ),
    },
    options: {
      inactivityTimeout: putAsideAfterMs,
      abortTimeout: doneInPlaceMs,
      workflowRetention: rememberedMs,
      journalRetention: 0,
      retryPolicy: { initialInterval: 50, ...attempts },
    },
  })
}

function failedFor({ message }: TerminalError): RunEnd {
  const error = { name: 'WorkflowError', code: 'INTERNAL_ERROR', message } as const
  return { status: 'failed', error, at: Date.now(), records: new Map() }
}

export type WorkflowService = ReturnType<typeof createWorkflowService>
