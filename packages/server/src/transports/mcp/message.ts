import type { IncomingHttpHeaders } from 'node:http'
import { type ClientCapabilities, isRecord, type RecordOf } from './shapes.ts'

const modernVersion = '2026-07-28'
export const legacyVersions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26']
export const supportedVersions = [modernVersion, ...legacyVersions]
/** What a client means that names no version. */
const oldestVersion = '2025-03-26'

/** Names of the protocol's own facts in `_meta`. */
export const metaName = (name: string) => `io.modelcontextprotocol/${name}`

export const rpcCodes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const

interface RpcErrorOptions {
  readonly status?: number
  readonly data?: unknown
  /** Whose answer this is; undefined when it cannot be told. */
  readonly id?: RequestId
}

/** A refusal in the words of the protocol. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly status: number
  readonly data: unknown
  readonly id: RequestId | undefined

  constructor(
    code: keyof typeof rpcCodes,
    message: string,
    { status = 200, data, id }: RpcErrorOptions = {},
  ) {
    super(message)
    this.code = rpcCodes[code]
    this.status = status
    this.data = data
    this.id = id
  }
}

export type RequestId = string | number

/** Kept for as long as a request lasts, and told with each word of it. */
const mostIdLength = 256

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' ? value.length <= mostIdLength : Number.isSafeInteger(value)
}

export interface RpcRequest {
  readonly kind: 'request'
  readonly era: 'modern' | 'legacy'
  readonly id: RequestId
  readonly method: string
  readonly params: RecordOf
  readonly meta: RecordOf
  /** Of a legacy request only what its header says; the handshake may have said more. */
  readonly version: string
  /** Of a modern request; a legacy client has said so at its handshake. */
  readonly capabilities: ClientCapabilities
  readonly clientName: string | undefined
}

export type Message =
  | RpcRequest
  | { readonly kind: 'notification'; readonly method: string; readonly params: RecordOf }
  | { readonly kind: 'reply'; readonly id: RequestId; readonly result: unknown; readonly failed: boolean }

/** Which parameter the header `Mcp-Name` repeats. */
const named: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** What is said, or a refusal: the first rung of the ladder that does not hold answers. */
export function readMessage(body: unknown, headers: IncomingHttpHeaders): Message {
  if (!isRecord(body) || body['jsonrpc'] !== '2.0')
    throw new RpcError('invalidRequest', 'Send one JSON-RPC 2.0 message at a time; batches are not taken', {
      status: 400,
    })
  const { id, method } = body
  if (id !== undefined && !isRequestId(id))
    throw new RpcError(
      'invalidRequest',
      `id: must be an integer or a string of at most ${mostIdLength} characters`,
      { status: 400 },
    )
  const requestId: RequestId | undefined = id
  if (method === undefined && requestId !== undefined && ('result' in body || 'error' in body))
    return { kind: 'reply', id: requestId, result: body['result'], failed: 'error' in body }
  const answered = requestId === undefined ? {} : { id: requestId }
  if (typeof method !== 'string')
    throw new RpcError('invalidRequest', 'method: must be a string', { status: 400, ...answered })
  const params = body['params'] ?? {}
  if (!isRecord(params))
    throw new RpcError('invalidParams', 'params: must be an object', { status: 400, ...answered })
  if (requestId === undefined) return { kind: 'notification', method, params }
  return readRequest(requestId, method, params, headers)
}

function readRequest(
  id: RequestId,
  method: string,
  params: RecordOf,
  headers: IncomingHttpHeaders,
): RpcRequest {
  const meta = isRecord(params['_meta']) ? params['_meta'] : {}
  const token = meta['progressToken']
  if (typeof token === 'string' && !isRequestId(token))
    throw new RpcError('invalidParams', `_meta.progressToken: at most ${mostIdLength} characters`, {
      status: 400,
      id,
    })
  const said = textOf(headers['mcp-protocol-version'])
  const version = meta[metaName('protocolVersion')]
  const isLegacy = version === undefined && (said === undefined || legacyVersions.includes(said))
  const shared = { kind: 'request', id, method, params, meta } as const
  if (isLegacy || (version === undefined && said === '2024-11-05')) {
    if (said !== undefined && !legacyVersions.includes(said)) throw unsupported(said, id)
    return {
      ...shared,
      era: 'legacy',
      version: said ?? oldestVersion,
      capabilities: {},
      clientName: undefined,
    }
  }
  const capabilities = meta[metaName('clientCapabilities')]
  const refuse = (code: keyof typeof rpcCodes, message: string) =>
    new RpcError(code, message, { status: 400, id })
  if (said === undefined) throw refuse('headerMismatch', 'Send the header MCP-Protocol-Version')
  if (typeof version !== 'string' || !isRecord(capabilities))
    throw refuse('invalidParams', 'params._meta: needs protocolVersion and clientCapabilities')
  if (said !== version)
    throw refuse('headerMismatch', 'The header MCP-Protocol-Version is not the version in _meta')
  if (version !== modernVersion) throw unsupported(version, id)
  if (textOf(headers['mcp-method']) !== method)
    throw refuse('headerMismatch', 'The header Mcp-Method must name the method')
  const name = named.get(method)
  if (name !== undefined && decodeName(textOf(headers['mcp-name'])) !== params[name])
    throw refuse('headerMismatch', `The header Mcp-Name must be params.${name}`)
  const clientInfo = meta[metaName('clientInfo')]
  const clientName = isRecord(clientInfo) ? clientInfo['name'] : undefined
  return {
    ...shared,
    era: 'modern',
    version,
    capabilities,
    clientName: typeof clientName === 'string' ? clientName : undefined,
  }
}

function unsupported(requested: string, id: RequestId): RpcError {
  return new RpcError('unsupportedVersion', 'Unsupported protocol version', {
    status: 400,
    id,
    data: { supported: supportedVersions, requested: requested.slice(0, 64) },
  })
}

/** A header holds no more than ASCII; what does not fit comes as `=?base64?…?=`. */
function decodeName(header: string | undefined): string | undefined {
  const coded = header === undefined ? undefined : /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(header)?.[1]
  return coded === undefined ? header : Buffer.from(coded, 'base64').toString()
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined
}
