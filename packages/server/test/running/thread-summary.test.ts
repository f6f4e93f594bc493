import { afterAll, beforeAll, expect, test } from 'vitest'
import { createModels, type ModelMessage, type Models } from '#machinery/models/models.ts'
import { parseModels } from '#platform/model-settings.ts'
import { type SummaryRequest, writeSummary } from '#running/threads/summary.ts'
import { type ModelEndpoint, openModelEndpoint } from '../../../../stack/model-endpoint/server.ts'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import { type ModelRecorder, recordModelCalls } from '../support/model-recorder.ts'

let endpoint: ModelEndpoint
let recorder: ModelRecorder
let models: Models

beforeAll(async () => {
  endpoint = await openModelEndpoint({ port: 0 })
  recorder = await recordModelCalls(endpoint.url)
  const price = { inputPricePerMillion: 1000, outputPricePerMillion: 1000 }
  const model = { id: 'scripted', provider: 'anthropic', baseUrl: recorder.url, apiKey: 'k', ...price }
  models = createModels(parseModels(JSON.stringify([model])), {
    retries: { attempts: 1, firstDelayMs: 1, maxDelayMs: 1 },
  })
})

afterAll(async () => {
  await recorder.close()
  await endpoint.close()
})

const usage = { input: 400, output: 100 }

/** A conversation whose record the stand-in writes as the step says. */
function about(step: Step, more: Partial<SummaryRequest> = {}): SummaryRequest {
  const script = `\`\`\`script\n${JSON.stringify({ steps: [step] })}\n\`\`\``
  const replaced: ModelMessage[] = [
    { role: 'user', text: `Please. ${script}` },
    { role: 'assistant', text: '', toolCalls: [{ id: 't', name: 'read', input: { path: 'notes.md' } }] },
    {
      role: 'tool',
      results: [{ toolCallId: 't', name: 'read', output: 'o'.repeat(50_000), isError: false }],
    },
    { role: 'assistant', text: 'It says oh.', toolCalls: [] },
  ]
  return {
    models,
    model: undefined,
    providerKey: undefined,
    signal: new AbortController().signal,
    replaced,
    inputTokens: 4000,
    outputTokens: 500,
    isShorter: (text) => text.length < 1000,
    budget: async () => ({ amountMilliDs: 100_000, limitedBy: 'max_cost' }),
    ...more,
  }
}

test('a summary is written without tools, of a record that fits, and paid', async () => {
  const summary = await writeSummary(about({ say: ' They read the notes. ', usage }))
  expect(summary).toEqual({
    end: 'written',
    text: 'They read the notes.',
    usage: { costMilliDs: 500, inputTokens: 400, outputTokens: 100 },
  })
  const { tools, messages, max_tokens } = JSON.parse(recorder.asked.at(-1) ?? '')
  expect(tools ?? []).toEqual([])
  expect(max_tokens).toBe(500)
  const [{ content }] = messages as [{ content: { text: string }[] }]
  const text = content.map((block) => block.text).join('')
  expect(messages).toHaveLength(1)
  expect(text.length).toBeLessThan(8500)
  expect(text).toMatch(/<(data-[0-9a-f]{16})>\n[\s\S]*The agent used read[\s\S]*It says oh\.\n<\/\1>$/)
})

test.each([
  ['empty', { say: '  ', usage }, {}],
  ['longer than what it replaces', { say: 'word ', repeatText: 300, usage }, {}],
])('one that is %s is tried once more, paid both times, and then given up', async (_, step, more) => {
  const before = endpoint.stats().requests
  const summary = await writeSummary(about(step, { outputTokens: 2000, ...more }))
  expect(summary).toMatchObject({ end: 'failed', usage: { costMilliDs: 1000 } })
  expect(endpoint.stats().requests - before).toBe(2)
})

test('a failure is tried once more', async () => {
  const mended = await writeSummary(about({ say: 'Good.', fail: { status: 400, times: 1 } }))
  expect(mended).toMatchObject({ end: 'written', text: 'Good.' })
  const broken = await writeSummary(about({ say: 'Good.', fail: { status: 400, times: 9 } }))
  expect(broken).toEqual({ end: 'failed', usage: { costMilliDs: 0, inputTokens: 0, outputTokens: 0 } })
})

test('what is left for it bounds it, and an abort ends it', async () => {
  const budget = async () => ({ amountMilliDs: 10, limitedBy: 'key_limit' }) as const
  const poor = await writeSummary(about({ say: 'Good.' }, { budget }))
  expect(poor).toMatchObject({ end: 'limit_reached', limitedBy: 'key_limit' })
  const stop = new AbortController()
  stop.abort(new Error('stopped'))
  await expect(writeSummary(about({ say: 'Good.' }, { signal: stop.signal }))).rejects.toThrow('stopped')
})
