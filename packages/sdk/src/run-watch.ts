import type { Client } from './client.ts'
import { type FollowOptions, follow } from './event-stream.ts'
import type { RunStreamEvent } from './generated/records.ts'
import { streamWorkflowRun } from './generated/runs.ts'

/** The state of a run, and what is new in it. */
export type RunState = RunStreamEvent & {
  /** Steps whose status is another than in the state before. */
  readonly changed: readonly { readonly stepId: string; readonly status: string }[]
}

/** How a run is followed. */
export interface WatchOptions extends FollowOptions {
  /** `settled`: until it ends or waits for a person. `finished`: until it ends, however often it waits. */
  readonly until?: 'settled' | 'finished' | undefined
}

const ends: readonly string[] = ['success', 'failed', 'canceled']

/** Each state of a run, the present one first. */
export async function* watchRun(
  client: Client,
  runId: string,
  { until = 'settled', ...options }: WatchOptions = {},
): AsyncGenerator<RunState, void, undefined> {
  const isWhole = until === 'finished'
  const call = { params: { runId }, query: isWhole ? { through: 'suspended' as const } : {} }
  const source = {
    name: `The stream of ${runId}`,
    isGapless: false,
    open: (_: unknown, signal: AbortSignal) =>
      client.open(streamWorkflowRun, call, { signal, maxRetries: 0 }),
    read: (data: string) => ({ event: JSON.parse(data) as RunStreamEvent, sequence: undefined }),
    isLast: ({ status }: RunStreamEvent) => ends.includes(status) || (!isWhole && status === 'suspended'),
  }
  let before: RunStreamEvent | undefined
  for await (const state of follow(source, undefined, options)) {
    if (before?.status === state.status && before.updatedAt === state.updatedAt) continue
    yield { ...state, changed: changesOf(before, state) }
    before = state
  }
}

function changesOf(before: RunStreamEvent | undefined, now: RunStreamEvent): RunState['changed'] {
  const earlier = before?.snapshot.context ?? {}
  return Object.entries(now.snapshot.context).flatMap(([stepId, step]) => {
    const status = statusOf(step)
    return stepId === 'input' || status === undefined || status === statusOf(earlier[stepId])
      ? []
      : [{ stepId, status }]
  })
}

function statusOf(step: unknown): string | undefined {
  return (step as { readonly status?: string } | undefined)?.status
}
