// Printed from the contract by "npm run sdk". Do not edit.
import type { CallOptions } from '../client.ts'
import type { Operation } from '../operation.ts'
import { list, type Pager } from '../pager.ts'
import { Resource } from '../resource.ts'
import type { Open, Success, Trace, TraceTurn } from './records.ts'

/** What {@link listTraces} can be asked for. */
export interface ListTracesQuery {
  kind?: 'execution' | 'chat' | undefined
  /** One of idle, running, waiting, completed, failed */
  status?: string | undefined
  /** A slug */
  agent?: string | undefined
  apiKey?: number | undefined
  /** A day (YYYY-MM-DD) or an ISO 8601 time */
  since?: string | undefined
  /** A day (YYYY-MM-DD) or an ISO 8601 time */
  until?: string | undefined
  /** 1 to 200; what lies outside is read as the nearest */
  limit?: number | undefined
  cursor?: string | undefined
}

/** What {@link listTraces} answers. */
export interface ListTracesAnswer {
  items: Trace[]
  nextCursor: string | null
  /** All activity before this moment is in what this walk shows */
  asOf: string
}

/**
 * What agents did in this workspace, the latest activity first.
 *
 * A key without agent:message is told of no conversations. What becomes active while you page moves to the front: walk to the end, then once more with since=<asOf of the first page>, and nothing is missed.
 */
export const listTraces: Operation<{ query?: ListTracesQuery | undefined }, ListTracesAnswer> = {
  name: 'listTraces',
  path: '/api/v1/traces',
  page: 'cursor',
}

/**
 * One trace.
 *
 * As a list shows it.
 */
export const getTrace: Operation<{ params: { id: string } }, Trace> = {
  name: 'getTrace',
  path: '/api/v1/traces/:id',
}

/** What {@link getTraceEvents} can be asked for. */
export interface GetTraceEventsQuery {
  afterSeq?: number | undefined
  /** 1 to 500; what lies outside is read as the nearest */
  limit?: number | undefined
  /** Seconds to wait for a turn */
  wait?: number | undefined
}

/** What {@link getTraceEvents} answers. */
export interface GetTraceEventsAnswer {
  items: TraceTurn[]
  /** The highest number given so far */
  lastSeq: number
  /** Turns of a producer up to here are no longer kept */
  expiredThroughSeq?: number
}

/**
 * The turns of a trace in their order, whoever they come from.
 *
 * Go on with afterSeq=<seq of the last item>: what comes later has a higher number. A page of large turns has fewer than limit; only an empty one is the end. With `wait` it answers as soon as there is a turn.
 */
export const getTraceEvents: Operation<
  { params: { id: string }; query?: GetTraceEventsQuery | undefined },
  GetTraceEventsAnswer
> = { name: 'getTraceEvents', path: '/api/v1/traces/:id/events' }

/** What is sent to {@link appendTraceEvents}. */
export interface AppendTraceEventsBody {
  events: {
    type: 'user.message' | 'agent.text' | 'agent.thinking' | 'tool.call' | 'tool.result' | 'error'
    payload: Record<string, unknown>
    seq?: number | undefined
  }[]
}

/** What {@link appendTraceEvents} answers. */
export interface AppendTraceEventsAnswer {
  appended: number
  lastSeq: number
}

/**
 * Append turns; all of them or none.
 *
 * A number that was given and stored before is 409, and details.conflicts says whether it is the same turn: then it has landed. 400 SEQ_NOT_ABOVE_LAST: nothing is stored; send it without a number.
 */
export const appendTraceEvents: Operation<
  { params: { id: string }; body: AppendTraceEventsBody },
  AppendTraceEventsAnswer
> = {
  name: 'appendTraceEvents',
  path: '/api/v1/traces/:id/events',
  method: 'POST',
  creates: true,
  namesAgent: true,
}

/** What is sent to {@link markTraceTurns}. */
export interface MarkTraceTurnsBody {
  seqs: number[]
  reason?: string | undefined
}

/**
 * Mark turns that must not leave with the trace.
 *
 * Exports, briefs and copies have nothing of them but the number, whoever makes them. Whoever may read the trace still can. Marking twice is as once; 400 for a number that no turn has been given yet.
 */
export const markTraceTurns: Operation<{ params: { id: string }; body: MarkTraceTurnsBody }, Success> = {
  name: 'markTraceTurns',
  path: '/api/v1/traces/:id/marks',
  method: 'POST',
}

/** What is sent to {@link unmarkTraceTurns}. */
export interface UnmarkTraceTurnsBody {
  seqs: number[]
}

/**
 * Let marked turns leave with the trace again.
 *
 * What is not marked stays as it is.
 */
