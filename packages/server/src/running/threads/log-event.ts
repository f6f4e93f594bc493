/** What a thread's log says, as the fold reads it. Fields that it does not know, or that are not as told, count for nothing. */
export interface LogEvent {
  readonly sequence: number
  readonly type: string
  readonly runId: string | null
  readonly payload: Readonly<Record<string, unknown>>
  /** The whole of what the payload tells in part. */
  readonly output?: string
}

/** Plain text, or the texts among blocks. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((block: unknown) => (isRecord(block) && typeof block['text'] === 'string' ? block['text'] : ''))
    .filter((text) => text !== '')
    .join('\n\n')
}

export function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What a tool was given: whole where the payload has only a part of it, and a value again where it was kept as text. */
export function inputOf({ payload, output }: LogEvent): unknown {
  const given = output ?? payload['input']
  if (typeof given !== 'string') return given ?? {}
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}
