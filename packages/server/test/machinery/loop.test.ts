import { afterAll, beforeAll, expect, test } from 'vitest'
import { conversationAbout, type Loop, runLoop, standardLimits, type Usage } from '#machinery/loop/loop.ts'
import { createModels, type Models, type ModelToolCall } from '#machinery/models/models.ts'
import { parseModels } from '#platform/model-settings.ts'
import { type ModelEndpoint, openModelEndpoint } from '../../../../stack/model-endpoint/server.ts'
import type { Step } from '../../../../stack/model-endpoint/step.ts'

let endpoint: ModelEndpoint
let models: Models

beforeAll(async () => {
  endpoint = await openModelEndpoint({ port: 0 })
  const price = { inputPricePerMillion: 1000, outputPricePerMillion: 1000 }
  models = createModels(
    parseModels(
      JSON.stringify([
        { id: 'scripted', provider: 'anthropic', baseUrl: endpoint.url, apiKey: 'k', ...price },
      ]),
    ),
    { retries: { attempts: 2, firstDelayMs: 10, maxDelayMs: 20 } },
  )
})

afterAll(() => endpoint.close())

const script = (...steps: Step[]) => `Please.\n\`\`\`script\n${JSON.stringify({ steps })}\n\`\`\``
const plenty = { amountMilliDs: 1_000_000, limitedBy: 'max_cost' } as const

function loopOver<Pause = never>(prompt: string, more: Partial<Loop<Pause>> = {}): Loop<Pause> {
  return {
    models,
    model: undefined,
    providerKey: undefined,
    system: '',
    conversation: conversationAbout(prompt),
    budget: async () => plenty,
    spend: () => {},
    limits: standardLimits,
    signal: new AbortController().signal,
    ...more,
  }
}

const schemas = [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }]
const look = (at: string) => ({ name: 'look', input: { at } })
const placeOf = ({ input }: ModelToolCall) => (input as { at: string }).at

test('a tool that must wait ends the loop, which goes on with that tool and no other', async () => {
  const used: string[] = []
  let isAllowed = false
  const prompt = script({ tools: [look('a'), look('b'), look('c')] }, { say: 'Seen.' })
  const loop = loopOver<string>(prompt, {
    toolset: {
      schemas,
      use: async (call) => {
        used.push(placeOf(call))
        if (placeOf(call) === 'b' && !isAllowed) return { pause: 'ask somebody' }
        return { output: `Saw ${placeOf(call)}.`, isError: false }
      },
    },
  })
  const paused = await runLoop(loop)
  expect(paused).toMatchObject({ end: 'paused', pause: 'ask somebody', call: look('b') })
  expect(paused.usage.costMilliDs).toBeGreaterThan(0)
  expect(used).toEqual(['a', 'b'])
  isAllowed = true
  expect(await runLoop(loop)).toMatchObject({ end: 'answered', reply: { text: 'Seen.' } })
  expect(used).toEqual(['a', 'b', 'b', 'c'])
  const results = loop.conversation
    .messages()
    .flatMap((message) => ('results' in message ? message.results : []))
  expect(results.map(({ output }) => output)).toEqual(['Saw a.', 'Saw b.', 'Saw c.'])
})

test('what a reply took is kept before its tools are used', async () => {
  const order: string[] = []
  const told: string[] = []
  await runLoop(
    loopOver(script({ say: 'One.', tools: [look('a')] }, { say: 'Two.' }), {
      spend: async ({ outputTokens }) => void order.push(outputTokens > 0 ? 'spend' : 'nothing'),
      tell: ({ type }) => void (told.at(-1) !== type && told.push(type)),
      toolset: {
        schemas,
        use: async () => {
          order.push('use')
          return { output: '', isError: false }
        },
      },
    }),
  )
  expect(order).toEqual(['spend', 'use', 'spend'])
  expect(told).toEqual(['text', 'reply', 'tool_use', 'tool_result', 'text', 'reply'])
})

test('no more replies than allowed, and none that nothing is left for', async () => {
  const steps = Array.from({ length: 9 }, () => ({ tools: [look('a')], usage: { input: 100, output: 100 } }))
  const toolset = { schemas, use: async () => ({ output: 'More.', isError: false }) }
  const spent: Usage[] = []
  const spend = (usage: Usage) => void spent.push(usage)
  const limits = { ...standardLimits, steps: 3 }
  const many = await runLoop(loopOver(script(...steps), { toolset, spend, limits }))
  expect(many).toMatchObject({ end: 'too_many_steps', usage: { inputTokens: 300, outputTokens: 300 } })
  expect(spent.map(({ outputTokens }) => outputTokens)).toEqual([100, 200, 300])
  // The provider counts more than was to be expected; what was set aside is all there is to pay.
  const budget = async () => ({ amountMilliDs: 1000, limitedBy: 'key_limit' }) as const
  const dear = steps.map((step) => ({ ...step, usage: { input: 5000, output: 100 } }))
  const poor = await runLoop(loopOver(script(...dear), { toolset, budget }))
  expect(poor).toMatchObject({ end: 'limit_reached', limitedBy: 'key_limit', usage: { costMilliDs: 1000 } })
})

test('a value may come after tools, and what does not fit is asked for once more', async () => {
  const outputSchema = { type: 'array', items: { type: 'string' }, minItems: 1 }
  const toolset = { schemas, use: async () => ({ output: 'x', isError: false }) }
  const prompt = script({ tools: [look('a')] }, { object: { answer: [7] } })
  const loop = loopOver(prompt, { toolset, outputSchema })
  expect(await runLoop(loop)).toMatchObject({ end: 'answered', value: ['text'] })
  expect(loop.conversation.messages().map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
    'assistant',
  ])
})

test('whoever asks for tools that were not offered is asked for the value again', async () => {
  const outputSchema = { type: 'array', items: { type: 'string' }, minItems: 1 }
  const outcome = await runLoop(loopOver(script({ say: 'Wait.', tools: [look('a')] }), { outputSchema }))
  expect(outcome).toMatchObject({ end: 'answered', value: ['text'] })
})