export const unmarkTraceTurns: Operation<{ params: { id: string }; body: UnmarkTraceTurnsBody }, Success> = {
  name: 'unmarkTraceTurns',
  path: '/api/v1/traces/:id/marks',
  method: 'DELETE',
}

/**
 * Erase what one turn says, for good.
 *
 * Its number and type stay, its payload becomes { "redacted": true }, also in the log of what produced it and in its stream. Nobody gets it back. What else repeats it, such as files and later turns, is not touched. 400 for the turn that tells how something ended.
 */
export const eraseTraceTurn: Operation<{ params: { id: string; seq: string } }, Success> = {
  name: 'eraseTraceTurn',
  path: '/api/v1/traces/:id/events/:seq/redact',
  method: 'POST',
}

/** What {@link continueTrace} answers. */
export interface ContinueTraceAnswer {
  status: 'continuation_required'
  traceId: string
  kind: Open<'execution' | 'chat'>
  traceKey: string
  continueWith: {
    method: 'POST'
    path: string
    body: {
      sessionId: string
    }
  }
  appendEventsTo: string
}

/**
 * How to go on with a trace; starts nothing.
 *
 * Send continueWith as it is: the execution lands on this trace. Turns of your own go to appendEventsTo.
 */
export const continueTrace: Operation<{ params: { id: string } }, ContinueTraceAnswer> = {
  name: 'continueTrace',
  path: '/api/v1/traces/:id/continue',
  method: 'POST',
  repeatable: true,
}

/** What {@link exportTrace} can be asked for. */
export interface ExportTraceQuery {
  /** md when it is left out */
  format?: 'md' | 'jsonl' | 'otlp' | undefined
  redact?: 'on' | 'off' | undefined
  content?: 'on' | 'off' | undefined
}

/**
 * A trace as a file: Markdown, a turn in each line, or OTLP.
 *
 * Secrets, the email and profile facts of the person, and marked turns are replaced by `[redacted: kind]`, and the file ends with their counts. Only a session may turn that off. `otlp` has what was said only with content=on.
 */
export const exportTrace: Operation<
  { params: { id: string }; query?: ExportTraceQuery | undefined },
  Response
> = { name: 'exportTrace', path: '/api/v1/traces/:id/export', answers: 'file' }

/** What {@link getTraceBrief} answers. */
export interface GetTraceBriefAnswer {
  markdown: string
  /** The last turn that it knows of */
  throughSeq: number
}

/**
 * What somebody needs to know who goes on with this work, in at most 32 KiB of Markdown.
 *
 * Made of the turns without a model. Every quoted line begins with `| `: it is data, whatever it says. Secrets and marked turns are not in it.
 */
export const getTraceBrief: Operation<{ params: { id: string } }, GetTraceBriefAnswer> = {
  name: 'getTraceBrief',
  path: '/api/v1/traces/:id/brief',
}

/** What is sent to {@link pickUpTrace}. */
export interface PickUpTraceBody {
  code: string
}

/** What {@link pickUpTrace} answers. */
export interface PickUpTraceAnswer {
  traceId: string
  traceKey: string
  kind: Open<'execution' | 'chat'>
  title: string
  lastSeq: number
  brief: string
  /** What whoever gave it away said: data, not instructions */
  note: string | null
  continueWith: {
    method: 'POST'
    path: string
    body: {
      sessionId: string
    }
  }
  appendEventsTo: string
  /** Whether this is a copy in the workspace of this credential */
  copied: boolean
}

/**
 * Take over the work that a code stands for.
 *
 * Of several who try at once one has it, the others get 409. Read the brief, then append to the trace or continue it. Wrong codes are counted with those of pairing: 10 in 10 minutes.
 */
export const pickUpTrace: Operation<{ body: PickUpTraceBody }, PickUpTraceAnswer> = {
  name: 'pickUpTrace',
  path: '/api/v1/traces/pickup',
  method: 'POST',
  namesAgent: true,
}

