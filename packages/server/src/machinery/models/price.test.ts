import { expect, test } from 'vitest'
import { parseModels } from '#platform/model-settings.ts'
import { createModels } from './models.ts'
import { priceMilliDs } from './price.ts'

const priced = (input: number, output: number) => ({
  inputPricePerMillion: input,
  outputPricePerMillion: output,
})

test.each([
  // $3 and $15 per million: a thousand tokens of each are 0.3 and 1.5 cents.
  [300, 1500, 1000, 1000, 1800],
  [300, 1500, 0, 0, 0],
  [300, 1500, 1, 0, 1],
  [300, 1500, 10, 0, 3],
  [300, 1500, 11, 0, 4],
  // 0.1 + 0.2 in floats would be rounded up to the next milli-Ds.
  [0.1, 0.2, 1_000_000, 1_000_000, 300],
  [0, 0, 10_000_000, 10_000_000, 0],
  [7500, 60_000, 200_000_000, 100_000_000, 7_500_000_000],
])(
  '%d and %d Ds per million, %d in and %d out: %d milli-Ds',
  (input, output, inputTokens, outputTokens, cost) => {
    expect(priceMilliDs(priced(input, output), { inputTokens, outputTokens })).toBe(cost)
  },
)

test('an own key makes calls of its provider and address free, and no others', () => {
  const baseUrl = 'https://models.example/v1'
  const shared = { baseUrl, inputPricePerMillion: 300, outputPricePerMillion: 1500 }
  const models = createModels(
    parseModels(
      JSON.stringify([
        { id: 'a', provider: 'anthropic', ...shared },
        { id: 'o', provider: 'openai-compatible', ...shared },
      ]),
    ),
  )
  const usage = { inputTokens: 1000, outputTokens: 1000 }
  const key = { provider: 'anthropic', baseUrl, apiKey: 'own' } as const
  expect(models.priceMilliDs(undefined, usage)).toBe(1800)
  expect(models.priceMilliDs('a', usage, key)).toBe(0)
  const prompt = { system: '', messages: [], tools: [] }
  expect(models.affordableTokens({ ...prompt, model: 'a' }, 0, 1000, key)).toBe(1000)
  expect(models.affordableTokens({ ...prompt, model: 'o' }, 0, 1000, key)).toBe(0)
  expect(models.priceMilliDs('a', usage, { ...key, baseUrl: 'https://other.example' })).toBe(1800)
  expect(models.list()).toMatchObject([
    { id: 'a', provider: 'anthropic', inputPrice: 300, outputPrice: 1500, default: true },
    { id: 'o', provider: 'openai-compatible', inputPrice: 300, outputPrice: 1500, default: false },
  ])
})
