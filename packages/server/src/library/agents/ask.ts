import {
  findReservation,
  isSettled,
  releaseOldReservations,
  reserve,
  settle,
} from '#accounts/billing/billing.ts'
import { conversationAbout, type Loop, runLoop, type Schema, standardLimits } from '#machinery/loop/loop.ts'
import { findFallbackKey, findProviderKey, ModelError, type Models } from '#machinery/models/models.ts'
import type { Actor } from '#operations/actor.ts'
import type { Deps } from '#platform/deps.ts'
import type { AgentRow } from './store.ts'

export interface AskParts extends Pick<Deps, 'database' | 'config'> {
  readonly models: Models
}

export interface Ask extends Actor {
  readonly prompt: string
  /** JSON Schema of the value that is wanted instead of a text; one that a definition was accepted with. */
  readonly outputSchema?: Schema
  /** What the prompt is paid under: asked again after a crash, it is not paid twice while it is open. */
  readonly idempotencyKey: string
  readonly signal: AbortSignal
}

/** Why an agent gave no answer; the codes are those of a workflow's steps. */
export class AgentFailure extends Error {
  readonly code: 'AGENT_FAILED' | 'AGENT_OUTPUT_INVALID'
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(code: AgentFailure['code'], message: string, details?: Readonly<Record<string, unknown>>) {
    super(message)
    this.code = code
    this.details = details
  }
}

/**
 * Asks an agent once and gives `{ text }`, or the value that the schema describes. A reply that does not fit the schema
 * is told what is wrong with it and may try once more. What was used is paid, whatever comes of it.
 */
export async function askAgent(parts: AskParts, agent: AgentRow, ask: Ask): Promise<unknown> {
  ask.signal.throwIfAborted()
  const reservationId = await reserveFor(parts, ask)
  const paid = { usedMilliDs: 0, askingMilliDs: 0 }
  try {
    return await converse(parts, agent, ask, reservationId, {
      spend: ({ costMilliDs }) => void Object.assign(paid, { usedMilliDs: costMilliDs, askingMilliDs: 0 }),
      progress: (_usage, costMilliDs) => void Object.assign(paid, { askingMilliDs: costMilliDs }),
    })
  } catch (error) {
    if (error instanceof ModelError)
      throw new AgentFailure('AGENT_FAILED', error.message, { reason: error.kind })
    throw error
  } finally {
    // The provider bills what was broken off, too.
    const costMilliDs = paid.usedMilliDs + (ask.signal.aborted ? paid.askingMilliDs : 0)
    await parts.database.transaction((tx) => settle(tx, reservationId, costMilliDs, ask))
  }
}

/** A prompt is answered under what was set aside for it. */
async function converse(
  { database, models, config }: AskParts,
  { model, instructions }: AgentRow,
  ask: Ask,
  reservationId: string,
  used: Pick<Loop, 'spend' | 'progress'>,
): Promise<unknown> {
  const { prompt, outputSchema, signal } = ask
  const { id, provider } = models.find(model ?? undefined)
  const outcome = await runLoop({
    models,
    model: id,
    providerKey: await findProviderKey(database.db, config.encryptionKeys, ask.userId, provider),
    fallbackKey: (other) => findFallbackKey(database.db, config.encryptionKeys, ask.userId, other),
    system: instructions,
    conversation: conversationAbout(prompt),
    budget: async () => (await findReservation(database.db, reservationId)) ?? nothing,
    ...used,
    limits: standardLimits,
    ...(outputSchema && { outputSchema }),
    signal,
  })
  switch (outcome.end) {
    case 'answered':
      return outputSchema ? outcome.value : { text: outcome.reply.text }
    case 'misfit':
      throw new AgentFailure(
        'AGENT_OUTPUT_INVALID',
        `The agent twice gave what does not fit. ${outcome.problem}`,
      )
    case 'limit_reached':
      throw new AgentFailure(
        'AGENT_FAILED',
        'The credits set aside for this step do not cover it; add credits',
        { reason: 'limit_reached' },
      )
    default:
      throw new AgentFailure(
        'AGENT_FAILED',
        `The reply is longer than ${standardLimits.outputTokens} tokens; ask for less`,
      )
  }
}

const nothing = { amountMilliDs: 0, limitedBy: 'max_cost' } as const

/**
 * A worker that died after paying and before its step was recorded asks again. The first payment stands for the reply
 * that was lost, so this one gets a name of its own.
 */
async function reserveFor({ database, config }: AskParts, ask: Ask): Promise<string> {
  const { userId, workspaceId, apiKeyId, idempotencyKey } = ask
  return database.transaction(async (tx) => {
    let executionId = idempotencyKey
    for (let again = 2; await isSettled(tx, executionId); again++) executionId = `${idempotencyKey}#${again}`
    const reserved = await reserve(tx, {
      userId,
      workspaceId,
      executionId,
      kind: 'step',
      keyId: apiKeyId,
      maxCostMilliDs: null,
      defaultMaxCostMilliDs: config.defaultMaxCostMilliDs,
    })
    if (reserved.ok) return executionId
    const { reason, balance, availableBalance, minimumRequired } = reserved
    throw new AgentFailure(
      'AGENT_FAILED',
      reason === 'credits'
        ? `A step needs ${minimumRequired} Ds and ${availableBalance} are available; add credits`
        : 'The key has reached its spend limit; ask its owner to raise it',
      { reason, balance, availableBalance, minimumRequired },
    )
  })
}

/** Longer than any prompt takes. */
const lostAfterSeconds = 2 * 3600

/** Gives back what was set aside for prompts whose worker died and whose run was never taken up again. */
export async function releaseLostAsks({ database }: Pick<Deps, 'database'>): Promise<number> {
  return database.transaction((tx) => releaseOldReservations(tx, 'step', lostAfterSeconds))
}
