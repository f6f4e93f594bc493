import type { ModelConfig } from '#platform/model-settings.ts'
import type { ModelUsage } from './conversation.ts'

type Price = Pick<ModelConfig, 'inputPricePerMillion' | 'outputPricePerMillion'>

/** Micro-Ds per million tokens, times tokens, is a thousand million times the milli-Ds. */
const scale = 1_000_000_000n

/** In integers, since a fraction that cannot be written in binary would be rounded up to one milli-Ds too many. */
export function priceMilliDs(price: Price, { inputTokens, outputTokens }: ModelUsage): number {
  const cost =
    BigInt(inputTokens) * microDs(price.inputPricePerMillion) +
    BigInt(outputTokens) * microDs(price.outputPricePerMillion)
  return Number((cost + scale - 1n) / scale)
}

function microDs(ds: number): bigint {
  return BigInt(Math.round(ds * 1_000_000))
}
