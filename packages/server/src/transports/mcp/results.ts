import {
  type CalledMethod,
  type Catalogue,
  type ConstantMethod,
  InputRequired,
  type Method,
} from './catalogue.ts'
import type { Exchange } from './exchange.ts'
import { metaName, RpcError, type RpcRequest } from './message.ts'
import { type ClientCapabilities, isRecord, type RecordOf } from './shapes.ts'

/** What a method gave, as its client's revision wants it. */
export function resultOf(
  catalogue: Catalogue,
  method: CalledMethod,
  exchange: Exchange,
  result: RecordOf | InputRequired,
): RecordOf {
  const { request } = exchange
  if (!(result instanceof InputRequired)) return completed(catalogue, method, request.era, result)
  if (request.era === 'legacy') return {}
  requireCapabilities(request, result)
  return {
    resultType: 'input_required',
    ...(result.requests && { inputRequests: result.requests }),
    ...(result.state !== undefined && { requestState: exchange.sealState(result.state) }),
    _meta: signature(catalogue),
  }
}

function completed(
  catalogue: Catalogue,
  { caching }: Method,
  era: RpcRequest['era'],
  result: RecordOf,
): RecordOf {
  if (era === 'legacy') return result
  const own = isRecord(result['_meta']) ? result['_meta'] : {}
  return { resultType: 'complete', ...result, ...caching, _meta: { ...own, ...signature(catalogue) } }
}

const signature = ({ serverInfo }: Catalogue): RecordOf => ({ [metaName('serverInfo')]: serverInfo })

/** Results that never change, as text: they are most of what clients ask when they connect. */
const constantTexts = { modern: new WeakMap<Method, string>(), legacy: new WeakMap<Method, string>() }

export function constantMessage(
  catalogue: Catalogue,
  method: ConstantMethod,
  { id, era }: RpcRequest,
): string {
  const texts = constantTexts[era]
  const text = texts.get(method) ?? JSON.stringify(completed(catalogue, method, era, method.constant))
  texts.set(method, text)
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`
}

const neededFor: ReadonlyMap<string, ClientCapabilities> = new Map<string, ClientCapabilities>([
  ['elicitation/create', { elicitation: {} }],
  ['roots/list', { roots: {} }],
  ['sampling/createMessage', { sampling: {} }],
])

function requireCapabilities({ id, capabilities }: RpcRequest, { requests = {} }: InputRequired): void {
  for (const { method, params } of Object.values<{ method: string; params?: unknown }>(requests)) {
    const isUrl = isRecord(params) && params['mode'] === 'url'
    const needed: ClientCapabilities = isUrl ? { elicitation: { url: {} } } : (neededFor.get(method) ?? {})
    if (!lacks(needed, capabilities)) continue
    throw missingCapability(id, needed)
  }
}

export function missingCapability(id: RpcRequest['id'], needed: RecordOf): RpcError {
  return new RpcError('missingCapability', 'The client lacks a capability that this needs', {
    status: 400,
    id,
    data: { requiredCapabilities: needed },
  })
}

function lacks(needed: unknown, held: unknown): boolean {
  if (!isRecord(needed)) return false
  if (!isRecord(held)) return true
  return Object.keys(needed).some((name) => !Object.hasOwn(held, name) || lacks(needed[name], held[name]))
}

export function resultMessage({ id }: Pick<RpcRequest, 'id'>, result: RecordOf): RecordOf {
  return { jsonrpc: '2.0', id, result }
}

export function errorMessage({ code, message, data, id: own }: RpcError, id = own): RecordOf {
  return {
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    error: { code, message, ...(data !== undefined && { data }) },
  }
}
