import type { Allowance } from '#accounts/billing/billing.ts'
import type { Loop } from '#machinery/loop/loop.ts'
import type { ModelReply, ModelTool } from '#machinery/models/models.ts'
import { type ContextWindow, expectedTokens, type Plan, summaryTokens } from './compaction.ts'
import { endOf, Over } from './endings.ts'
import type { Ending } from './lifecycle.ts'
import type { LogConversation } from './log-conversation.ts'
import { writeSummary } from './summary.ts'

export interface RoomParts
  extends Pick<Loop, 'models' | 'model' | 'providerKey' | 'fallbackKey' | 'system' | 'signal' | 'progress'> {
  readonly conversation: LogConversation
  readonly tools: readonly ModelTool[]
  /** What is left of what the run may cost. */
  left(): Promise<Allowance>
}

const summariesPerRun = 2
/** Of what a model takes in, for the record that a summary is made of. */
const recordShare = 0.6

const tooLong: Ending = {
  status: 'failed',
  stopReason: 'error',
  code: 'CONTEXT_TOO_LONG',
  message:
    'This conversation no longer fits the model; open a new thread with the brief of this one (GET /traces/:id/brief)',
}

/** Keeps what a model is told of a thread below what it takes in. One for each loop over the thread. */
export class Room {
  readonly #parts: RoomParts
  readonly #contextTokens: number
  #counted: ContextWindow['counted']
  #expected = 0

  constructor(parts: RoomParts) {
    this.#parts = parts
    this.#contextTokens = parts.models.find(parts.model).contextTokens
  }

  /** Before each prompt. Throws when there is none to be made. */
  async make(): Promise<void> {
    const { conversation } = this.#parts
    let plan = conversation.plan(this.#window)
    if (plan.kind === 'summarize') {
      await this.#summarize(plan)
      plan = conversation.plan(this.#window)
    }
    if (plan.kind !== 'fits') throw new Over(tooLong)
    conversation.leaveOutOutputsBefore(plan.leaveOutOutputsBefore)
    this.#expected = plan.expected
  }

  /** How the provider counts is known from what it counted. */
  heard({ usage }: ModelReply): void {
    this.#counted = { tokens: usage.inputTokens, expected: this.#expected }
  }

  get #window(): ContextWindow {
    const { system, tools } = this.#parts
    const counted = this.#counted
    return { contextTokens: this.#contextTokens, system, tools, ...(counted && { counted }) }
  }

  async #summarize({ cut, expected }: Extract<Plan, { kind: 'summarize' }>): Promise<void> {
    const { conversation, models, model, providerKey, fallbackKey, signal, progress, left } = this.#parts
    if (conversation.summaries >= summariesPerRun) throw new Over(tooLong)
    const said = (text: string) =>
      expectedTokens({ ...this.#window, system: '', tools: [] }, [{ role: 'user', text }])
    const written = await writeSummary({
      models,
      model,
      providerKey,
      fallbackKey,
      signal,
      progress,
      replaced: cut.replaced,
      inputTokens: Math.floor(this.#contextTokens * recordShare),
      outputTokens: summaryTokens(this.#contextTokens),
      isShorter: (text) => said(text) < cut.replacedTokens,
      budget: left,
    })
    if (written.end !== 'written') {
      await conversation.pay(written.usage)
      const ending = written.end === 'limit_reached' ? endOf(written) : undefined
      throw new Over(ending ?? tooLong)
    }
    const { throughSequence, keeps, replacedTokens } = cut
    await conversation.compact(
      {
        throughSequence,
        keeps: [...keeps],
        summary: written.text,
        tokensBefore: expected,
        tokensAfter: expected - replacedTokens + said(written.text),
      },
      written.usage,
    )
    // What was counted was another prompt.
    this.#counted = undefined
  }
}
