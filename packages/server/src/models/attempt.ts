import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { type FinishReason, jsonSchema, type LanguageModel, Output, streamText } from 'ai'
import type { ModelConfig } from '../platform/model-settings.ts'
import { estimateInputTokens, estimateTokens, type ModelCall, type ModelReply } from './conversation.ts'
import { ModelError } from './failure.ts'
import { providerMessages, providerTools } from './messages.ts'
import type { ReadObject } from './output.ts'

export interface Attempt {
  model: LanguageModel
  call: ModelCall
  /** How long the provider may be silent. */
  silenceMs: number
  readObject: ReadObject | undefined
  onText: (delta: string) => void
}

/** Its warnings would go to the console, past the log. */
globalThis.AI_SDK_LOG_WARNINGS = false

/** A redirect would carry the key to whatever host it names. */
const fetchWithoutRedirects: typeof fetch = (input, init) => fetch(input, { ...init, redirect: 'error' })

export function languageModel(
  { id, provider, baseUrl }: ModelConfig,
  apiKey: string | undefined,
): LanguageModel {
  const settings = { baseURL: baseUrl, fetch: fetchWithoutRedirects }
  if (provider === 'anthropic') {
    if (apiKey === undefined) throw new ModelError('key_refused', { message: `No key is set up for ${id}` })
    return createAnthropic({ ...settings, apiKey })(id)
  }
  const compatible = createOpenAICompatible({
    ...settings,
    name: provider,
    includeUsage: true,
    supportsStructuredOutputs: true,
    ...(apiKey === undefined ? {} : { apiKey }),
  })
  return compatible(id)
}

/** Asks once. Whatever goes wrong is thrown as it came. */
export async function attemptCall(attempt: Attempt): Promise<ModelReply> {
  const { call, silenceMs, readObject } = attempt
  const silence = watchSilence(silenceMs)
  const reply: ModelReply = { text: '', reasoning: '', toolCalls: [], usage: noUsage, stop: 'other' }
  let isWhole = false
  try {
    for await (const part of openStream(attempt, AbortSignal.any([call.signal, silence.signal]))) {
      silence.heard()
      if (part.type === 'error') throw part.error
      if (part.type === 'abort') break
      // A connection that ends early but in order looks like the end of a reply, except for this.
      if (part.type === 'finish-step') isWhole = part.rawFinishReason !== undefined
      take(part, reply, attempt)
    }
  } finally {
    silence.stop()
  }
  call.signal.throwIfAborted()
  if (!isWhole) throw new ModelError('network')
  if (readObject && reply.stop !== 'tools') Object.assign(reply, readObject(reply.text))
  return reply
}

function openStream({ model, call }: Attempt, abortSignal: AbortSignal) {
  const { stream } = streamText({
    model,
    ...(call.system === '' ? {} : { system: call.system }),
    messages: providerMessages(call.messages),
    tools: providerTools(call.tools),
    maxOutputTokens: call.maxOutputTokens,
    abortSignal,
    maxRetries: 0,
    // Strict mode takes only some schemas; ours are checked when the reply is here.
    providerOptions: { openaiCompatible: { strictJsonSchema: false } },
    ...(call.outputSchema ? { output: Output.object({ schema: jsonSchema(call.outputSchema) }) } : {}),
    // Errors come as parts of the stream; the default handler would print them, conversation and all.
    onError: () => {},
  })
  return stream
}

type Part = ReturnType<typeof openStream> extends AsyncIterable<infer P> ? P : never

function take(part: Part, reply: ModelReply, { call, onText }: Attempt): void {
  switch (part.type) {
    case 'text-delta':
      reply.text += part.text
      onText(part.text)
      break
    case 'reasoning-start':
      call.onThinking?.()
      break
    case 'reasoning-delta':
      reply.reasoning += part.text
      break
    case 'tool-call':
      reply.toolCalls.push({ id: part.toolCallId, name: part.toolName, input: part.input })
      break
    case 'finish-step':
      reply.stop = stopOf(part.finishReason)
      reply.usage = usageOf(call, reply, part.usage)
      break
  }
}

/**
 * Its signal is aborted when nothing was heard for so long. The timeouts of the library begin with the answer's
 * first byte, and some answers never come that far.
 */
function watchSilence(silenceMs: number) {
  const broken = new AbortController()
  const timer = setTimeout(() => broken.abort(), silenceMs)
  return { signal: broken.signal, heard: () => void timer.refresh(), stop: () => clearTimeout(timer) }
}

const noUsage = { inputTokens: 0, outputTokens: 0 }

function usageOf(
  call: ModelCall,
  { text, reasoning, toolCalls }: ModelReply,
  told: { inputTokens: number | undefined; outputTokens: number | undefined },
) {
  return {
    inputTokens: told.inputTokens ?? estimateInputTokens(call),
    outputTokens: told.outputTokens ?? estimateTokens(text + reasoning + JSON.stringify(toolCalls)),
  }
}

function stopOf(reason: FinishReason): ModelReply['stop'] {
  if (reason === 'stop') return 'end'
  if (reason === 'tool-calls') return 'tools'
  return reason === 'length' ? 'length' : 'other'
}
