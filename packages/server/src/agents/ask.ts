import { actorBehind } from '../activity/activity.ts'
import { findReservation, isSettled, releaseOldReservations, reserve, settle } from '../billing/billing.ts'
import type { Deps } from '../deps.ts'
import { validateValue } from '../graph/graph.ts'
import {
  findProviderKey,
  ModelError,
  type ModelMessage,
  type ModelReply,
  type Models,
  type ProviderKey,
} from '../models/models.ts'
import type { Database } from '../platform/database.ts'
import type { AgentRow } from './store.ts'

export interface AskParts extends Pick<Deps, 'database' | 'config'> {
  readonly models: Models
}

export interface Ask {
  readonly prompt: string
  /** JSON Schema of the value that is wanted instead of a text; one that a definition was accepted with. */
  readonly outputSchema?: Schema
  readonly workspaceId: string
  readonly userId: string
  readonly apiKeyId: number | null
  readonly oauthGrantId: number | null
  /** What the question is paid under: asked again after a crash, it is not paid twice while it is open. */
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

const maxOutputTokens = 8192

/**
 * Asks an agent once and gives `{ text }`, or the value that the schema describes. A reply that does not fit the schema
 * is told what is wrong with it and may try once more. What was used is paid, whatever comes of it.
 */
export async function askAgent(parts: AskParts, agent: AgentRow, ask: Ask): Promise<unknown> {
  const { database, models, config } = parts
  ask.signal.throwIfAborted()
  const reservationId = await reserveFor(parts, ask)
  const used = { costMilliDs: 0 }
  try {
    const model = agent.model ?? undefined
    const { provider } = models.find(model)
    const key = await findProviderKey(database.db, config.encryptionKeys, ask.userId, provider)
    return await converse({ database, models, model, key, agent, ask, reservationId, used })
  } catch (error) {
    if (error instanceof ModelError)
      throw new AgentFailure('AGENT_FAILED', error.message, { reason: error.kind })
    throw error
  } finally {
    const by = actorBehind(ask.userId, ask)
    await database.transaction((tx) => settle(tx, reservationId, used.costMilliDs, by))
  }
}

interface Conversation {
  readonly database: Database
  readonly models: Models
  readonly model: string | undefined
  readonly key: ProviderKey | undefined
  readonly agent: AgentRow
  readonly ask: Ask
  readonly reservationId: string
  /** Grows with every reply. */
  readonly used: { costMilliDs: number }
}

async function converse(conversation: Conversation): Promise<unknown> {
  const { outputSchema, prompt } = conversation.ask
  const messages: ModelMessage[] = [{ role: 'user', text: prompt }]
  const reply = await nextReply(conversation, messages)
  if (!outputSchema) return { text: reply.text }
  const first = readObject(reply, outputSchema)
  if (!first.problem) return first.object
  messages.push({ role: 'assistant', text: reply.text, toolCalls: [] }, { role: 'user', text: first.problem })
  const second = readObject(await nextReply(conversation, messages), outputSchema)
  if (!second.problem) return second.object
  throw new AgentFailure('AGENT_OUTPUT_INVALID', `The agent twice gave what does not fit. ${second.problem}`)
}

async function nextReply(
  { database, models, model, key, agent, ask, reservationId, used }: Conversation,
  messages: readonly ModelMessage[],
): Promise<ModelReply> {
  const budget = (await findReservation(database.db, reservationId))?.amountMilliDs ?? 0
  const question = { model, system: agent.instructions, messages, tools: [] }
  const outputTokens = models.affordableTokens(question, budget - used.costMilliDs, maxOutputTokens, key)
  if (outputTokens === 0) throw outOfCredits()
  const reply = await models.call(
    {
      ...question,
      maxOutputTokens: outputTokens,
      signal: ask.signal,
      ...(ask.outputSchema && { outputSchema: askedFor(ask.outputSchema) }),
    },
    key,
  )
  used.costMilliDs += models.priceMilliDs(model, reply.usage, key)
  if (reply.stop !== 'length') return reply
  throw outputTokens < maxOutputTokens
    ? outOfCredits()
    : new AgentFailure('AGENT_FAILED', `The reply is longer than ${maxOutputTokens} tokens; ask for less`)
}

function outOfCredits(): AgentFailure {
  return new AgentFailure(
    'AGENT_FAILED',
    'The credits set aside for this step do not cover it; add credits',
    {
      reason: 'limit_reached',
    },
  )
}

type Schema = Readonly<Record<string, unknown>>

/** Providers give objects only. Anything else is asked for inside of one. */
function askedFor(schema: Schema): Schema {
  if (schema['type'] === 'object') return schema
  const { $defs, ...answer } = schema
  const wrapped = {
    type: 'object',
    properties: { answer },
    required: ['answer'],
    additionalProperties: false,
  }
  return $defs === undefined ? wrapped : { ...wrapped, $defs }
}

/** The provider's reading knows an older draft of JSON Schema; what workflows promise is this one. */
function readObject(
  { object, objectProblem }: ModelReply,
  schema: Schema,
): { object: unknown; problem: string | undefined } {
  if (objectProblem !== undefined) return { object, problem: objectProblem }
  const value = schema['type'] === 'object' ? object : (object as { answer: unknown }).answer
  const [issue] = validateValue(schema, value)
  const place = issue && (issue.path === '' ? 'It' : issue.path)
  return { object: value, problem: issue && `The reply does not fit the schema: ${place} ${issue.message}.` }
}

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

/** Longer than any question takes. */
const lostAfterSeconds = 2 * 3600

/** Gives back what was set aside for questions whose worker died and whose run was never taken up again. */
export async function releaseLostAsks({ database }: Pick<Deps, 'database'>): Promise<number> {
  // Only keys of steps have colons; executions settle their own.
  return database.transaction((tx) => releaseOldReservations(tx, '%:%', lostAfterSeconds))
}
