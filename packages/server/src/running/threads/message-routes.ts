import { type AnswerOf, messageRoutes, threadStreamRoutes, toDs } from '@guildhall/contract'
import { agentSlugOf, type BoundRoute, bindRoutes, type Call, type Handlers } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import { createOnce } from '#operations/idempotency/idempotency.ts'
import type { Principal } from '#operations/principal.ts'
import type { Streams } from '#streams/streams.ts'
import { type Accepted, accept, requireShortMessage } from './accept.ts'
import { requireAgent } from './addressed.ts'
import { follow, type ThreadParts } from './changes.ts'
import { enterThread, isVisible } from './enter.ts'
import * as store from './store.ts'
import { ThreadStreams } from './stream.ts'
import { fromRunId, toRunId } from './thread-log.ts'
import { waitForRun } from './wait-for-run.ts'

/** What is said to agents, and heard of them; only a process that holds connections has streams. */
export function messageHandlers(parts: ThreadParts, streams?: Streams): BoundRoute[] {
  const routes = bindRoutes(messageRoutes, {
    sendMessage: async (call) => {
      const { body, principal } = call
      requireOwn(principal, body.resourceId)
      const made: { accepted?: Accepted } = {}
      return createOnce(
        call,
        async (tx) => {
          const accepted = await take(parts, tx, call, { threadId: body.threadId, ifActive: 'deliver' })
          made.accepted = accepted
          return {
            resourceId: toRunId(accepted.run.run_id),
            answer: {
              accepted: true as const,
              messageId: accepted.messageId,
              runId: toRunId(accepted.run.run_id),
              threadId: accepted.change.thread.thread_id,
              delivery: accepted.delivery,
            },
          }
        },
        async () => {
          if (made.accepted) follow(parts, made.accepted.change)
        },
      )
    },
  })
  return streams ? [...routes, ...streamHandlers(parts, new ThreadStreams(parts, streams))] : routes
}

function streamHandlers(parts: ThreadParts, streams: ThreadStreams): BoundRoute[] {
  const answerOf = async (call: Call<(typeof threadStreamRoutes)['chat']>, { runId }: { runId: string }) => {
    const { body, principal, deps } = call
    const found = await store.findRunOfWorkspace(
      deps.database.db,
      principal.workspaceId,
      fromRunId(runId) ?? '',
    )
    if (!found || !isVisible(found.thread, principal)) throw new ApiError('NOT_FOUND')
    if (body.stream) return streams.followRun(call, found, body.deltas ?? false)
    const reply = await waitForRun(parts, found, (body.waitSeconds ?? 55) * 1000, call.signal)
    // Much may have been taken away in a minute: the key, or the thread from those it is not for.
    await call.confirm()
    const thread = await store.findThread(deps.database.db, principal.workspaceId, reply.threadId)
    if (thread && !isVisible(thread, principal)) throw new ApiError('NOT_FOUND')
    return reply
  }
  const handlers: Handlers<typeof threadStreamRoutes> = {
    subscribeThread: async (call) => {
      const { principal, params, body, deps, access } = call
      requireOwn(principal, body.resourceId)
      const agent = await requireAgent(deps.database.db, principal.workspaceId, params.agentId)
      const thread = await deps.database.transaction(async (tx) => {
        await access.spend(tx)
        return enterThread(tx, principal, body.threadId, agent.slug)
      })
      return streams.subscribe(call, thread, {
        lastSeq: body.lastSeq ?? readLastEventId(call.lastEventId),
        deltas: body.deltas ?? false,
        background: body.background ?? true,
      })
    },

    chat: async (call) => {
      const { body } = call
      const made: { accepted?: Accepted } = {}
      const answer = await createOnce(
        call,
        async (tx) => {
          const accepted = await take(parts, tx, call, { threadId: body.threadId, ifActive: 'queue' })
          made.accepted = accepted
          return { resourceId: toRunId(accepted.run.run_id), answer: describeBegun(accepted) }
        },
        async () => {
          if (made.accepted) follow(parts, made.accepted.change)
        },
      )
      return answerOf(call, answer)
    },
  }
  return bindRoutes(threadStreamRoutes, handlers, { chat: answerOf })
}

type SendCall = Call<(typeof messageRoutes)['sendMessage']> | Call<(typeof threadStreamRoutes)['chat']>

/** Takes the message of a call in. */
async function take(
  parts: ThreadParts,
  tx: Parameters<typeof accept>[0],
  call: SendCall,
  asked: { threadId: string | undefined; ifActive: 'deliver' | 'queue' },
): Promise<Accepted> {
  const { body, params, principal } = call
  requireShortMessage(body.message)
  return accept(tx, parts.config, {
    principal,
    authority: call.authority,
    agent: await requireAgent(tx, principal.workspaceId, params.agentId),
    threadId: asked.threadId,
    text: body.message,
    ifActive: body.ifActive ?? asked.ifActive,
    maxCost: body.maxCost,
    model: body.model,
    authorSlug: agentSlugOf(call),
    parent: await askedBy(tx, call),
  })
}

/** By which run's agent this is said, if it is an agent's call; no client can claim that. */
async function askedBy(tx: Parameters<typeof accept>[0], { origin, principal }: SendCall) {
  const runId = origin?.runId === undefined ? undefined : fromRunId(origin.runId)
  const found =
    runId === undefined ? undefined : await store.findRunOfWorkspace(tx, principal.workspaceId, runId)
  // Who sees it decides who sees what is asked: held, or it could become private before that is there to follow it.
  const thread = found && (await store.holdThread(tx, found.thread.id))
  return thread && { run: found.run, thread }
}

function describeBegun({ run, change }: Accepted): AnswerOf<(typeof threadStreamRoutes)['chat']> {
  return {
    threadId: change.thread.thread_id,
    runId: toRunId(run.run_id),
    status: run.status,
    message: null,
    usage: { inputTokens: run.input_tokens, outputTokens: run.output_tokens },
    cost: toDs(run.cost_milli_ds),
    stopReason: null,
    errorCode: null,
  }
}

/** What belongs to another workspace does not exist. */
function requireOwn({ workspaceId }: Principal, resourceId: string): void {
  if (resourceId !== workspaceId) throw new ApiError('NOT_FOUND')
}

function readLastEventId(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new ApiError('INVALID_INPUT', { message: 'Last-Event-ID must be the sequence of an event, or 0' })
}
