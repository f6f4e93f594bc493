import { createHash } from 'node:crypto'
import type { ExportedTrace, TraceWriter } from './export-writer.ts'
import { type Counts, payloadText, type Turn } from './redact.ts'
import { fieldsOf, firstText, isFailedResult, textOfTurn, toolOfTurn } from './turn-text.ts'

/** The names of spans and attributes for generative AI are still in development: this is the version meant here. */
const schemaUrl = 'https://opentelemetry.io/schemas/1.38.0'
const spanKind = { internal: 1, client: 3 } as const
const statusCode = { unset: 0, error: 2 } as const
/** Calls that wait for their result. More than these are written as they are. */
const mostOpenCalls = 128

type Value = string | number | boolean
type Attributes = Record<string, Value | undefined>

interface Span {
  readonly seq: number
  readonly name: string
  readonly kind: number
  readonly from: string
  readonly to: string
  readonly attributes: Attributes
  readonly failed?: boolean
}

/**
 * OTLP as JSON, one ExportTraceServiceRequest. Its ids follow from the lineage, the trace and the turn's number: exported
 * twice, even in part, it is the same spans. The span of the whole comes last, when its end and its counts are known.
 */
export class OtlpWriter implements TraceWriter {
  readonly #content: boolean
  readonly #open = new Map<string, Turn>()
  #trace: ExportedTrace | undefined
  #previousAt = ''
  #failed = false

  constructor(content: boolean) {
    this.#content = content
  }

  begin(trace: ExportedTrace): string {
    this.#trace = trace
    this.#previousAt = trace.startedAt
    const resource = { attributes: toAttributes({ 'service.name': 'guildhall' }) }
    const scope = { name: 'guildhall.traces' }
    const head = `{"resourceSpans":[{"resource":${JSON.stringify(resource)},"schemaUrl":"${schemaUrl}",`
    return `${head}"scopeSpans":[{"scope":${JSON.stringify(scope)},"schemaUrl":"${schemaUrl}","spans":[\n`
  }

  turn(turn: Turn): string {
    const spans = this.#spansOf(turn)
    this.#previousAt = turn.at
    if (turn.type === 'error') this.#failed = true
    return spans.map((span) => `${this.#print(span)},\n`).join('')
  }

