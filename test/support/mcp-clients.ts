import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'

/** A result of a tool as any of the clients gives it. */
interface ToolResult {
  readonly isError?: boolean
  readonly structuredContent?: Record<string, unknown>
  readonly content: readonly { readonly type: string; readonly text?: string }[]
  readonly _meta?: Record<string, unknown>
}

interface CallOptions {
  onprogress?(told: { progress: number; message?: string | undefined }): void
  signal?: AbortSignal
  /** After how many milliseconds the client gives up. */
  timeout?: number
}

export interface AnyClient {
  listTools(): Promise<string[]>
  call(name: string, args?: object, options?: CallOptions): Promise<ToolResult>
  listResources(): Promise<string[]>
  readResource(uri: string): Promise<string | undefined>
  listPrompts(): Promise<string[]>
  getPrompt(name: string, args: Record<string, string>): Promise<string>
  close(): Promise<void>
}

export type ClientKind = 'v1' | 'v1 with links' | 'v2 legacy' | 'v2' | 'v2 with links'
export const clientKinds: readonly ClientKind[] = ['v1', 'v1 with links', 'v2 legacy', 'v2', 'v2 with links']

interface Reached {
  readonly url: URL
  readonly key: string
  readonly fetch?: typeof fetch
  /** What is done with an address that is to be shown. */
  readonly onLink?: (url: string) => 'accept' | 'decline'
}

/** A client of either SDK. Those of the first are patient enough to outlive a restart of every process. */
export async function connectClient(kind: ClientKind, reached: Reached): Promise<AnyClient> {
  const client = kind.startsWith('v1')
    ? await connectFirst(kind, reached)
    : await connectSecond(kind, reached)
  return {
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}, options) => {
      const request = { name, arguments: { ...args } }
      const result =
        client instanceof Client1
          ? await client.callTool(request, undefined, options)
          : await client.callTool(request, options)
      return result as unknown as ToolResult
    },
    listResources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    readResource: async (uri) => {
      const [content] = (await client.readResource({ uri })).contents
      return content && 'text' in content ? content.text : undefined
    },
    listPrompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    getPrompt: async (name, args) => {
      const [first] = (await client.getPrompt({ name, arguments: args })).messages
      return first?.content.type === 'text' ? first.content.text : ''
    },
    close: () => client.close(),
  }
}

function optionsOf({ key, fetch }: Reached) {
  return { requestInit: { headers: { 'x-api-key': key } }, ...(fetch && { fetch }) }
}

const capabilitiesOf = (kind: ClientKind) =>
  kind.endsWith('with links') ? { elicitation: { url: {} } } : undefined

async function connectFirst(kind: ClientKind, reached: Reached): Promise<Client1> {
  const capabilities = capabilitiesOf(kind)
  const { url, onLink = () => 'accept' } = reached
  const client = new Client1({ name: 'First', version: '1' }, { capabilities: capabilities ?? {} })
  if (capabilities)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({
      action: onLink('url' in params ? params.url : ''),
    }))
  const reconnectionOptions = {
    initialReconnectionDelay: 200,
    maxReconnectionDelay: 1000,
    reconnectionDelayGrowFactor: 1.5,
    maxRetries: 60,
  }
  await client.connect(new Transport1(url, { ...optionsOf(reached), reconnectionOptions }) as Transport)
  return client
}

async function connectSecond(kind: ClientKind, reached: Reached): Promise<Client2> {
  const capabilities = capabilitiesOf(kind)
  const { url, onLink = () => 'accept' } = reached
  const negotiation = kind === 'v2 legacy' ? {} : { versionNegotiation: { mode: 'auto' as const } }
  const client = new Client2(
    { name: 'Second', version: '1' },
    { capabilities: capabilities ?? {}, ...negotiation },
  )
  if (capabilities)
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: onLink('url' in params ? String(params.url) : ''),
    }))
  await client.connect(new Transport2(url, optionsOf(reached)))
  return client
}