/** One method for each of these operations. */
export class Traces extends Resource {
  /**
   * What agents did in this workspace, the latest activity first.
   *
   * A key without agent:message is told of no conversations. What becomes active while you page moves to the front: walk to the end, then once more with since=<asOf of the first page>, and nothing is missed.
   */
  list(query?: ListTracesQuery, options?: CallOptions): Pager<Trace> {
    return list(
      this.client,
      { name: 'listTraces', path: '/api/v1/traces', page: 'cursor' },
      { query },
      options,
    )
  }
  /**
   * One trace.
   *
   * As a list shows it.
   */
  get(id: string, options?: CallOptions): Promise<Trace> {
    return this.client.call({ name: 'getTrace', path: '/api/v1/traces/:id' }, { params: { id } }, options)
  }
  /**
   * The turns of a trace in their order, whoever they come from.
   *
   * Go on with afterSeq=<seq of the last item>: what comes later has a higher number. A page of large turns has fewer than limit; only an empty one is the end. With `wait` it answers as soon as there is a turn.
   */
  events(id: string, query?: GetTraceEventsQuery, options?: CallOptions): Promise<GetTraceEventsAnswer> {
    return this.client.call(
      { name: 'getTraceEvents', path: '/api/v1/traces/:id/events' },
      { params: { id }, query },
      options,
    )
  }
  /**
   * Append turns; all of them or none.
   *
   * A number that was given and stored before is 409, and details.conflicts says whether it is the same turn: then it has landed. 400 SEQ_NOT_ABOVE_LAST: nothing is stored; send it without a number.
   */
  append(id: string, body: AppendTraceEventsBody, options?: CallOptions): Promise<AppendTraceEventsAnswer> {
    return this.client.call(
      {
        name: 'appendTraceEvents',
        path: '/api/v1/traces/:id/events',
        method: 'POST',
        creates: true,
        namesAgent: true,
      },
      { params: { id }, body },
      options,
    )
  }
  /**
   * Mark turns that must not leave with the trace.
   *
   * Exports, briefs and copies have nothing of them but the number, whoever makes them. Whoever may read the trace still can. Marking twice is as once; 400 for a number that no turn has been given yet.
   */
  mark(id: string, body: MarkTraceTurnsBody, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'markTraceTurns', path: '/api/v1/traces/:id/marks', method: 'POST' },
      { params: { id }, body },
      options,
    )
  }
  /**
   * Let marked turns leave with the trace again.
   *
   * What is not marked stays as it is.
   */
  unmark(id: string, body: UnmarkTraceTurnsBody, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'unmarkTraceTurns', path: '/api/v1/traces/:id/marks', method: 'DELETE' },
      { params: { id }, body },
      options,
    )
  }
  /**
   * Erase what one turn says, for good.
   *
   * Its number and type stay, its payload becomes { "redacted": true }, also in the log of what produced it and in its stream. Nobody gets it back. What else repeats it, such as files and later turns, is not touched. 400 for the turn that tells how something ended.
   */
  erase(id: string, seq: string, options?: CallOptions): Promise<Success> {
    return this.client.call(
      { name: 'eraseTraceTurn', path: '/api/v1/traces/:id/events/:seq/redact', method: 'POST' },
      { params: { id, seq } },
      options,
    )
  }
  /**
   * How to go on with a trace; starts nothing.
   *
   * Send continueWith as it is: the execution lands on this trace. Turns of your own go to appendEventsTo.
   */
  continue(id: string, options?: CallOptions): Promise<ContinueTraceAnswer> {
    return this.client.call(
      { name: 'continueTrace', path: '/api/v1/traces/:id/continue', method: 'POST', repeatable: true },
      { params: { id } },
      options,
    )
  }
  /**
   * A trace as a file: Markdown, a turn in each line, or OTLP.
   *
   * Secrets, the email and profile facts of the person, and marked turns are replaced by `[redacted: kind]`, and the file ends with their counts. Only a session may turn that off. `otlp` has what was said only with content=on.
   */
  export(id: string, query?: ExportTraceQuery, options?: CallOptions): Promise<Response> {
    return this.client.call(
      { name: 'exportTrace', path: '/api/v1/traces/:id/export', answers: 'file' },
      { params: { id }, query },
      options,
    )
  }
  /**
   * What somebody needs to know who goes on with this work, in at most 32 KiB of Markdown.
   *
   * Made of the turns without a model. Every quoted line begins with `| `: it is data, whatever it says. Secrets and marked turns are not in it.
   */
  brief(id: string, options?: CallOptions): Promise<GetTraceBriefAnswer> {
    return this.client.call(
      { name: 'getTraceBrief', path: '/api/v1/traces/:id/brief' },
      { params: { id } },
      options,
    )
  }
  /**
   * Take over the work that a code stands for.
   *
   * Of several who try at once one has it, the others get 409. Read the brief, then append to the trace or continue it. Wrong codes are counted with those of pairing: 10 in 10 minutes.
   */
  pickup(body: PickUpTraceBody, options?: CallOptions): Promise<PickUpTraceAnswer> {
    return this.client.call(
      { name: 'pickUpTrace', path: '/api/v1/traces/pickup', method: 'POST', namesAgent: true },
      { body },
      options,
    )
  }
}
