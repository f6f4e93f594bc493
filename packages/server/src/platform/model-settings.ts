import type { ModelProvider } from '@guildhall/contract'

/** A model of this deployment. Its id is also its name at the provider. */
export interface ModelConfig {
  id: string
  provider: ModelProvider
  baseUrl: string
  /** None: the provider asks for none, or only people with a key of their own can use it. */
  apiKey: string | undefined
  /** In Ds per million tokens. */
  inputPricePerMillion: number
  outputPricePerMillion: number
  /** Exactly one model of a list that is not empty. */
  default: boolean
  /** How much it takes in: the prompt and its reply. */
  contextTokens: number
  /** The id of the one that is asked when this one cannot answer. Going from one to the next comes to an end. */
  fallback: string | undefined
}

const standardContextTokens = 100_000
/** Less holds no prompt of ours. */
const fewestContextTokens = 4000

/** Where a provider is when nothing else is said. */
const ownBaseUrls: Record<ModelProvider, string | undefined> = {
  anthropic: 'https://api.anthropic.com/v1',
  'openai-compatible': undefined,
}
const providers = Object.keys(ownBaseUrls) as ModelProvider[]

/** Reads the setting MODELS. No message repeats what was given: it holds keys. */
export function parseModels(text: string): ModelConfig[] {
  const list = parseList(text)
  const models = list.map((entry, index) => readModel(entry, `entry ${index + 1}`))
  const ids = new Set(models.map(({ id }) => id))
  if (ids.size < models.length) throw new Error('two entries have the same id: give each its own')
  const chosen = models.filter((model) => model.default)
  if (chosen.length > 1) throw new Error('more than one entry is the default: keep one')
  for (const model of models) requireFallbacksToEnd(models, model)
  const [standard = models[0]] = chosen
  return models.map((model) => ({ ...model, default: model === standard }))
}

function requireFallbacksToEnd(models: readonly ModelConfig[], first: ModelConfig): void {
  const tried = new Set<string>()
  for (let model: ModelConfig | undefined = first; model; ) {
    const { id, fallback }: ModelConfig = model
    tried.add(id)
    if (fallback === undefined) return
    if (tried.has(fallback)) {
      throw new Error('the fallback of an entry leads back to it: leave out one of them')
    }
    model = models.find((entry) => entry.id === fallback)
    if (!model) throw new Error('fallback must be the id of another entry')
  }
}

function parseList(text: string): unknown[] {
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch {
    // The parser's own message quotes the text around the mistake.
    throw new Error('is not JSON: write a list of models on one line')
  }
  if (!Array.isArray(list)) throw new Error('must be a list: [{"id":…}]')
  return list
}

function readModel(entry: unknown, where: string): ModelConfig {
  const given = (typeof entry === 'object' ? entry : null) as Record<string, unknown> | null
  const { id, apiKey } = given ?? {}
  const provider = providers.find((name) => name === given?.['provider'])
  if (typeof id !== 'string' || id === '') throw new Error(`${where} needs an id`)
  if (!provider) throw new Error(`${where} needs a provider: ${providers.join(' or ')}`)
  if (apiKey !== undefined && (typeof apiKey !== 'string' || apiKey === '')) {
    throw new Error(`${where}: apiKey must be a text or left out`)
  }
  return {
    id,
    provider,
    baseUrl: readBaseUrl(given?.['baseUrl'] ?? ownBaseUrls[provider], where),
    apiKey,
    inputPricePerMillion: readPrice(given?.['inputPricePerMillion'], `${where}: inputPricePerMillion`),
    outputPricePerMillion: readPrice(given?.['outputPricePerMillion'], `${where}: outputPricePerMillion`),
    default: given?.['default'] === true,
    contextTokens: readContextTokens(given?.['contextTokens'], where),
    fallback: readFallback(given?.['fallback'], where),
  }
}

function readBaseUrl(value: unknown, where: string): string {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new Error(`${where} needs a baseUrl that starts with https:// or http://`)
  }
  if (url.username || url.password) throw new Error(`${where}: put the key into apiKey, not into baseUrl`)
  return trimBaseUrl(url.href)
}

/** One spelling, so that addresses can be compared. */
export function trimBaseUrl(url: string): string {
  return url.replace(/(?<!\/)\/+$/, '')
}

function readContextTokens(value: unknown, where: string): number {
  if (value === undefined) return standardContextTokens
  if (typeof value === 'number' && Number.isInteger(value) && value >= fewestContextTokens) return value
  throw new Error(`${where}: contextTokens must be a whole number, ${fewestContextTokens} or more`)
}

function readFallback(value: unknown, where: string): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '')) return value
  throw new Error(`${where}: fallback must be the id of another entry, or left out`)
}

function readPrice(value: unknown, where: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
    throw new Error(`${where} must be a number of Ds, 0 or more`)
  }
  return value
}
