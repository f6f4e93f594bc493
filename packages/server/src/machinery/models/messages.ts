import {
  jsonSchema,
  type ModelMessage as ProviderMessage,
  type Tool,
  type ToolCallPart,
  type ToolResultPart,
  tool,
} from 'ai'
import type { ModelMessage, ModelTool, ModelToolCall, ModelToolResult } from './conversation.ts'

/** Providers refuse calls and results of tools in a request that offers none: there they are told in words. */
export function providerMessages(
  messages: readonly ModelMessage[],
  tools: readonly ModelTool[],
): ProviderMessage[] {
  return (tools.length === 0 ? messages.map(inWords) : messages).map(providerMessage)
}

function inWords(message: ModelMessage): ModelMessage {
  if (message.role === 'tool') {
    const given = message.results.map(({ name, output }) => `[${name} gave:]\n${output}`)
    return { role: 'user', text: given.join('\n\n') }
  }
  if (message.role === 'user' || message.toolCalls.length === 0) return message
  const used = message.toolCalls.map(({ name, input }) => `[Used ${name}: ${JSON.stringify(input)}]`)
  const said = message.text === '' ? used : [message.text, ...used]
  return { role: 'assistant', text: said.join('\n\n'), toolCalls: [] }
}

function providerMessage(message: ModelMessage): ProviderMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: message.text }
    case 'assistant':
      return { role: 'assistant', content: [...textParts(message.text), ...message.toolCalls.map(callPart)] }
    case 'tool':
      return { role: 'tool', content: message.results.map(resultPart) }
  }
}

/** Providers refuse an empty text. */
function textParts(text: string) {
  return text === '' ? [] : [{ type: 'text' as const, text }]
}

/** Providers take objects only; what a model wrote instead goes back to it as the text it was. */
function callPart({ id, name, input }: ModelToolCall): ToolCallPart {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  return { type: 'tool-call', toolCallId: id, toolName: name, input: isObject ? input : { text: input } }
}

function resultPart({ toolCallId, name, output, isError }: ModelToolResult): ToolResultPart {
  return {
    type: 'tool-result',
    toolCallId,
    toolName: name,
    output: { type: isError ? 'error-text' : 'text', value: output },
  }
}

/** Without anything to execute: the caller does that and comes back with the results. */
export function providerTools(tools: readonly ModelTool[]): Record<string, Tool> {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      tool({ description, inputSchema: jsonSchema(inputSchema) }),
    ]),
  )
}
