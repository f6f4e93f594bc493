import type { Client } from './client.ts'
import type { TraceTurn } from './generated/records.ts'
import { getTraceEvents } from './generated/traces.ts'
import { pause } from './retry.ts'

/** How the turns of a trace are read. */
export interface TurnsOptions {
  /** Begins after this turn; 0 when not given. */
  readonly after?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Every turn that the trace has, in order; with `wait` also those that come, for ever. */
export async function* traceTurns(
  client: Client,
  id: string,
  { after = 0, signal }: TurnsOptions,
  wait?: number,
): AsyncGenerator<TraceTurn, void, undefined> {
  for (let afterSeq = after; ; ) {
    const asked = performance.now()
    const query = { afterSeq, wait }
    const { items } = await client.call(getTraceEvents, { params: { id }, query }, { signal, maxRetries: 10 })
    if (items.length === 0) {
      if (wait === undefined) return
      await pause(asked + 1000 - performance.now(), signal)
    }
    for (const turn of items) {
      afterSeq = turn.seq
      yield turn
    }
  }
}
