/** Beyond this much of a field there is not enough room for any of it. */
const leastBytes = 16

/**
 * The beginning of a value, of the same form: long texts end in an ellipsis, and what does not fit is left out. Of the
 * outermost record the short fields are kept first, so that a long one does not hide what the others say.
 */
export function clipJson(value: unknown, mostBytes: number): unknown {
  const clipper = new Clipper(mostBytes)
  if (!isRecord(value)) return clipper.clip(value)
  const sizes = Object.entries(value).map(([name, field]) => ({ name, bytes: bytesOf(field) }))
  const clipped = new Map<string, unknown>()
  for (const { name } of sizes.sort((a, b) => a.bytes - b.bytes))
    if (clipper.takeName(name)) clipped.set(name, clipper.clip(value[name]))
  return Object.fromEntries(
    Object.keys(value)
      .filter((name) => clipped.has(name))
      .map((name) => [name, clipped.get(name)]),
  )
}

class Clipper {
  #left: number

  constructor(mostBytes: number) {
    // For the brackets around it.
    this.#left = mostBytes - 2
  }

  takeName(name: string): boolean {
    const bytes = bytesOf(name) + 2
    if (this.#left < bytes + leastBytes) return false
    this.#left -= bytes
    return true
  }

  clip(value: unknown): unknown {
    if (typeof value === 'string') return this.#clipText(value)
    if (Array.isArray(value)) return this.#clipList(value)
    if (isRecord(value)) return this.#clipRecord(value)
    this.#left -= bytesOf(value)
    return value
  }

  #clipText(text: string): string {
    const whole = bytesOf(text)
    if (whole <= this.#left) {
      this.#left -= whole
      return text
    }
    let length = Math.max(0, this.#left - 5)
    // Not between the two halves of a letter.
    const cut = () => `${text.slice(0, (text.codePointAt(length - 1) ?? 0) > 0xffff ? length - 1 : length)}…`
    while (length > 0 && bytesOf(cut()) > this.#left) length = Math.floor(length * 0.8)
    this.#left = 0
    return cut()
  }

  #clipList(list: readonly unknown[]): unknown[] {
    const kept: unknown[] = []
    this.#left -= 2
    for (const item of list) {
      if (this.#left < leastBytes) break
      this.#left -= 1
      kept.push(this.clip(item))
    }
    return kept
  }

  #clipRecord(record: Record<string, unknown>): Record<string, unknown> {
    const kept: [string, unknown][] = []
    this.#left -= 2
    for (const [name, field] of Object.entries(record)) {
      if (!this.takeName(name)) break
      kept.push([name, this.clip(field)])
    }
    return Object.fromEntries(kept)
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? 'null')
}
