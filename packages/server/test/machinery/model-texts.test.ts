import { afterAll, beforeAll, expect, test } from 'vitest'
import { createModels, type Models } from '#machinery/models/models.ts'
import { parseModels } from '#platform/model-settings.ts'
import { type ModelEndpoint, openModelEndpoint } from '../../../../stack/model-endpoint/server.ts'

const prices = { apiKey: 'k-deployment', inputPricePerMillion: 300, outputPricePerMillion: 1500 }
const bash = { name: 'bash', description: 'Runs a command', inputSchema: { type: 'object' } }

let endpoint: ModelEndpoint
let models: Models

beforeAll(async () => {
  endpoint = await openModelEndpoint({ port: 0 })
  const shared = { ...prices, baseUrl: endpoint.url }
  const settings = [
    { id: 'scripted', provider: 'anthropic', ...shared },
    { id: 'compatible', provider: 'openai-compatible', ...shared, default: true },
  ]
  models = createModels(parseModels(JSON.stringify(settings)))
})

afterAll(() => endpoint.close())

test.each(['scripted', 'compatible'])('%s gives nothing that no database keeps', async (model) => {
  const input = { command: 'a\0b', 'x\0': [{ deep: '\0' }, 1, null] }
  const steps = [{ think: 'H\0m.', say: 'One\0two', tools: [{ name: 'bash', input }] }]
  const heard: string[] = []
  const reply = await models.call({
    model,
    system: 'You help.',
    messages: [{ role: 'user', text: `Please.\n\`\`\`script\n${JSON.stringify({ steps })}\n\`\`\`` }],
    tools: [bash],
    maxOutputTokens: 1000,
    signal: new AbortController().signal,
    onText: (delta) => void heard.push(delta),
  })
  const kept = { command: 'a\ufffdb', 'x\ufffd': [{ deep: '\ufffd' }, 1, null] }
  expect(reply).toMatchObject({
    text: 'One\ufffdtwo',
    reasoning: 'H\ufffdm.',
    toolCalls: [{ input: kept }],
  })
  expect(heard.join('')).toBe(reply.text)
})
