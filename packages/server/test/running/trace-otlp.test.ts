import definitions from 'otlp-definitions/build/src/generated/root.js'
import { expect, test } from 'vitest'
import { exportTrace } from '#running/traces/export.ts'
import { Looking } from '#running/traces/looking.ts'
import type { Turn } from '#running/traces/redact.ts'

/** Messages as protobufjs made them of the official definitions; it knows nothing of what writes ours. */
const Request = ['opentelemetry', 'proto', 'collector', 'trace', 'v1', 'ExportTraceServiceRequest'].reduce(
  (within, name) => within[name] as Record<string, unknown>,
  definitions as unknown as Record<string, unknown>,
) as unknown as Message

interface Message {
  fromObject(value: unknown): object
  encode(message: object): { finish(): Uint8Array }
  decode(bytes: Uint8Array): object
  toObject(message: object, options: object): unknown
}

const trace = {
  id: 'trace_1',
  title: 'Weekly report',
  status: 'completed',
  actor: { userId: '3c1f', apiKeyId: 12, agentSlug: 'nightly-bot' },
  totalCost: 12.5,
  startedAt: '2026-11-16T00:00:00.000Z',
  lastActivityAt: '2026-11-16T00:01:00.000Z',
  traceKey: 'lineage_1',
}

function toTurns(payloads: readonly (readonly [type: string, payload: unknown])[]): Turn[] {
  return payloads.map(([type, payload], i) => ({
    seq: i + 1,
    type,
    payload,
    actorAgentSlug: i % 2 ? 'helper' : null,
    at: new Date(Date.parse(trace.startedAt) + 1000 * i).toISOString(),
    origin: i % 3 ? 'producer' : 'appended',
  }))
}

const turns = toTurns([
  ['user.message', { content: [{ type: 'text', text: 'Write the report' }] }],
  ['tool.call', { name: 'bash', toolUseId: 'a', input: '{"command":"ls"}' }],
  ['tool.call', { name: 'http', toolUseId: 'b', input: { url: 'https://a.example' } }],
  ['tool.result', { toolUseId: 'b', isError: true, output: '500 \ud83d' }],
  ['tool.result', { toolUseId: 'a', isError: false, output: 'notes.md' }],
  [
    'agent.text',
    { text: 'Done', model: 'large-1', provider: 'anthropic', usage: { input_tokens: 12, output_tokens: 3 } },
  ],
  ['tool.call', { name: 'request-approval', toolUseId: 'c' }],
  ['tool.result', { toolUseId: 'unknown', isError: false }],
  ['agent.thinking', {}],
  ['error', { code: 'SANDBOX_LOST' }],
])

async function exported(given: readonly Turn[], content: boolean): Promise<string> {
  async function* pages() {
    for (let i = 0; i < given.length; i += 3) yield given.slice(i, i + 3)
  }
  let text = ''
  for await (const chunk of exportTrace(trace, pages(), {
    format: 'otlp',
    rules: undefined,
    content,
    looking: new Looking(''),
  }))
    text += chunk
  return text
}

type Json = Record<string, unknown>
interface SpanJson extends Json {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: Json }[]
  status: { code?: number }
}
interface RequestJson extends Json {
  resourceSpans: { scopeSpans: { spans: SpanJson[] }[] }[]
}

const spansOf = (request: RequestJson) => request.resourceSpans[0]?.scopeSpans[0]?.spans ?? []
const attribute = (span: SpanJson | undefined, key: string) =>
  Object.values(span?.attributes.find((each) => each.key === key)?.value ?? {})[0]

/** In OTLP's JSON ids are hexadecimal, other than in protobuf's. */
function withIds(request: RequestJson, change: (id: string) => string): RequestJson {
  const copy = structuredClone(request)
  for (const span of spansOf(copy)) {
    span.traceId = change(span.traceId)
    span.spanId = change(span.spanId)
    if (span.parentSpanId !== undefined) span.parentSpanId = change(span.parentSpanId)
  }
  return copy
}

/** Through the official messages and back. What they do not know, or know as something else, is not in the answer. */
function decode(text: string): RequestJson {
  const toBase64 = (id: string) => Buffer.from(id, 'hex').toString('base64')
  const given = withIds(JSON.parse(text) as RequestJson, toBase64)
  const bytes = Request.encode(Request.fromObject(given)).finish()
  const decoded = Request.toObject(Request.decode(bytes), { longs: String, bytes: String })
  return withIds(decoded as RequestJson, (id) => Buffer.from(id, 'base64').toString('hex'))
}

test.each([true, false])('an independent decoder reads all that is written, content %s', async (content) => {
  const text = await exported(turns, content)
  expect(decode(text)).toEqual(JSON.parse(text))
})

test('a field that OTLP does not know would be noticed', async () => {
  const text = (await exported(turns, true)).replace('"kind":1', '"kind":1,"colour":"red"')
  expect(decode(text)).not.toEqual(JSON.parse(text))
})

test('one span for the whole, for each call with its result, for each reply', async () => {
  const spans = spansOf(JSON.parse(await exported(turns, true)) as RequestJson)
  const named = (name: string) => spans.filter((span) => span.name === name)
  const [root] = named('invoke_agent nightly-bot')
  expect(spans.filter(({ parentSpanId }) => parentSpanId !== root?.spanId)).toEqual([root])
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
  expect(attribute(root, 'gen_ai.conversation.id')).toBe('lineage_1')
  expect(root?.status).toEqual({ code: 2 })
  const [bash] = named('execute_tool bash')
  expect(Number(bash?.endTimeUnixNano) - Number(bash?.startTimeUnixNano)).toBe(3e9)
  expect(attribute(bash, 'gen_ai.tool.call.result')).toContain('notes.md')
  expect(named('execute_tool http')[0]?.status).toEqual({ code: 2 })
  expect(named('execute_tool request-approval')).toHaveLength(1)
  const [chat] = named('chat large-1')
  expect(attribute(chat, 'gen_ai.usage.input_tokens')).toBe('12')
  expect(attribute(chat, 'gen_ai.provider.name')).toBe('anthropic')
  expect(spans).toHaveLength(9)
})

test('content is there only when it was asked for', async () => {
  const bare = await exported(turns, false)
  expect(bare).not.toMatch(/notes\.md|Write the report|a\.example|Weekly/)
  expect(await exported(turns, true)).toMatch(/notes\.md/)
})

test('exported twice, and after more was said, the same turns have the same ids', async () => {
  const ids = async (given: readonly Turn[]) =>
    spansOf(JSON.parse(await exported(given, false)) as RequestJson).map(
      ({ traceId, spanId }) => `${traceId}/${spanId}`,
    )
  const first = await ids(turns)
  expect(await ids(turns)).toEqual(first)
  const more = await ids([
    ...turns,
    ...toTurns([['agent.text', { text: 'More' }]]).map((turn) => ({ ...turn, seq: 11 })),
  ])
  expect(first.filter((id) => !more.includes(id))).toEqual([])
})

test('calls that never end are written and not kept', async () => {
  const many = toTurns(
    Array.from({ length: 1000 }, (_, i) => ['tool.call', { name: 'bash', toolUseId: `t${i}` }]),
  )
  expect(spansOf(JSON.parse(await exported(many, false)) as RequestJson)).toHaveLength(1001)
})
