import type { Client } from './client.ts'
import { AuthenticationError } from './errors.ts'
import { type FollowOptions, follow } from './event-stream.ts'
import { getExecutionStatus, getStreamToken } from './generated/executions.ts'
import type { ExecutionStreamEvent } from './generated/records.ts'
import { openSigned } from './signed-address.ts'

/** An event of a type that this version knows: `type` tells which, and what its payload is. */
export type KnownExecutionEvent = ExecutionStreamEvent & { readonly known: true }

/** An event of a type that came later. */
export interface UnknownExecutionEvent {
  readonly known: false
  readonly type: string
  readonly id?: string
  readonly sequence?: number
  readonly payload: Readonly<Record<string, unknown>>
}

/** What an execution says. `known` is ours: a server may add types, and `event.known` narrows to those of today. */
export type ExecutionStep = KnownExecutionEvent | UnknownExecutionEvent

/** How an execution is followed. */
export interface ExecutionEventsOptions extends FollowOptions {
  /** Begins after this sequence; 0 when not given. */
  readonly after?: number | undefined
  /** Also parts of messages as they come. They are not kept, and not repeated after a cut. */
  readonly deltas?: boolean | undefined
}

/** Those that this version can tell apart: all of them, or types.test.ts does not compile. */
export const knownTypes = [
  'user.message',
  'user.interrupt',
  'session.status_running',
  'session.status_idle',
  'agent.message',
  'agent.message_delta',
  'agent.thinking',
  'agent.info',
  'agent.tool_use',
  'agent.tool_result',
  'execution.cost',
  'execution.result',
  'span.model_request_end',
] as const satisfies readonly ExecutionStreamEvent['type'][]

/** An address is good for a minute; for most of it, a cut costs one request and not two. */
const addressLifetimeMs = 45_000

/** Every event of an execution, once and in order, until it has ended. */
export function executionEvents(
  client: Client,
  executionId: string,
  { after = 0, deltas = false, ...options }: ExecutionEventsOptions = {},
): AsyncGenerator<ExecutionStep, void, undefined> {
  const params = { executionId }
  let address: { readonly url: string; readonly until: number } | undefined

  const addressOf = async (signal: AbortSignal): Promise<string> => {
    if (address && performance.now() < address.until) return address.url
    const { sseUrl } = await client.call(getStreamToken, { params }, { signal, maxRetries: 0 })
    address = { url: sseUrl, until: performance.now() + addressLifetimeMs }
    return sseUrl
  }
  const openOnce = async (last: number, signal: AbortSignal): Promise<Response> => {
    const url = new URL(await addressOf(signal))
    url.searchParams.set('lastSeq', String(last))
    if (deltas) url.searchParams.set('deltas', '1')
    return openSigned(client, 'streamExecution', url.href, 'text/event-stream', signal)
  }
  return follow<ExecutionStep>(
    {
      name: `The stream of ${executionId}`,
      isGapless: true,
      async open(last = 0, signal) {
        const wasFresh = address === undefined
        try {
          return await openOnce(last, signal)
        } catch (error) {
          if (!AuthenticationError.is(error) || wasFresh) throw error
          address = undefined
          return openOnce(last, signal)
        }
      },
      read(data) {
        const event = JSON.parse(data) as ExecutionStreamEvent
        return {
          event: { ...event, known: knownTypes.includes(event.type) } as ExecutionStep,
          sequence: 'sequence' in event ? event.sequence : undefined,
        }
      },
      isLast: (event) => event.type === 'session.status_idle',
      async hasEnded() {
        const { status } = await client.call(getExecutionStatus, { params }, { signal: options.signal })
        return status === 'completed' || status === 'failed'
      },
    },
    after,
    options,
  )
}
