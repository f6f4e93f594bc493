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

const roles = ['system', 'developer', 'user', 'assistant', 'tool']

/** OpenAI's Chat Completions, which vLLM, Ollama, OpenRouter and others speak too. */
export const openai: Protocol = {
  checkHeaders({ authorization }) {
    if (!/^Bearer \S+$/.test(authorization ?? '')) {
      throw new Refusal(401, "You didn't provide an API key in an Authorization header using Bearer auth")
    }
  },
  read,
  errorBody: (status, message) => ({
    error: { message, type: errorType(status), param: null, code: errorCodes[status] ?? null },
  }),
  whole: (request, reply) => ({
    ...completionHead(request, 'chat.completion'),
    choices: [{ index: 0, message: messageOf(reply), finish_reason: finishReason(reply), logprobs: null }],
    usage: usageOf(reply),
  }),
  frames,
}

const errorCodes: Record<number, string> = { 401: 'invalid_api_key', 429: 'rate_limit_exceeded' }

function errorType(status: number): string {
  if (status === 429) return 'requests'
  return status < 500 ? 'invalid_request_error' : 'server_error'
}

function read(body: unknown): ModelRequest {
  need(isObject(body), 'We could not parse the JSON body of your request.')
  const {
    model,
    messages,
    tools = [],
    max_tokens,
    max_completion_tokens,
    response_format: format,
    stream_options: streamOptions,
  } = body
  const maxTokens = max_completion_tokens ?? max_tokens
  need(typeof model === 'string' && model !== '', 'you must provide a model parameter')
  need(Array.isArray(messages) && messages.length > 0, "[] is too short - 'messages'")
  need(
    maxTokens === undefined || (Number.isInteger(maxTokens) && Number(maxTokens) > 0),
    'max_tokens is too small',
  )
  return {
    model,
    turns: readMessages(messages),
    tools: readTools(tools),
    maxTokens: maxTokens === undefined ? undefined : Number(maxTokens),
    schema: readFormat(format),
    stream: body['stream'] === true,
    usageInStream: isObject(streamOptions) && streamOptions['include_usage'] === true,
  }
}

function readFormat(format: unknown): Record<string, unknown> | undefined {
  if (!isObject(format) || format['type'] === 'text') return undefined
  if (format['type'] === 'json_object') return {}
  need(format['type'] === 'json_schema', `Invalid value: '${format['type']}' - 'response_format.type'`)
  const described = format['json_schema']
  need(
    isObject(described) && typeof described['name'] === 'string',
    "Missing required parameter: 'response_format.json_schema.name'",
  )
  return isObject(described['schema']) ? described['schema'] : {}
}

function readTools(tools: unknown): string[] {
  need(Array.isArray(tools), "Invalid type for 'tools'")
  return tools.map((tool, at) => {
    const described = isObject(tool) && tool['type'] === 'function' ? tool['function'] : undefined
    need(isObject(described), `Missing required parameter: 'tools[${at}].function'`)
    const { name } = described
    need(typeof name === 'string' && /^[\w-]{1,64}$/.test(name), `Invalid 'tools[${at}].function.name'`)
    return name
  })
}

function readMessages(messages: unknown[]): Turn[] {
  const turns: Turn[] = []
  const open = new Set<string>()
  messages.forEach((message, at) => {
    need(isObject(message), `Invalid type for 'messages[${at}]'`)
    const role = String(message['role'])
    need(roles.includes(role), `Invalid value: '${role}' - 'messages[${at}].role'`)
    if (role === 'tool') {
      const id = String(message['tool_call_id'])
      need(
        open.delete(id),
        `messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. - 'messages.[${at}].role'`,
      )
      turns.push({ role, outputs: [textOf(message['content'])] })
      return
    }
    need(open.size === 0, unanswered(open))
    if (role === 'user') turns.push({ role, text: textOf(message['content']) })
    if (role === 'assistant') {
      for (const id of readCalls(message, at)) open.add(id)
      turns.push({ role })
    }
  })
  need(open.size === 0, unanswered(open))
  return turns
}

function unanswered(open: Set<string>): string {
  return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(', ')}`
}

function readCalls(message: Record<string, unknown>, at: number): string[] {
  const { tool_calls: calls = [], content } = message
  need(Array.isArray(calls), `Invalid type for 'messages[${at}].tool_calls'`)
  need(
    calls.length > 0 || typeof content === 'string' || Array.isArray(content),
    `Invalid value for 'content': expected a string, got null. - 'messages.[${at}].content'`,
  )
  return calls.map((call, index) => {
    const where = `messages[${at}].tool_calls[${index}]`
    need(
      isObject(call) && typeof call['id'] === 'string' && isObject(call['function']),
      `Missing required parameter: '${where}.id'`,
    )
    const { name, arguments: args } = call['function']
    need(
      typeof name === 'string' && typeof args === 'string',
      `Missing required parameter: '${where}.function.arguments'`,
    )
    return call['id']
  })
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return String(content ?? '')
  return content.map((part) => (isObject(part) ? String(part['text'] ?? '') : '')).join('\n')
}

function completionHead({ model }: ModelRequest, object: string) {
  const id = `chatcmpl-${randomBytes(12).toString('hex')}`
  return { id, object, created: Math.floor(Date.now() / 1000), model }
}

function toolCallsOf({ toolCalls }: Reply) {
  return toolCalls.map(({ id, name, input }) => ({
    id: `call_${id}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(input ?? {}) },
  }))
}

function messageOf(reply: Reply) {
  const calls = toolCallsOf(reply)
  return {
    role: 'assistant',
    content: reply.text || null,
    refusal: null,
    ...(reply.thinking ? { reasoning_content: reply.thinking } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }
}

function finishReason({ stop }: Reply): string {
  return { end: 'stop', tools: 'tool_calls', length: 'length' }[stop]
}

function usageOf({ usage: { input, output } }: Reply) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

function frames(request: ModelRequest, reply: Reply): string[] {
  const head = completionHead(request, 'chat.completion.chunk')
  const chunk = (delta: object, finish: string | null = null) =>
    frame({ ...head, choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }] })
  return [
    chunk({ role: 'assistant', content: '' }),
    ...piecesOf(reply.thinking).map((piece) => chunk({ reasoning_content: piece })),
    ...piecesOf(reply.text).map((content) => chunk({ content })),
    ...toolCallsOf(reply).flatMap(({ function: { name, arguments: args }, ...call }, index) => [
      chunk({ tool_calls: [{ index, ...call, function: { name, arguments: '' } }] }),
      ...piecesOf(args).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    chunk({}, finishReason(reply)),
    ...(request.usageInStream ? [frame({ ...head, choices: [], usage: usageOf(reply) })] : []),
    'data: [DONE]\n\n',
  ]
}

function frame(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`
}
