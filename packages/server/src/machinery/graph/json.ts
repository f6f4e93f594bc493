export interface JsonRecord {
  readonly [key: string]: unknown
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An own property or undefined: names that every object inherits are never visible. */
export function own(record: JsonRecord, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined
}

/** The size as JSON text in UTF-8; infinite for what no text can hold, as a value nested too deep for the stack. */
export function jsonBytes(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value) ?? 'null')
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** Walks with a list of its own and not the stack, since this is what keeps recursive code safe. */
export function isNestedWithin(value: unknown, maxDepth: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return false
    const next: unknown[] = []
    for (const item of level) {
      if (typeof item === 'object' && item !== null) for (const child of Object.values(item)) next.push(child)
    }
    level = next
  }
  return true
}

/** One more segment of a dotted path; a hostile key does not make the path long. */
export function joinPath(path: string, key: string | number): string {
  const text = String(key)
  const segment = text.length > 128 ? `${text.slice(0, 127)}…` : text
  return path === '' ? segment : `${path}.${segment}`
}
