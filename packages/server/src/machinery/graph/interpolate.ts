import { isRecord } from './json.ts'

// biome-ignore lint/suspicious/noTemplateCurlyInString: this is the marker itself
const marker = '${workspaceId}'

/**
 * Puts the workspace into every text of the graph, values only and in one pass. A mapConfig is a text like any other:
 * a workspace id needs no escaping in JSON, so its keys, constants and templates can be replaced as text.
 */
export function interpolate(value: unknown, workspaceId: string): unknown {
  if (typeof value === 'string') return value.replaceAll(marker, () => workspaceId)
  if (Array.isArray(value)) return value.map((item) => interpolate(item, workspaceId))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, interpolate(item, workspaceId)]))
}