  end(counts: Counts | undefined): string {
    const unanswered = [...this.#open.values()].map((call) => `${this.#print(this.#toolSpan(call))},\n`)
    const { startedAt, lastActivityAt, actor, traceKey, id, totalCost, status, title } = this.#begun()
    const root: Span = {
      seq: 0,
      name: `invoke_agent ${actor.agentSlug ?? 'agent'}`,
      kind: spanKind.internal,
      from: startedAt,
      to: [lastActivityAt, this.#previousAt].toSorted().at(-1) ?? lastActivityAt,
      failed: this.#failed || status === 'failed',
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.conversation.id': traceKey,
        'gen_ai.agent.name': actor.agentSlug ?? undefined,
        'guildhall.trace.id': id,
        'guildhall.trace.status': status,
        'guildhall.trace.title': this.#content ? title : undefined,
        'guildhall.cost.ds': totalCost,
        ...Object.fromEntries(
          Object.entries(counts ?? {}).map(([kind, count]) => [`guildhall.redactions.${kind}`, count]),
        ),
      },
    }
    return `${unanswered.join('')}${this.#print(root)}\n]}]}]}\n`
  }

  #spansOf(turn: Turn): Span[] {
    if (turn.type === 'tool.call') return this.#holdCall(turn)
    if (turn.type === 'tool.result') return [this.#endCall(turn)]
    return [turn.type === 'agent.text' ? this.#chatSpan(turn) : this.#plainSpan(turn)]
  }

  #holdCall(turn: Turn): Span[] {
    const { id } = toolOfTurn(turn)
    if (id === undefined) return [this.#toolSpan(turn)]
    const replaced = this.#open.get(id)
    this.#open.delete(id)
    this.#open.set(id, turn)
    if (replaced) return [this.#toolSpan(replaced)]
    const [[oldestId, oldest] = []] = this.#open
    if (this.#open.size <= mostOpenCalls || oldestId === undefined || !oldest) return []
    this.#open.delete(oldestId)
    return [this.#toolSpan(oldest)]
  }

  #endCall(result: Turn): Span {
    const { id } = toolOfTurn(result)
    const call = id === undefined ? undefined : this.#open.get(id)
    if (!call || id === undefined) return this.#plainSpan(result)
    this.#open.delete(id)
    return this.#toolSpan(call, result)
  }

  #toolSpan(call: Turn, result?: Turn): Span {
    const { name, id } = toolOfTurn(call)
    return {
      seq: call.seq,
      name: `execute_tool ${name}`,
      kind: spanKind.internal,
      from: call.at,
      to: result?.at ?? call.at,
      failed: result !== undefined && isFailedResult(result),
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.call.id': id,
        'gen_ai.tool.call.arguments': this.#content ? payloadText(call) : undefined,
        'gen_ai.tool.call.result': this.#content && result ? payloadText(result) : undefined,
        ...attribution(call),
      },
    }
  }

  /** From what came before it: nothing else is known of when the model was asked. */
  #chatSpan(turn: Turn): Span {
    const fields = fieldsOf(turn.payload)
    const usage = fieldsOf(fields['usage'])
    const model = firstText(fields, ['model'])
    const parts = [{ type: 'text', content: textOfTurn(turn) }]
    return {
      seq: turn.seq,
      name: model === undefined ? 'chat' : `chat ${model}`,
      kind: spanKind.client,
      from: this.#previousAt,
      to: turn.at,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': firstText(fields, ['provider']),
        'gen_ai.request.model': model,
        'gen_ai.usage.input_tokens': count(usage['input_tokens']),
        'gen_ai.usage.output_tokens': count(usage['output_tokens']),
        'gen_ai.output.messages': this.#content ? JSON.stringify([{ role: 'assistant', parts }]) : undefined,
        ...attribution(turn),
      },
    }
  }

  #plainSpan(turn: Turn): Span {
    return {
      seq: turn.seq,
      name: turn.type,
      kind: spanKind.internal,
      from: turn.at,
      to: turn.at,
      failed: turn.type === 'error',
      attributes: {
        'guildhall.turn.payload': this.#content ? payloadText(turn) : undefined,
        ...attribution(turn),
      },
    }
  }

  #print({ seq, name, kind, from, to, attributes, failed }: Span): string {
    const { traceKey, id } = this.#begun()
    return JSON.stringify({
      traceId: digest(traceKey, 16),
      spanId: digest(`${traceKey}\n${id}\n${seq}`, 8),
      ...(seq === 0 ? {} : { parentSpanId: digest(`${traceKey}\n${id}\n0`, 8) }),
      name,
      kind,
      startTimeUnixNano: nanoseconds(from > to ? to : from),
      endTimeUnixNano: nanoseconds(to),
      attributes: toAttributes({ ...attributes, ...(seq === 0 ? {} : { 'guildhall.turn.seq': seq }) }),
      status: { code: failed ? statusCode.error : statusCode.unset },
    })
  }

  #begun(): ExportedTrace {
    if (!this.#trace) throw new Error('begin comes first')
    return this.#trace
  }
}

function attribution({ actorAgentSlug, origin }: Turn): Attributes {
  return { 'gen_ai.agent.name': actorAgentSlug ?? undefined, 'guildhall.turn.origin': origin }
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? (value as number) : undefined
}

function toAttributes(values: Attributes) {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: toAnyValue(value) }],
  )
}

/** Whole numbers are 64 bits wide and therefore texts. */
function toAnyValue(value: Value) {
  if (typeof value === 'string') return { stringValue: value.toWellFormed() }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

/** Hexadecimal, as OTLP has ids in JSON; other bytes are base64 there. */
function digest(text: string, bytes: number): string {
  return createHash('sha256')
    .update(text)
    .digest('hex')
    .slice(0, bytes * 2)
}

function nanoseconds(at: string): string {
  return `${Date.parse(at)}000000`
}
