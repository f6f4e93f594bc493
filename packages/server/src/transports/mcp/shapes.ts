/** The shapes of the protocol, as the official SDK has them: types only, so that ours cannot drift from them. */
export type {
  CallToolResult,
  ClientCapabilities,
  CompleteResult,
  GetPromptResult,
  InputRequests,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  ReadResourceResult,
  ServerCapabilities,
} from '@modelcontextprotocol/client'

export type RecordOf = Readonly<Record<string, unknown>>

export function isRecord(value: unknown): value is RecordOf {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
