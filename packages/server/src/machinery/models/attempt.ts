import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { type FinishReason, jsonSchema, type LanguageModel, Output, streamText } from 'ai'
import type { ModelConfig } from '#platform/model-settings.ts'
import {
  estimateInputTokens,
  estimateTokens,
  type ModelCall,
  type ModelReply,
  tokensOf,
} from './conversation.ts'
import { ModelError } from './failure.ts'
import { providerMessages, providerTools } from './messages.ts'
import type { ReadObject } from './output.ts'

export interface Attempt {
  model: LanguageModel
  modelId: string
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
  const { modelId, call, silenceMs, readObject } = attempt
  const silence = watchSilence(silenceMs)
  const reply: ModelReply = {
    model: modelId,
    text: '',
    reasoning: '',
    toolCalls: [],
    usage: noUsage,
    stop: 'other',
  }
  let isWhole = false
  const progress = countProgress(call)
  // The provider bills what it is sent, also when nobody waits for the first word of its answer.
  await call.onProgress?.({ inputTokens: estimateInputTokens(call), outputTokens: 0 })
  try {
    for await (const part of openStream(attempt, AbortSignal.any([call.signal, silence.signal]))) {
      silence.heard()
      if (part.type === 'error') throw part.error
      if (part.type === 'abort') break
      // A connection that ends early but in order looks like the end of a reply, except for this.
      if (part.type === 'finish-step') isWhole = part.rawFinishReason !== undefined
      progress(part)
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
    messages: providerMessages(call.messages, call.tools),
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
    case 'text-delta': {
      const text = storable(part.text)
      reply.text += text
      onText(text)
      break
    }
    case 'reasoning-start':
      call.onThinking?.()
      break
    case 'reasoning-delta':
      reply.reasoning += storable(part.text)
      break
    case 'tool-call':
      reply.toolCalls.push({ id: part.toolCallId, name: part.toolName, input: storableJson(part.input) })
      break
    case 'finish-step':
      reply.stop = stopOf(part.finishReason)
      reply.usage = usageOf(call, reply, part.usage)
      break
  }
}

/** A model may write the one character that PostgreSQL keeps in no text; what it is part of must not be lost for it. */
const storable = (text: string) => text.replaceAll('\0', '\ufffd')

function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storable(value)
  if (Array.isArray(value)) return value.map(storableJson)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [storable(name), storableJson(one)]))
}

/** Everything that a model writes is counted, also what nobody is told as it comes. */
function countProgress(call: ModelCall): (part: Part) => void {
  const { onProgress } = call
  if (!onProgress) return () => {}
  const inputTokens = estimateInputTokens(call)
  let letters = 0
  return (part) => {
    if (part.type === 'text-delta' || part.type === 'reasoning-delta') letters += part.text.length
    else if (part.type === 'tool-input-delta') letters += part.delta.length
    else return
    void onProgress({ inputTokens, outputTokens: tokensOf(letters) })
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
