import {
  type ModelCall,
  ModelError,
  type ModelInfo,
  type ModelPrompt,
  type ModelReply,
  type ModelRetry,
  type Models,
  type ModelUsage,
  type ProviderKey,
} from '#machinery/models/models.ts'

/** Another model is asked, since the one before could not answer. */
interface ModelFallback {
  from: string
  to: string
  reason: ModelError['kind']
  /** Whether a part of the failed reply was told: it is void. */
  voidsText: boolean
}

export type ReplyEvent =
  | { type: 'thinking' }
  | { type: 'text'; delta: string }
  | { type: 'retry'; retry: ModelRetry }
  | { type: 'fallback'; fallback: ModelFallback }

export interface ReplyRequest {
  readonly models: Models
  readonly prompt: ModelPrompt
  readonly providerKey: ProviderKey | undefined
  /**
   * What a fallback is called with; undefined where the person must not be brought to its provider. Without this
   * function only the model itself is asked.
   */
  readonly fallbackKey:
    | ((model: ModelInfo) => Promise<{ key: ProviderKey | undefined } | undefined>)
    | undefined
  readonly leftMilliDs: number
  readonly mostTokens: number
  readonly outputSchema: object | undefined
  readonly tell: ((event: ReplyEvent) => void) | undefined
  /** What the reply has taken so far, at most what there is for it; before it is told what it took that for. */
  readonly progress: ((usage: ModelUsage, costMilliDs: number) => void | Promise<void>) | undefined
  readonly signal: AbortSignal
}

export interface Replied {
  readonly reply: ModelReply
  /** How long it might have been. */
  readonly tokens: number
  readonly costMilliDs: number
}

/**
 * One reply: the model's, or when it cannot be had for now and its retries are used up, that of a fallback. Undefined
 * when what is left pays for none worth having.
 */
export async function requestReply(request: ReplyRequest): Promise<Replied | undefined> {
  const { prompt, providerKey } = request
  const listening = listenTo(request.tell)
  const maxOutputTokens = affordable(request, prompt, providerKey)
  if (maxOutputTokens === 0) return undefined
  try {
    return await ask(request, prompt, providerKey, { maxOutputTokens, ...listening.listeners })
  } catch (failure) {
    const isPassing = failure instanceof ModelError && failure.retryable
    const replied = isPassing ? await askFallbacks(request, failure.kind, listening) : undefined
    if (replied) return replied
    // Also when fallbacks failed: what kept the model itself from answering is what can be waited for.
    throw failure
  }
}

/** One after the other, each once, but those that the person must not be brought to or that are too dear. */
async function askFallbacks(
  request: ReplyRequest,
  kind: ModelError['kind'],
  listening: ReturnType<typeof listenTo>,
): Promise<Replied | undefined> {
  const { models, fallbackKey, tell, signal } = request
  let [from, reason] = [models.find(request.prompt.model), kind]
  while (from.fallback !== undefined && fallbackKey) {
    const to = models.find(from.fallback)
    const prompt = { ...request.prompt, model: to.id }
    const allowed = await fallbackKey(to)
    const maxOutputTokens = allowed ? affordable(request, prompt, allowed.key) : 0
    if (allowed && maxOutputTokens > 0) {
      signal.throwIfAborted()
      const voidsText = listening.voidText()
      tell?.({ type: 'fallback', fallback: { from: from.id, to: to.id, reason, voidsText } })
      try {
        return await ask(request, prompt, allowed.key, {
          maxOutputTokens,
          attempts: 1,
          ...listening.listeners,
        })
      } catch (error) {
        if (!(error instanceof ModelError)) throw error
        reason = error.kind
      }
    }
    from = to
  }
  return undefined
}

function affordable(
  { models, leftMilliDs, mostTokens }: ReplyRequest,
  prompt: ModelPrompt,
  key: ProviderKey | undefined,
): number {
  return models.affordableTokens(prompt, leftMilliDs, mostTokens, key)
}

async function ask(
  { models, outputSchema, leftMilliDs, progress, signal }: ReplyRequest,
  prompt: ModelPrompt,
  key: ProviderKey | undefined,
  more: Pick<ModelCall, 'maxOutputTokens' | 'attempts' | 'onText' | 'onThinking' | 'onRetry'>,
): Promise<Replied> {
  const onProgress = (usage: ModelUsage) =>
    progress?.(usage, Math.min(leftMilliDs, models.priceMilliDs(prompt.model, usage, key)))
  const call = {
    ...prompt,
    ...more,
    signal,
    ...(progress && { onProgress }),
    ...(outputSchema && { outputSchema }),
  }
  const reply = await models.call(call, key)
  const costMilliDs = models.priceMilliDs(reply.model, reply.usage, key)
  return { reply, tokens: more.maxOutputTokens, costMilliDs }
}

function listenTo(tell: ((event: ReplyEvent) => void) | undefined) {
  if (!tell) return { listeners: {}, voidText: () => false }
  let isThinking = false
  let wasHeard = false
  const listeners = {
    onText: (delta: string) => {
      wasHeard = true
      tell({ type: 'text', delta })
    },
    onThinking: () => {
      if (!isThinking) tell({ type: 'thinking' })
      isThinking = true
    },
    onRetry: (retry: ModelRetry) => {
      wasHeard = false
      tell({ type: 'retry', retry })
    },
  }
  const voidText = () => {
    const voidsText = wasHeard
    wasHeard = false
    return voidsText
  }
  return { listeners, voidText }
}
