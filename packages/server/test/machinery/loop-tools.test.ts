import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type Conversation,
  chatLimits,
  conversationAbout,
  type Loop,
  type LoopEvent,
  runLoop,
  standardLimits,
  type ToolOutput,
  type Toolset,
} from '#machinery/loop/loop.ts'
import { createModels, type Models, type ModelToolCall } from '#machinery/models/models.ts'
import { parseModels } from '#platform/model-settings.ts'
import { type ModelEndpoint, openModelEndpoint } from '../../../../stack/model-endpoint/server.ts'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import { type ModelRecorder, recordModelCalls } from '../support/model-recorder.ts'

let endpoint: ModelEndpoint
let recorder: ModelRecorder
let models: Models

beforeAll(async () => {
  endpoint = await openModelEndpoint({ port: 0 })
  recorder = await recordModelCalls(endpoint.url)
  const price = { inputPricePerMillion: 1, outputPricePerMillion: 1 }
  models = createModels(
    parseModels(
      JSON.stringify([
        { id: 'scripted', provider: 'anthropic', baseUrl: recorder.url, apiKey: 'k', ...price },
      ]),
    ),
  )
})

afterAll(async () => {
  await recorder.close()
  await endpoint.close()
})

const script = (...steps: Step[]) => `Please.\n\`\`\`script\n${JSON.stringify({ steps })}\n\`\`\``

function chatOver<Pause = never>(prompt: string, more: Partial<Loop<Pause>>): Loop<Pause> {
  return {
    models,
    model: undefined,
    providerKey: undefined,
    system: '',
    conversation: conversationAbout(prompt),
    budget: async () => ({ amountMilliDs: 1_000_000, limitedBy: 'max_cost' }),
    spend: () => {},
    limits: chatLimits,
    signal: new AbortController().signal,
    ...more,
  }
}

const schemas = ['look', 'write'].map((name) => ({
  name,
  description: 'Does.',
  inputSchema: { type: 'object' },
}))
const kindOf: Toolset['kindOf'] = (name) => (name === 'look' ? 'look' : 'keyed')
const look = (at: number | string) => ({ name: 'look', input: { at } })
const write = (at: number | string) => ({ name: 'write', input: { at } })
const placeOf = ({ name, input }: ModelToolCall) => `${name} ${(input as { at: number | string }).at}`

/** What the model was told of its tools in its last prompt, over the wire. */
function lastTold(): string[] {
  interface Block {
    type: string
    content?: string | { text: string }[]
  }
  const { messages } = JSON.parse(recorder.asked.at(-1) ?? '') as { messages: { content: Block[] }[] }
  return messages
    .flatMap(({ content }) => content)
    .filter(({ type }) => type === 'tool_result')
    .map(({ content }) =>
      typeof content === 'string' ? content : (content ?? []).map((c) => c.text).join(''),
    )
}

const resultsOf = ({ conversation }: { conversation: Conversation }) =>
  conversation.messages().flatMap((message) => ('results' in message ? message.results : []))

test('tools that look are used four at a time, and nothing beside one that writes', async () => {
  const tools = [...[1, 2, 3, 4, 5, 6].map(look), write(7), look(8), look(9)]
  let [now, most] = [0, 0]
  const together: string[][] = []
  const busy = new Set<string>()
  const loop = chatOver(script({ tools }, { say: 'Done.' }), {
    toolset: {
      schemas,
      kindOf,
      use: async (call) => {
        busy.add(placeOf(call))
        most = Math.max(most, ++now)
        together.push([...busy])
        await sleep(call.name === 'look' ? 30 : 60)
        now--
        busy.delete(placeOf(call))
        return { output: placeOf(call), isError: false }
      },
    },
  })
  expect(await runLoop(loop)).toMatchObject({ end: 'answered' })
  expect(most).toBe(4)
  expect(together.filter((names) => names.includes('write 7'))).toEqual([['write 7']])
  expect(
    resultsOf(loop)
      .map(({ output }) => output)
      .sort(),
  ).toEqual(tools.map(({ name, input }) => `${name} ${input.at}`).sort())
})

test('without a word on what only looks, tools are used one after the other', async () => {
  let [now, most] = [0, 0]
  const use = async () => {
    most = Math.max(most, ++now)
    await sleep(5)
    now--
    return { output: 'x', isError: false }
  }
  const prompt = script({ tools: [look(1), look(2), look(3)] }, { say: 'Done.' })
  await runLoop(chatOver(prompt, { toolset: { schemas, use }, limits: standardLimits }))
  expect(most).toBe(1)
})

test('a look that must wait or fails lets the others beside it end, and keeps what they gave', async () => {
  const used: string[] = []
  let outcome: 'pause' | 'fail' | 'give' = 'fail'
  const loop = chatOver<string>(script({ tools: [look('a'), look('b'), look('c')] }, { say: 'Seen.' }), {
    toolset: {
      schemas,
      kindOf,
      use: async (call) => {
        used.push(placeOf(call))
        if (placeOf(call) === 'look b' && outcome === 'fail') throw new Error('away')
        if (placeOf(call) === 'look b' && outcome === 'pause') return { pause: 'ask' }
        await sleep(20)
        return { output: placeOf(call), isError: false }
      },
    },
  })
  await expect(runLoop(loop)).rejects.toThrow('away')
  expect(
    resultsOf(loop)
      .map(({ output }) => output)
      .sort(),
  ).toEqual(['look a', 'look c'])
  outcome = 'pause'
  expect(await runLoop(loop)).toMatchObject({ end: 'paused', pause: 'ask', call: look('b') })
  outcome = 'give'
  expect(await runLoop(loop)).toMatchObject({ end: 'answered' })
  expect(used).toEqual(['look a', 'look b', 'look c', 'look b', 'look b'])
})

