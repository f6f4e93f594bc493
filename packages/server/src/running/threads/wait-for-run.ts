import { type AnswerOf, type threadStreamRoutes, toDs } from '@guildhall/contract'
import { runChannel, type ThreadParts } from './changes.ts'
import { findLastSaid } from './event-store.ts'
import { launchedBy } from './lifecycle.ts'
import * as store from './store.ts'
import { toRunId } from './thread-log.ts'

const lookEveryMs = 1000

/** Answers when a run has ended or waits, or when the time is over; the run goes on in any case. */
export async function waitForRun(
  { database, bus }: ThreadParts,
  { run, thread }: { run: store.RunRow; thread: store.ThreadRow },
  ms: number,
  signal: AbortSignal,
): Promise<AnswerOf<(typeof threadStreamRoutes)['chat']>> {
  const deadline = performance.now() + ms
  for (;;) {
    const left = deadline - performance.now()
    const word = bus.wait(runChannel(run.run_id), signal, Math.max(0, Math.min(lookEveryMs, left)))
    const now = (await store.findRunById(database.db, run.id)) ?? { ...run, status: 'failed' as const }
    const isGoingOn = now.status === 'queued' || now.status === 'working'
    if (!isGoingOn || left <= 0 || signal.aborted) return describe(now)
    await word
  }

  async function describe(now: store.RunRow) {
    const said = await findLastSaid(database.db, thread.id, run.run_id, run.message_sequence)
    const message = said === undefined ? undefined : (JSON.parse(said) as { content?: string }).content
    return {
      threadId: thread.thread_id,
      runId: toRunId(run.run_id),
      status: now.status,
      message: message ?? null,
      usage: { inputTokens: now.input_tokens, outputTokens: now.output_tokens },
      cost: toDs(now.cost_milli_ds),
      stopReason: now.stop_reason,
      errorCode: now.error_code,
      ...launchedBy(now),
      ...(now.wait_kind === 'approval' && now.wait_ref !== null && { approval: { id: now.wait_ref } }),
    }
  }
}
