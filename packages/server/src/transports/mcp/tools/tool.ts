import type { McpToolInput, McpToolName } from '@guildhall/contract'
import type { Metrics } from '#platform/metrics.ts'
import { withoutSecrets } from '#platform/secrets.ts'
import type { InputRequired } from '../catalogue.ts'
import type { Exchange } from '../exchange.ts'
import type { CallToolResult, RecordOf } from '../shapes.ts'
import type { TaskRef } from '../tasks.ts'

/** What the tools need beside the exchange. */
export interface ToolParts {
  readonly metrics: Metrics
  /** Where people decide. */
  readonly appUrl: string
  /** A denial of the same scope to the same key that is so young that nobody is asked again. */
  readonly findRecentDenial: (
    keyId: number,
    scope: string,
  ) => Promise<{ readonly reason: string | null } | undefined>
  /** Whom a message is for that names nobody. It is no operation: an approval that is good once is for the message. */
  readonly findAddressee: (workspaceId: string, threadId: string | undefined) => Promise<string | undefined>
}

export interface ToolUse extends ToolParts {
  readonly exchange: Exchange
  /** For an effect whose caller gave no key: a call that is sent twice after it was let through is made once. */
  readonly repeatKey: string | undefined
}

/** Work that goes on: whoever has tasks gets one, everybody else what has come of it after a while. */
export class Started {
  readonly task: TaskRef
  readonly follow: () => Promise<CallToolResult>

  constructor(task: TaskRef, follow: () => Promise<CallToolResult>) {
    this.task = task
    this.follow = follow
  }
}

export type ToolHandler<N extends McpToolName> = (
  args: McpToolInput<N>,
  use: ToolUse,
) => Promise<CallToolResult | Started | InputRequired>

export type ToolHandlers = { readonly [N in McpToolName]: ToolHandler<N> }

type Block = CallToolResult['content'][number]

/** The value, and the same as text for clients that know no structured results; more blocks stand apart. */
export function said(value: RecordOf, more: readonly Block[] = []): CallToolResult {
  const written = JSON.stringify(value)
  const text = withoutSecrets(withMarks(written))
  const structuredContent = text === written ? value : JSON.parse(text)
  return { content: [{ type: 'text', text }, ...more], structuredContent }
}

export function refusedTool(text: string, error?: RecordOf): CallToolResult {
  return {
    isError: true,
    content: [{ type: 'text', text: withoutSecrets(text) }],
    ...(error && { _meta: { 'dev.guildhall/error': error } }),
  }
}

/** Characters that show nothing, or turn the text around them, as marks that can be seen. */
export function shown(text: string): string {
  return text.replace(/[\p{Cf}\p{Zl}\p{Zp}]|(?![\n\t\r])\p{Cc}/gu, markOf)
}

/** Controls but line ends and tabs, as JSON writes those that it escapes, and what a text is hidden or turned around with. */
const hidden =
  /\\u00[01]|\\[bf]|[\x7f-\x9f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]|[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{2}/u
const hiddenOrEscape =
  /\\(?:u00[01][0-9a-f]|.)|[\x7f-\x9f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]|[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{2,}/gu

/**
 * JSON in which nothing stands that a person at the screen would not see and a model would read. Marks for less than `shown`
 * has: what agents and skills write is in every language, and some need joiners.
 */
function withMarks(json: string): string {
  if (!hidden.test(json)) return json
  return json.replace(hiddenOrEscape, (found) => {
    const [first, kind = ''] = found
    if (first !== '\\') return [...found].map(markOf).join('')
    const isControl = found.length > 2 || kind === 'b' || kind === 'f'
    return isControl ? markOf(JSON.parse(`"${found}"`)) : found
  })
}

function markOf(character: string): string {
  return `‹U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}›`
}

export const defaultWaitSeconds = 20
