import { setTimeout as delay } from 'node:timers/promises'
import { InputRequired } from '../../packages/server/src/transports/mcp/catalogue.ts'
import type { Exchange } from '../../packages/server/src/transports/mcp/exchange.ts'
import { metaName } from '../../packages/server/src/transports/mcp/message.ts'
import { missingCapability } from '../../packages/server/src/transports/mcp/results.ts'
import {
  type InputRequests,
  isRecord,
  type RecordOf,
} from '../../packages/server/src/transports/mcp/shapes.ts'

/** What the suite calls, by the names and with the answers that it looks for. Each is the least that does it. */
type Tool = (exchange: Exchange) => RecordOf | InputRequired | Promise<RecordOf | InputRequired>

export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const wav = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='

const say = (text: string): RecordOf => ({ content: [{ type: 'text', text }] })
const text = (value: string) => ({ type: 'text', text: value })
const resource = (uri: string, mimeType: string, value: string) => ({
  type: 'resource',
  resource: { uri, mimeType, text: value },
})
const image = { type: 'image', data: png, mimeType: 'image/png' }

type Properties = Record<string, RecordOf>
/** Typed loosely: the suite judges what goes over the wire. */
const requests = (named: RecordOf) => named as unknown as InputRequests
export const form = (message: string, properties: Properties, required = Object.keys(properties)) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties, required } },
})
const sampling = (prompt: string) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: text(prompt) }], maxTokens: 100 },
})
const roots = { method: 'roots/list', params: {} }
const stringField = { type: 'string' }
const booleanField = { type: 'boolean' }

export const ask = (named: RecordOf, state?: RecordOf) =>
  new InputRequired({ requests: requests(named), ...(state && { state }) })

/** What a form was answered with, once it was accepted. */
export function accepted({ answers }: Exchange, name: string): RecordOf | undefined {
  const answer = answers?.[name]
  return isRecord(answer) && answer['action'] === 'accept' && isRecord(answer['content'])
    ? answer['content']
    : undefined
}

function answered({ answers }: Exchange, name: string): RecordOf | undefined {
  const answer = answers?.[name]
  return isRecord(answer) ? answer : undefined
}

function stateOf({ state }: Exchange): RecordOf {
  return isRecord(state) ? state : {}
}

function argumentsOf({ request }: Exchange): RecordOf {
  return isRecord(request.params['arguments']) ? request.params['arguments'] : {}
}

const textIn = (answer: RecordOf | undefined) =>
  isRecord(answer?.['content']) ? String(answer['content']['text']) : 'none'

/** A form with these fields, and then what came of it. */
const elicit =
  (
    words: string,
    message: (exchange: Exchange) => string,
    properties: Properties,
    required?: string[],
  ): Tool =>
  (exchange) => {
    const answer = answered(exchange, 'form')
    if (!answer) return ask({ form: form(message(exchange), properties, required) })
    return say(
      `${words}: action=${String(answer['action'])}, content=${JSON.stringify(answer['content'] ?? {})}`,
    )
  }

const choices = ['option1', 'option2', 'option3']
const titled = (noun: string) =>
  ['First', 'Second', 'Third'].map((title, index) => ({
    const: `value${index + 1}`,
    title: `${title} ${noun}`,
  }))

export const changeChannel = (exchange: Exchange) => `mcp.fixture:${exchange.credential}`

const change =
  (what: 'tools' | 'prompts'): Tool =>
  (exchange) => {
    exchange.bus.tell(changeChannel(exchange), what)
    return say('Changed')
  }

