import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import { announceApprovals, askForBudget } from '#access/approvals/approvals.ts'
import { findAgentVersion, type PinnedAgent } from '#library/agents/agents.ts'
import { chatLimits, type Loop, type LoopOutcome, runLoop } from '#machinery/loop/loop.ts'
import {
  estimateInputTokens,
  findFallbackKey,
  findProviderKey,
  type ModelInfo,
  type Models,
} from '#machinery/models/models.ts'
import type { ThreadCall } from '#platform/engine-client.ts'
import { FairPlaces } from '#platform/fair-places.ts'
import { changeThread, type ThreadParts } from './changes.ts'
import { DeltaWriter } from './delta-writer.ts'
import { cutOff, endingOf, endOf, Over, Stopping } from './endings.ts'
import { accessEnded, actorOf, agentGone, type Ending } from './lifecycle.ts'
import { Fenced, type Held, LogConversation, patiently } from './log-conversation.ts'
import { markingRules } from './marking.ts'
import { Purse } from './purse.ts'
import { Room } from './room.ts'
import { updatePending } from './step-store.ts'
import * as store from './store.ts'
import { toRunId } from './thread-log.ts'
import type { Pause, ToolsetOf } from './tool-run.ts'
import { longestWaitSeconds, type Wait } from './wait-store.ts'
import { Watch } from './watch.ts'

export interface RunnerParts extends ThreadParts {
  readonly models: Models
  /** What a run may use besides words. */
  readonly toolsetOf: ToolsetOf
}

/**
 * Chats in this worker. The engine calls `carry` for each segment of a run; where it goes on is read from the log, and
 * each thing is written once it is done. A worker whom the engine gave up, or that wakes up late, is refused at its next
 * write, because the thread names another attempt.
 */
export class ThreadRunner {
  readonly #parts: RunnerParts
  readonly #watch: Watch
  /** The engine calls for as many as there are; those beyond the loops of this worker wait in line, and no workspace has all of them. */
  readonly #loops: FairPlaces
  /** For operators: which process has or had a run. */
  readonly #workerId = `${hostname()}/${process.pid}/${randomUUID()}`
  readonly #carried = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  readonly #cut = new AbortController()

  constructor(parts: RunnerParts) {
    this.#parts = parts
    this.#watch = new Watch(parts)
    const { chatLoops } = parts.config
    this.#loops = new FairPlaces(chatLoops, Math.max(1, chatLoops - Math.ceil(chatLoops / 8)))
  }

