import { setTimeout as delay } from 'node:timers/promises'
import type { Caller, Person } from '../support/caller.ts'
import { bash, runErrand, script } from '../support/executions.ts'
import { readToEnd } from './cut-reader.ts'
import type { Reading } from './execution-history.ts'

/** A run with enough events that a reader can be cut after each of twenty. */
const errand = script(
  ...[1, 2, 3, 4].map((step) => ({
    say: `Step ${step}.`,
    delayMs: 100,
    tools: [bash(`echo ${step} >> /workspace/steps.txt; sleep 0.2`)],
  })),
  { say: 'Done.' },
)
const readWithinMs = 150_000

export interface Load {
  /** By the ids of executions whose start was answered 200. */
  readonly readings: Map<string, Reading>
  /** Starts that were answered otherwise, by status, and those whose connection broke. */
  readonly refusals: Record<string, number>
}

/**
 * Each person starts one run after the other, as soon as the one before has left the workspace, and has somebody read
 * along, until `next` says that it was enough.
 */
export async function runLoad(
  app: Caller,
  people: readonly Person[],
  options: { cuts: number; next: (accepted: number) => 'start' | 'wait' | 'stop' },
): Promise<Load> {
  const readings = new Map<string, Reading>()
  const reading: Promise<unknown>[] = []
  const refusals: Record<string, number> = {}
  let accepted = 0
  const lanes = people.map(async (person) => {
    for (;;) {
      const next = options.next(accepted)
      if (next === 'stop') return
      const outcome = next === 'start' ? await startOnce(app, person) : undefined
      if (outcome && 'executionId' in outcome) {
        accepted++
        const { executionId } = outcome
        const how = { reader: 'the one that was cut', cuts: options.cuts, withinMs: readWithinMs }
        reading.push(readToEnd(app, person, executionId, how).then((read) => readings.set(executionId, read)))
      } else {
        if (outcome) refusals[outcome.refusal] = (refusals[outcome.refusal] ?? 0) + 1
        await delay(250)
      }
    }
  })
  await Promise.all(lanes)
  await Promise.all(reading)
  return { readings, refusals }
}

async function startOnce(
  app: Caller,
  person: Person,
): Promise<{ executionId: string } | { refusal: string }> {
  try {
    const { status, body } = await runErrand(app, person, errand)
    return status === 200 ? { executionId: body.executionId } : { refusal: String(status) }
  } catch {
    return { refusal: 'broken' }
  }
}