const same: ToolOutput = { output: 'Nothing new.', isError: false }

test('the same call with the same result is remarked upon the third time and ends the loop the fifth', async () => {
  // The same arguments in another order are the same arguments.
  const turns = [1, 2, 3, 4, 5, 6].map((turn) => ({
    tools: [{ name: 'look', input: turn % 2 ? { a: 1, b: [2] } : { b: [2], a: 1 } }],
  }))
  let uses = 0
  const use = async () => {
    uses++
    return same
  }
  const notices: number[] = []
  const loop = chatOver(script(...turns), {
    toolset: { schemas, use },
    tell: ({ type }) => {
      if (type === 'reply' && uses > 0) notices.push(lastTold().filter((t) => t.includes('in a row')).length)
    },
  })
  expect(await runLoop(loop)).toMatchObject({ end: 'tool_loop' })
  expect(uses).toBe(5)
  expect(notices).toEqual([0, 0, 1, 2])
  // Whoever goes on with the conversation finds the same, and uses nothing more.
  expect(await runLoop(loop)).toMatchObject({ end: 'tool_loop' })
  expect(uses).toBe(5)
})

test.each([
  ['another result', 6, (turn: number) => ({ ...same, output: `${turn >> 2}` }), () => look(1)],
  ['another argument', 6, () => same, (turn: number) => look(turn >> 2)],
  ['an error in between', 6, (turn: number) => ({ ...same, isError: turn === 3 }), () => look(1)],
])('%s begins a new row', async (_, count, resultOf, callOf) => {
  const turns = Array.from({ length: count }, (_, turn) => ({ tools: [callOf(turn)] }))
  let turn = 0
  const use = async () => resultOf(turn++)
  const loop = chatOver(script(...turns, { say: 'Done.' }), { toolset: { schemas, use } })
  expect(await runLoop(loop)).toMatchObject({ end: 'answered' })
})

test('what somebody says begins a new row, and executions know none', async () => {
  const turns = Array.from({ length: 4 }, () => ({ tools: [look(1)] }))
  const toolset = { schemas, use: async () => same }
  const loop = chatOver(script(...turns, { say: 'Done.' }), { toolset })
  expect(await runLoop(loop)).toMatchObject({ end: 'answered' })
  await loop.conversation.addRemark(script(...turns, { say: 'Done again.' }))
  expect(await runLoop(loop)).toMatchObject({ end: 'answered', reply: { text: 'Done again.' } })
  const long = script(...turns, ...turns, { say: 'Done.' })
  expect(await runLoop(chatOver(long, { toolset, limits: standardLimits }))).toMatchObject({
    end: 'answered',
  })
  expect(lastTold().join()).not.toContain('in a row')
})

test('three calls in a row of tools that there are not end the loop; none of them reaches the tools', async () => {
  const used: string[] = []
  const use = async ({ name }: ModelToolCall) => {
    used.push(name)
    return same
  }
  const unknown = (name: string) => ({ tools: [{ name, input: {} }] })
  const mended = script(unknown('bash'), unknown('ls'), { tools: [look(1)] }, unknown('cat'), {
    say: 'Done.',
  })
  expect(await runLoop(chatOver(mended, { toolset: { schemas, use } }))).toMatchObject({ end: 'answered' })
  expect(used).toEqual(['look'])
  expect(lastTold()[0]).toContain('look, write')
  const stubborn = script(unknown('bash'), unknown('ls'), unknown('__proto__'), { say: 'Done.' })
  expect(await runLoop(chatOver(stubborn, { toolset: { schemas, use } }))).toMatchObject({ end: 'tool_loop' })
  expect(used).toEqual(['look'])
})

test('of one reply sixteen calls are used, and the model is told of the others', async () => {
  const tools = Array.from({ length: 18 }, (_, index) => look(index))
  let uses = 0
  const use = async (call: ModelToolCall) => {
    uses++
    return { output: placeOf(call), isError: false }
  }
  const loop = chatOver(script({ tools }, { say: 'Done.' }), { toolset: { schemas, kindOf, use } })
  expect(await runLoop(loop)).toMatchObject({ end: 'answered' })
  expect(uses).toBe(16)
  expect(lastTold()).toHaveLength(18)
  expect(lastTold().filter((told) => told.includes('may ask for 16'))).toHaveLength(2)
})

test('what is prepared before a reply is known to it, and a failure there ends the loop', async () => {
  const steps: number[] = []
  const told: LoopEvent['type'][] = []
  const loop = chatOver(script({ tools: [look(1)] }), {
    toolset: { schemas, use: async () => same },
    tell: ({ type }) => void told.push(type),
    prepare: async (step) => {
      steps.push(step)
      if (step === 1) await loop.conversation.addRemark(script({ say: 'I heard you.' }))
    },
  })
  expect(await runLoop(loop)).toMatchObject({ end: 'answered', reply: { text: 'I heard you.' } })
  expect(steps).toEqual([0, 1])
  expect(told.filter((type) => type === 'reply')).toHaveLength(2)
  const broken = { ...loop, prepare: () => Promise.reject(new Error('too long')) }
  await expect(runLoop(broken)).rejects.toThrow('too long')
})
