import { randomBytes } from 'node:crypto'
import {
  isObject,
  type ModelRequest,
  need,
  type Protocol,
  Refusal,
  type Reply,
  type Turn,
} from './protocol.ts'
import { piecesOf } from './reply.ts'

type Block = Record<string, unknown>

/** Anthropic's Messages API, as strict as the service about what it takes. */
export const anthropic: Protocol = {
  checkHeaders(headers) {
    if (!headers['x-api-key']) throw new Refusal(401, 'x-api-key header is required')
    need(headers['anthropic-version'], 'anthropic-version: header is required')
  },
  read,
  errorBody: (status, message) => ({
    type: 'error',
    error: { type: errorTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error'), message },
    request_id: `req_${randomBytes(12).toString('hex')}`,
  }),
  whole: (request, reply) => ({
    ...messageHead(request),
    content: blocksOf(request, reply),
    stop_reason: stopReason(request, reply),
    usage: { input_tokens: reply.usage.input, output_tokens: reply.usage.output },
  }),
  frames,
}

const errorTypes: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

function read(body: unknown): ModelRequest {
  need(isObject(body), 'The body must be an object')
  const { model, max_tokens: maxTokens, messages, tools = [], output_config: outputConfig, stream } = body
  need(typeof model === 'string' && model !== '', 'model: Field required')
  need(maxTokens !== undefined, 'max_tokens: Field required')
  need(Number.isInteger(maxTokens) && Number(maxTokens) > 0, 'max_tokens: must be greater than or equal to 1')
  need(Array.isArray(messages) && messages.length > 0, 'messages: at least one message is required')
  const toolNames = readTools(tools)
  need(toolNames.length > 0 || !usesTools(messages), 'tools: Field required when messages use tools')
  const format = isObject(outputConfig) ? outputConfig['format'] : undefined
  const jsonTool = askedAsTool(tools)
  const schema = isObject(format) ? format['schema'] : jsonTool?.['input_schema']
  return {
    model,
    turns: readMessages(messages),
    tools: toolNames.filter((name) => name !== jsonTool?.['name']),
    maxTokens: Number(maxTokens),
    schema: isObject(schema) ? schema : undefined,
    stream: stream === true,
    objectAsTool: jsonTool !== undefined,
  }
}

/** How clients ask models for an object that know no output format: a tool that does nothing but take it. */
function askedAsTool(tools: unknown): Block | undefined {
  const all = Array.isArray(tools) ? tools : []
  return all.find((tool) => isObject(tool) && tool['name'] === 'json')
}

function usesTools(messages: readonly unknown[]): boolean {
  const blocks = messages.flatMap((message) => (isObject(message) ? message['content'] : []))
  const types = blocks.map((block) => (isObject(block) ? block['type'] : undefined))
  return types.includes('tool_use') || types.includes('tool_result')
}

function readTools(tools: unknown): string[] {
  need(Array.isArray(tools), 'tools: Input should be a valid list')
  const names = tools.map((tool, at) => {
    need(isObject(tool), `tools.${at}: Input should be an object`)
    const { name, input_schema: schema } = tool
    need(
      typeof name === 'string' && /^[\w-]{1,128}$/.test(name),
      `tools.${at}.name: String should match pattern`,
    )
    need(isObject(schema) && schema['type'] === 'object', `tools.${at}.input_schema.type: Field required`)
    return name
  })
  need(new Set(names).size === names.length, 'tools: Tool names must be unique.')
  return names
}

function readMessages(messages: unknown[]): Turn[] {
  const turns: Turn[] = []
  let open: string[] = []
  let lastRole: unknown
  messages.forEach((message, at) => {
    need(isObject(message), `messages.${at}: Input should be an object`)
    const { role } = message
    need(
      role === 'user' || role === 'assistant',
      `messages.${at}.role: Input should be 'user' or 'assistant'`,
    )
    need(at > 0 || role === 'user', 'messages: first message must use the "user" role')
    const blocks = readBlocks(message['content'], `messages.${at}`)
    if (role === 'assistant') {
      need(open.length === 0, unanswered(at, open))
      open = blocks.filter(({ type }) => type === 'tool_use').map((block) => readToolUse(block, at))
      turns.push({ role })
    } else {
      turns.push(...readUserTurns(blocks, open, at))
      open = []
    }
    lastRole = role
  })
  need(
    lastRole === 'user',
    'This model does not support assistant message prefill. The conversation must end with a user message.',
  )
  return turns
}

function readUserTurns(blocks: Block[], open: string[], at: number): Turn[] {
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const texts = blocks.filter(({ type }) => type === 'text')
  const ids = results.map((block) => String(block['tool_use_id']))
  const unexpected = ids.find((id, index) => !open.includes(id) || ids.indexOf(id) !== index)
  need(
    unexpected === undefined,
    `messages.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${unexpected}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  )
  const missing = open.filter((id) => !ids.includes(id))
  const resultsFirst = blocks.slice(0, results.length).every(({ type }) => type === 'tool_result')
  need(missing.length === 0 && resultsFirst, unanswered(at, missing))
  const turns: Turn[] = []
  if (results.length > 0) turns.push({ role: 'tool', outputs: results.map(({ content }) => textOf(content)) })
  if (texts.length > 0) turns.push({ role: 'user', text: texts.map(({ text }) => text).join('\n') })
  return turns
}

function unanswered(at: number, ids: string[]): string {
  return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
}

function readBlocks(content: unknown, where: string): Block[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  need(Array.isArray(blocks) && blocks.length > 0, `${where}: all messages must have non-empty content`)
  for (const block of blocks) {
    need(isObject(block), `${where}.content: Input should be an object`)
    const isText = block['type'] === 'text'
    need(
      !isText || (typeof block['text'] === 'string' && block['text'] !== ''),
      `${where}: text content blocks must be non-empty`,
    )
  }
  return blocks
}

function readToolUse({ id, name, input }: Block, at: number): string {
  need(
    typeof id === 'string' && /^[\w-]+$/.test(id),
    `messages.${at}.content.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`,
  )
  need(typeof name === 'string', `messages.${at}.content.tool_use.name: Field required`)
  need(isObject(input), `messages.${at}.content.tool_use.input: Input should be a valid dictionary`)
  return id
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return String(content ?? '')
  return content.map((block) => (isObject(block) ? String(block['text'] ?? '') : '')).join('\n')
}

function messageHead({ model }: ModelRequest) {
  return {
    id: `msg_${randomBytes(12).toString('hex')}`,
    type: 'message',
    role: 'assistant',
    model,
    stop_sequence: null,
  }
}

function blocksOf(request: ModelRequest, reply: Reply): Block[] {
  const asTool = request.objectAsTool && reply.object !== undefined
  const calls = asTool ? [{ id: 'object', name: 'json', input: reply.object }] : reply.toolCalls
  return [
    ...(reply.thinking ? [{ type: 'thinking', thinking: reply.thinking, signature: 'scripted' }] : []),
    ...(reply.text && !asTool ? [{ type: 'text', text: reply.text }] : []),
    ...calls.map(({ id, name, input }) => ({ type: 'tool_use', id: `toolu_${id}`, name, input })),
  ]
}

function stopReason(request: ModelRequest, { stop, object }: Reply): string {
  if (stop === 'length') return 'max_tokens'
  return stop === 'tools' || (request.objectAsTool && object !== undefined) ? 'tool_use' : 'end_turn'
}

function frames(request: ModelRequest, reply: Reply): string[] {
  const { input, output } = reply.usage
  const message = { ...messageHead(request), content: [], stop_reason: null }
  return [
    frame({
      type: 'message_start',
      message: { ...message, usage: { input_tokens: input, output_tokens: 1 } },
    }),
    frame({ type: 'ping' }),
    ...blocksOf(request, reply).flatMap(blockFrames),
    frame({
      type: 'message_delta',
      delta: { stop_reason: stopReason(request, reply), stop_sequence: null },
      usage: { output_tokens: output },
    }),
    frame({ type: 'message_stop' }),
  ]
}

function blockFrames(block: Block, index: number): string[] {
  const { empty, deltas } = streamed(block)
  return [
    frame({ type: 'content_block_start', index, content_block: empty }),
    ...deltas.map((delta) => frame({ type: 'content_block_delta', index, delta })),
    frame({ type: 'content_block_stop', index }),
  ]
}

function streamed(block: Block): { empty: Block; deltas: Block[] } {
  if (block['type'] === 'text') {
    const deltas = piecesOf(String(block['text'])).map((text) => ({ type: 'text_delta', text }))
    return { empty: { ...block, text: '' }, deltas }
  }
  if (block['type'] === 'thinking') {
    const deltas = piecesOf(String(block['thinking'])).map((thinking) => ({
      type: 'thinking_delta',
      thinking,
    }))
    const signature = { type: 'signature_delta', signature: block['signature'] }
    return { empty: { ...block, thinking: '', signature: '' }, deltas: [...deltas, signature] }
  }
  const json = piecesOf(JSON.stringify(block['input'] ?? {}))
  const deltas = json.map((partial) => ({ type: 'input_json_delta', partial_json: partial }))
  return { empty: { ...block, input: {} }, deltas }
}

function frame(event: { type: string; [name: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
