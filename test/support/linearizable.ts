/** One call of a recorded history: what was asked, what came back, and between which moments. */
export interface Operation {
  readonly name: string
  readonly result: string
  readonly begun: number
  readonly ended: number
}

/** What a call must answer in a state, and the state it leaves; undefined when it cannot answer that there. */
export type Model = (state: string, operation: Operation) => string | undefined

/**
 * Whether there is an order of the calls, each somewhere between its beginning and its end, in which every answer
 * is right. Tries orders depth first and remembers which (set of calls done, state) led nowhere.
 */
export function isLinearizable(history: readonly Operation[], initial: string, model: Model): boolean {
  const operations = [...history].sort((a, b) => a.begun - b.begun)
  const everything = (1n << BigInt(operations.length)) - 1n
  const deadEnds = new Set<string>()
  const search = (done: bigint, state: string): boolean => {
    if (done === everything) return true
    const mark = `${done}:${state}`
    if (deadEnds.has(mark)) return false
    const open = operations.filter((_, index) => !(done & (1n << BigInt(index))))
    const firstEnd = Math.min(...open.map((operation) => operation.ended))
    for (const [index, operation] of operations.entries()) {
      if (done & (1n << BigInt(index)) || operation.begun > firstEnd) continue
      const next = model(state, operation)
      if (next !== undefined && search(done | (1n << BigInt(index)), next)) return true
    }
    deadEnds.add(mark)
    return false
  }
  return search(0n, initial)
}
