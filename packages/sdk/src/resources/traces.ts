import type { CallOptions } from '../client.ts'
import { ConflictError } from '../errors.ts'
import type { TraceTurn } from '../generated/records.ts'
import {
  type AppendTraceEventsAnswer,
  type AppendTraceEventsBody,
  appendTraceEvents,
  Traces as Printed,
} from '../generated/traces.ts'
import { type TurnsOptions, traceTurns } from '../trace-tail.ts'

/** What agents did. */
export class Traces extends Printed {
  /** Every turn that a trace has now. */
  turns(id: string, options: TurnsOptions = {}): AsyncGenerator<TraceTurn, void, undefined> {
    return traceTurns(this.client, id, options)
  }

  /** Every turn, and each that comes, until the loop is left. */
  tail(id: string, options: TurnsOptions = {}): AsyncGenerator<TraceTurn, void, undefined> {
    return traceTurns(this.client, id, options, 25)
  }

  /** Appends turns, all or none. Turns with numbers that are there already, word for word, have landed. */
  override async append(
    id: string,
    body: AppendTraceEventsBody,
    options?: CallOptions,
  ): Promise<AppendTraceEventsAnswer> {
    try {
      return await this.client.call(appendTraceEvents, { params: { id }, body }, options)
    } catch (error) {
      if (!ConflictError.is(error)) throw error
      const { conflicts, lastSeq } = error.details as { conflicts?: { same: boolean }[]; lastSeq?: number }
      const hasLanded = conflicts?.length === body.events.length && conflicts.every(({ same }) => same)
      if (!hasLanded || lastSeq === undefined) throw error
      return { appended: 0, lastSeq }
    }
  }
}