  /** Throws when the engine shall call once more. */
  async carry(threadRowId: number, call: ThreadCall, signal: AbortSignal): Promise<void> {
    const leave = await this.#loops.take(
      call.workspaceId ?? '',
      AbortSignal.any([signal, this.#stopping.signal]),
    )
    const work = this.#begin(threadRowId, call, signal).finally(leave)
    this.#carried.add(work)
    try {
      await work
    } finally {
      this.#carried.delete(work)
    }
  }

  /** Whatever a loop is in the middle of is finished, if it does not take too long; then others go on. */
  async close(drainMs: number): Promise<void> {
    this.#stopping.abort(new Stopping('this worker stops'))
    const timer = setTimeout(() => this.#cut.abort(new Stopping('this worker stops')), drainMs)
    await Promise.allSettled(this.#carried)
    clearTimeout(timer)
  }

  async #begin(threadRowId: number, call: ThreadCall, signal: AbortSignal): Promise<void> {
    // A process that stood still finds calls in its sockets that were given up long ago, and then word that they were.
    await setImmediate()
    signal.throwIfAborted()
    const held = await patiently(signal, () => this.#claim(threadRowId, call))
    if (!held) return
    try {
      await this.#work(held, AbortSignal.any([signal, this.#cut.signal]))
    } catch (error) {
      if (!(error instanceof Fenced)) throw error
      // Ended, or waiting: there is nothing to do. Otherwise somebody else has it, and if not the engine calls again.
      const run = await store.findRunById(this.#parts.database.db, held.run.id)
      if (run?.status === 'working' && run.segment === call.segment) throw error
    }
  }

  /** Takes the run for a new attempt, which shuts it to the one before. */
  #claim(threadRowId: number, call: ThreadCall): Promise<Held | undefined> {
    return changeThread(this.#parts, threadRowId, async (tx, { thread }) => {
      const run = await store.findRun(tx, threadRowId, call.runId)
      if (run?.status !== 'working' || run.segment !== call.segment || thread.active_run !== run.id) return
      await store.updateActive(tx, threadRowId, run.id)
      const attempt = thread.active_attempt + 1
      const claimed = await store.claimBegin(tx, run.id, attempt, this.#workerId)
      return claimed && { thread, run: claimed, attempt }
    })
  }

  async #work(held: Held, signal: AbortSignal): Promise<void> {
    const watched = this.#watch.add(held)
    const all = AbortSignal.any([signal, watched.signal])
    const conversation = new LogConversation(this.#parts, held, all)
    try {
      await conversation.refresh()
      while (!conversation.isOver) {
        const outcome = await this.#loop(held, conversation, all)
        if (outcome?.wait) return await conversation.wait(outcome.wait)
        if (outcome?.ending) await conversation.end(outcome.ending)
      }
    } catch (error) {
      if (all.aborted) throw all.reason
      const ending = endingOf(error)
      if (!ending) throw error
      this.#parts.logger.warn({ err: error, run: held.run.run_id }, 'a run of a chat failed')
      await conversation.end(ending)
    } finally {
      watched.leave()
    }
  }

  /** Until the agent has said all, or must stop; gives how the run ends then, unless it has. */
  async #loop(
    held: Held,
    conversation: LogConversation,
    signal: AbortSignal,
  ): Promise<{ ending?: Ending; wait?: Wait } | undefined> {
    const { models, database, config } = this.#parts
    const { run, thread } = held
    const agent = await patiently(signal, () =>
      findAgentVersion(database.db, run.workspace_id, run.agent_slug, run.agent_version),
    )
    if (!agent) return { ending: agentGone }
    // Said all before a crash, and not ended: it was cut off, or somebody wrote to it.
    if (conversation.messages().at(-1)?.role === 'assistant' && !conversation.hasOpenCalls)
      return { ending: cutOff }
    const { id: model, provider } = models.find(run.model ?? undefined)
    const providerKey = await patiently(signal, () =>
      findProviderKey(database.db, config.encryptionKeys, run.user_id, provider),
    )
    const deltas = new DeltaWriter(
      this.#parts.redis,
      {
        threadRowId: thread.id,
        threadId: thread.thread_id,
        runId: run.run_id,
      },
      (taken) => updatePending(database, run, taken),
    )
    conversation.beginCounting()
    const toolset = this.#parts.toolsetOf(
      { slug: run.agent_slug, tools: agent.tools, skills: agent.skills, outside: agent.outside },
      held,
      conversation,
      signal,
    )
    const asking = {
      models,
      model,
      providerKey,
      fallbackKey: (other: ModelInfo) =>
        patiently(signal, () => findFallbackKey(database.db, config.encryptionKeys, run.user_id, other)),
      system: systemPrompt(agent),
      signal,
    }
    const { schemas: tools } = toolset
    const worstMilliDs = () => {
      const inputTokens = estimateInputTokens({ ...asking, messages: conversation.messages(), tools })
      return models.priceMilliDs(model, { inputTokens, outputTokens: chatLimits.outputTokens }, providerKey)
    }
    const purse = new Purse(this.#parts, conversation, worstMilliDs, signal)
    const progress: Loop['progress'] = (usage, costMilliDs) => deltas.took({ ...usage, costMilliDs })
    const room = new Room({
      ...asking,
      progress,
      conversation,
      tools,
      left: () => purse.left(conversation.run.cost_milli_ds),
    })
    const outcome = await runLoop<Pause>({
      ...asking,
      conversation,
      prepare: async () => {
        await this.#requireGoingOn(conversation, signal)
        await room.make()
      },
      // One that is offered none and asks for some all the same has said only its text.
      ...(tools.length > 0 && { toolset }),
      budget: () => purse.left(conversation.costBeside),
      spend: async (usage) => {
        await deltas.finish()
        conversation.spend(usage)
      },
      tell: (event) => {
        if (event.type === 'text') deltas.write(event.delta)
        else if (event.type === 'reply') room.heard(event.reply)
        else if (event.type === 'fallback') conversation.noteFallback(event.fallback)
      },
      progress,
      limits: { ...chatLimits, steps: chatLimits.steps - conversation.run.steps },
      ...(run.output_schema && { format: run.output_schema }),
    })
    if (outcome.end === 'paused') return { wait: { ...outcome.pause, toolUseId: outcome.call.id } }
    const wait = await this.#waitForBudget(outcome, conversation)
    if (wait) return { wait }
    const ending = endOf(outcome)
    return ending && { ending }
  }

  /** A key that has used up its limit does not end the run: its owner is asked, and nothing is held meanwhile. */
  async #waitForBudget(
    outcome: LoopOutcome<Pause>,
    conversation: LogConversation,
  ): Promise<Wait | undefined> {
    const { apiKeyId: keyId, userId, workspaceId } = actorOf(conversation.run)
    if (outcome.end !== 'limit_reached' || outcome.limitedBy !== 'key_limit' || keyId === null) return
    // A reply that the limit cut off is not gone on with.
    if (conversation.messages().at(-1)?.role === 'assistant') return
    const subject = toRunId(conversation.run.run_id)
    const asked = await this.#parts.database.transaction((tx) =>
      askForBudget(tx, { subject, keyId, userId, workspaceId }),
    )
    if (!asked) return
    const { id, isNew } = asked
    if (isNew) await announceApprovals(this.#parts, { kind: 'budget', workspaceId, ids: [id], userId })
    const expiresAt = new Date(Date.now() + longestWaitSeconds * 1000).toISOString()
    const payload = {
      approvalId: id,
      kind: 'budget',
      toolUseId: '',
      summary: keyLimitReached,
      expiresAt,
    } as const
    return { kind: 'approval', ref: id, toolUseId: '', frame: { type: 'approval.required', payload } }
  }

  /** Asked before every step. */
  async #requireGoingOn(conversation: LogConversation, signal: AbortSignal): Promise<void> {
    if (this.#stopping.signal.aborted) throw this.#stopping.signal.reason
    const isAllowed = await patiently(signal, () =>
      store.mayAct(this.#parts.database.db, conversation.run.id),
    )
    if (!isAllowed) throw new Over(accessEnded)
    await conversation.refresh()
  }
}

const keyLimitReached = 'The key has reached its spend limit'

function systemPrompt({ instructions }: PinnedAgent): string {
  return `${instructions}

You speak in a thread that people and other agents may write to as well. ${markingRules}`
}
