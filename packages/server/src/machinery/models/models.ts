import type { ModelProvider } from '@guildhall/contract'
import type { ModelConfig } from '#platform/model-settings.ts'
import { attemptCall, languageModel } from './attempt.ts'
import {
  estimateInputTokens,
  type ModelCall,
  type ModelReply,
  type ModelUsage,
  type RetryReason,
} from './conversation.ts'
import { ModelError } from './failure.ts'
import { objectReader } from './output.ts'
import { priceMilliDs } from './price.ts'
import type { ProviderKey } from './provider-keys.ts'
import { type RetryPolicy, standardRetries, withRetries } from './retry.ts'

export type {
  ModelCall,
  ModelMessage,
  ModelReply,
  ModelRetry,
  ModelTool,
  ModelToolCall,
  ModelToolResult,
  ModelUsage,
} from './conversation.ts'
export { estimateInputTokens, estimateTokens } from './conversation.ts'
export { ModelError } from './failure.ts'
export { objectReader } from './output.ts'
export { findFallbackKey, findProviderKey, type ProviderKey } from './provider-keys.ts'

export interface ModelInfo {
  id: string
  provider: ModelProvider
  /** In Ds per million tokens. */
  inputPrice: number
  outputPrice: number
  default: boolean
  contextTokens: number
  baseUrl: string
  /** Who is asked when this one cannot answer. */
  fallback: string | undefined
}

/**
 * The deployment's models. A person's own key stands in for the deployment's where it belongs to the model's
 * provider and address, and makes the call free; anywhere else it is left aside.
 */
export interface Models {
  /** One reply. Failures that pass are waited out; others are thrown as a ModelError, an abort as its reason. */
  call(call: ModelCall, key?: ProviderKey): Promise<ModelReply>
  priceMilliDs(model: string | undefined, usage: ModelUsage, key?: ProviderKey): number
  /**
   * The longest reply, up to the most that is wanted, that this much pays for together with the prompt; 0 when it
   * pays for none worth having. So a run ends before the call that would overspend, and a reply near the end is cut
   * rather than overpaid.
   */
  affordableTokens(prompt: ModelPrompt, leftMilliDs: number, most: number, key?: ProviderKey): number
  list(): ModelInfo[]
  /** The model of that id, or the default one. Throws a ModelError if there is none. */
  find(model: string | undefined): ModelInfo
}

export type ModelPrompt = Pick<ModelCall, 'model' | 'system' | 'messages' | 'tools'>

export interface ModelsOptions {
  retries?: RetryPolicy
  /** How long a provider may be silent within a reply before it counts as gone. */
  silenceMs?: number
}

const standardSilenceMs = 180_000

/** With less a model cannot even ask for a tool. */
const fewestTokens = 64

export function createModels(config: readonly ModelConfig[], options: ModelsOptions = {}): Models {
  const { retries = standardRetries, silenceMs = standardSilenceMs } = options

  function find(id: string | undefined): ModelConfig {
    const model = config.find((entry) => (id === undefined ? entry.default : entry.id === id))
    if (model) return model
    if (id === undefined)
      throw new ModelError('unknown_model', { message: 'No model is configured: set MODELS' })
    throw new ModelError('unknown_model', {
      message: `There is no model "${id.slice(0, 100)}"; choose one of the list`,
    })
  }

  function price(id: string | undefined, usage: ModelUsage, key: ProviderKey | undefined): number {
    const model = find(id)
    return applies(key, model) ? 0 : priceMilliDs(model, usage)
  }

  return {
    call: async (call, key) => {
      call.signal.throwIfAborted()
      const model = find(call.model)
      const provider = languageModel(model, applies(key, model) ? key.apiKey : model.apiKey)
      const readObject = call.outputSchema && objectReader(call.outputSchema)
      let saidSomething = false
      const onText = (delta: string) => {
        saidSomething ||= call.onText !== undefined
        call.onText?.(delta)
      }
      return withRetries(
        { ...retries, attempts: call.attempts ?? retries.attempts },
        call.signal,
        () => attemptCall({ model: provider, modelId: model.id, call, silenceMs, readObject, onText }),
        ({ kind }, attempt, retryInMs) => {
          const voidsText = saidSomething
          if (voidsText && !call.onRetry) return false
          saidSomething = false
          call.onRetry?.({ reason: kind as RetryReason, attempt, retryInMs, voidsText })
          return true
        },
      )
    },
    priceMilliDs: price,
    affordableTokens: (prompt, leftMilliDs, most, key) => {
      const inputTokens = estimateInputTokens(prompt)
      const worst = (outputTokens: number) => price(prompt.model, { inputTokens, outputTokens }, key)
      if (worst(most) <= leftMilliDs) return most
      const perToken = (worst(most) - worst(0)) / most
      const tokens = perToken > 0 ? Math.floor((leftMilliDs - worst(0)) / perToken) : 0
      return tokens >= fewestTokens ? tokens : 0
    },
    list: () => config.map(describe),
    find: (id) => describe(find(id)),
  }
}

function describe(model: ModelConfig): ModelInfo {
  return {
    id: model.id,
    provider: model.provider,
    inputPrice: model.inputPricePerMillion,
    outputPrice: model.outputPricePerMillion,
    default: model.default,
    contextTokens: model.contextTokens,
    baseUrl: model.baseUrl,
    fallback: model.fallback,
  }
}

function applies(key: ProviderKey | undefined, model: ModelConfig): key is ProviderKey {
  return key?.provider === model.provider && key.baseUrl === model.baseUrl
}