/** A map, and no object: a tool may be asked for by the name `constructor`. */
export const fixtureTools: ReadonlyMap<string, Tool> = new Map<string, Tool>([
  ['test_simple_text', () => say('This is a simple text response for testing.')],
  ['test_image_content', () => ({ content: [image] })],
  ['test_audio_content', () => ({ content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }] })],
  [
    'test_embedded_resource',
    () => ({
      content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
    }),
  ],
  [
    'test_multiple_content_types',
    () => ({
      content: [
        text('Multiple content types test:'),
        image,
        resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ],
    }),
  ],
  [
    'test_tool_with_logging',
    async (exchange) => {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        if (exchange.request.era === 'legacy')
          await exchange.notify('notifications/message', { level: 'info', data })
        await delay(50)
      }
      return say('Logged')
    },
  ],
  [
    'test_logging_tool',
    async (exchange) => {
      if (exchange.request.meta[metaName('logLevel')] !== undefined)
        await exchange.notify('notifications/message', { level: 'info', data: 'Asked for' })
      return say('Logged where it was asked for')
    },
  ],
  [
    'test_tool_with_progress',
    async (exchange) => {
      for (const progress of [0, 50, 100]) {
        await exchange.progress(progress, `Completed step ${progress} of 100`, 100)
        await delay(50)
      }
      return say(String(exchange.progressToken))
    },
  ],
  [
    'test_streaming_elicitation',
    async (exchange) => {
      await exchange.progress(50, undefined, 100)
      return say('Streamed')
    },
  ],
  ['test_error_handling', () => ({ isError: true, ...say('This tool fails on purpose') })],
  [
    'test_sampling',
    (exchange) => {
      const answer = answered(exchange, 'sample')
      if (!answer) return ask({ sample: sampling(String(argumentsOf(exchange)['prompt'])) })
      return say(`LLM response: ${textIn(answer)}`)
    },
  ],
  [
    'test_elicitation',
    elicit('User response', (exchange) => String(argumentsOf(exchange)['message']), {
      response: { ...stringField, description: 'What the person says' },
    }),
  ],
  [
    'test_elicitation_sep1034_defaults',
    elicit(
      'Elicitation completed',
      () => 'Look over these',
      {
        name: { ...stringField, default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { ...stringField, enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { ...booleanField, default: true },
      },
      [],
    ),
  ],
  [
    'test_elicitation_sep1330_enums',
    elicit(
      'Elicitation completed',
      () => 'Choose',
      {
        untitledSingle: { ...stringField, enum: choices },
        titledSingle: { ...stringField, oneOf: titled('Option') },
        legacyEnum: {
          ...stringField,
          enum: ['opt1', 'opt2', 'opt3'],
          enumNames: ['Option One', 'Option Two', 'Option Three'],
        },
        untitledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { ...stringField, enum: choices } },
        titledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { anyOf: titled('Choice') } },
      },
      [],
    ),
  ],
  [
    'test_missing_capability',
    ({ request: { id, capabilities } }) => {
      if (!capabilities.sampling) throw missingCapability(id, { sampling: {} })
      return say('There')
    },
  ],
  [
    'test_input_required_result_elicitation',
    (exchange) => {
      const answer = accepted(exchange, 'user_name')
      if (!answer) return ask({ user_name: form('What is your name?', { name: stringField }) })
      return say(`Hello, ${String(answer['name'])}!`)
    },
  ],
  [
    'test_input_required_result_sampling',
    (exchange) => {
      const answer = answered(exchange, 'sample_request')
      if (!answer) return ask({ sample_request: sampling('What is the capital of France?') })
      return say(`Sampled: ${textIn(answer)}`)
    },
  ],
  [
    'test_input_required_result_list_roots',
    (exchange) => {
      const answer = answered(exchange, 'roots_request')
      if (!answer) return ask({ roots_request: roots })
      return say(`Found ${Array.isArray(answer['roots']) ? answer['roots'].length : 0} root(s)`)
    },
  ],
  [
    'test_input_required_result_request_state',
    (exchange) =>
      stateOf(exchange)['kind'] === 'kept' && accepted(exchange, 'confirm')?.['ok'] === true
        ? say('state-ok: it came back as it went out')
        : ask({ confirm: form('Is it so?', { ok: booleanField }) }, { kind: 'kept' }),
  ],
  [
    'test_input_required_result_multiple_inputs',
    (exchange) => {
      const [name, greeting, listed] = ['user_name', 'greeting', 'client_roots'].map((each) =>
        answered(exchange, each),
      )
      if (stateOf(exchange)['kind'] === 'several' && name && greeting && listed)
        return say(
          `${JSON.stringify(name['content'])} ${textIn(greeting)} ${JSON.stringify(listed['roots'])}`,
        )
      const named = {
        user_name: form('What is your name?', { name: stringField }),
        greeting: sampling('Say hello'),
        client_roots: roots,
      }
      return ask(named, { kind: 'several' })
    },
  ],
  [
    'test_input_required_result_multi_round',
    (exchange) => {
      const { round, name } = stateOf(exchange)
      const [first, second] = [accepted(exchange, 'step1'), accepted(exchange, 'step2')]
      if (round === 1 && first)
        return ask(
          { step2: form('Step 2: What is your favourite colour?', { color: stringField }) },
          { round: 2, name: first['name'] },
        )
      if (round === 2 && second) return say(`${String(name)} likes ${String(second['color'])}`)
      return ask({ step1: form('Step 1: What is your name?', { name: stringField }) }, { round: 1 })
    },
  ],
  [
    'test_input_required_result_tampered_state',
    (exchange) =>
      stateOf(exchange)['kind'] === 'sealed' && answered(exchange, 'confirm')
        ? say('integrity-ok: nobody has changed it')
        : ask({ confirm: form('Is it so?', { ok: booleanField }) }, { kind: 'sealed' }),
  ],
  [
    'test_input_required_result_capabilities',
    (exchange) => {
      if (Object.keys(exchange.answers ?? {}).length > 0) return say('capabilities-ok')
      const { elicitation, sampling: samples } = exchange.request.capabilities
      const named = {
        ...(elicitation && { elicit_input: form('Something', { value: stringField }) }),
        ...(samples && { sample_input: sampling('Something') }),
      }
      return Object.keys(named).length > 0 ? ask(named, { kind: 'able' }) : say('Nothing can be asked')
    },
  ],
  ['test_trigger_tool_change', change('tools')],
  ['test_trigger_prompt_change', change('prompts')],
  ['json_schema_2020_12_tool', (exchange) => say(JSON.stringify(argumentsOf(exchange)))],
])

/** The vocabulary that must come through unharmed. */
const wideSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'address',
      type: 'object',
      properties: { street: stringField, city: stringField },
    },
  },
  properties: { name: stringField, address: { $ref: '#/$defs/address' } },
  additionalProperties: false,
  allOf: [{ anyOf: [{ required: ['name'] }, { required: ['address'] }] }],
  if: { required: ['name'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { properties: { name: { minLength: 1 } } },
  else: { properties: { name: {} } },
}
const needs = (name: string) => ({ type: 'object', properties: { [name]: stringField }, required: [name] })
const schemas: ReadonlyMap<string, RecordOf> = new Map<string, RecordOf>([
  ['json_schema_2020_12_tool', wideSchema],
  ['test_sampling', needs('prompt')],
  ['test_elicitation', needs('message')],
])

export const fixtureToolList = [...fixtureTools.keys()].map((name) => ({
  name,
  description: `For the suite: ${name}`,
  inputSchema: schemas.get(name) ?? { type: 'object' },
}))
