import { expect, test } from 'vitest'
import { parseModels } from './model-settings.ts'

const good = {
  id: 'm',
  provider: 'openai-compatible',
  baseUrl: 'https://models.example/v1/',
  apiKey: 'very-secret',
  inputPricePerMillion: 30,
  outputPricePerMillion: 0.5,
}

test('one default is found: the chosen one, or the first', () => {
  const defaults = (...entries: object[]) =>
    parseModels(JSON.stringify(entries)).map((model) => model.default)
  expect(defaults(good, { ...good, id: 'n' })).toEqual([true, false])
  expect(defaults(good, { ...good, id: 'n', default: true })).toEqual([false, true])
  expect(defaults()).toEqual([])
})

test('an address is kept in one spelling, and Anthropic has one of its own', () => {
  const { baseUrl, ...rest } = good
  const list = [good, { ...rest, id: 'n', provider: 'anthropic', apiKey: undefined }]
  expect(parseModels(JSON.stringify(list))).toMatchObject([
    { baseUrl: 'https://models.example/v1', apiKey: 'very-secret' },
    { baseUrl: 'https://api.anthropic.com/v1', apiKey: undefined },
  ])
})

test('a model takes in 100,000 tokens unless told otherwise, and may name another one to ask', () => {
  const list = [
    { ...good, contextTokens: 8000, fallback: 'n' },
    { ...good, id: 'n' },
  ]
  expect(parseModels(JSON.stringify(list))).toMatchObject([
    { contextTokens: 8000, fallback: 'n' },
    { contextTokens: 100_000, fallback: undefined },
  ])
})

const falling = (...fallbacks: unknown[]) =>
  JSON.stringify(fallbacks.map((fallback, index) => ({ ...good, id: `m${index}`, fallback })))

test.each([
  ['[{"apiKey":"very-secret"', 'not JSON'],
  [JSON.stringify(good), 'must be a list'],
  [JSON.stringify([null]), 'entry 1 needs an id'],
  [JSON.stringify([good, good]), 'same id'],
  [JSON.stringify([{ ...good, provider: 'toString' }]), 'needs a provider'],
  [JSON.stringify([{ ...good, baseUrl: undefined }]), 'needs a baseUrl'],
  [JSON.stringify([{ ...good, baseUrl: 'file:///etc/passwd' }]), 'needs a baseUrl'],
  [JSON.stringify([{ ...good, baseUrl: 'https://u:very-secret@models.example' }]), 'into apiKey'],
  [JSON.stringify([{ ...good, outputPricePerMillion: -1 }]), 'outputPricePerMillion must be'],
  [JSON.stringify([{ ...good, inputPricePerMillion: '1' }]), 'inputPricePerMillion must be'],
  [
    JSON.stringify([
      { ...good, default: true },
      { ...good, id: 'n', default: true },
    ]),
    'more than one',
  ],
  [JSON.stringify([{ ...good, apiKey: 7 }]), 'apiKey must be'],
  [JSON.stringify([{ ...good, contextTokens: 3999 }]), 'contextTokens must be'],
  [JSON.stringify([{ ...good, contextTokens: 8000.5 }]), 'contextTokens must be'],
  [falling(7), 'fallback must be'],
  [falling('m9'), 'fallback must be the id of another'],
  [falling('m0'), 'leads back'],
  [falling('m1', 'm2', 'm0'), 'leads back'],
  [falling('m1', 'm2', 'm1'), 'leads back'],
])('%s is refused without being repeated', (text, problem) => {
  const error = (() => {
    try {
      return parseModels(text)
    } catch (thrown) {
      return thrown as Error
    }
  })()
  expect(error).toBeInstanceOf(Error)
  expect(String(error)).toContain(problem)
  expect(String(error)).not.toContain('very-secret')
})
