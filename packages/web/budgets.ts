import { gzipSync } from 'node:zlib'
import type { Rolldown } from 'vite'

interface Weight {
  readonly name: string
  /** Compressed. */
  readonly kilobytes: number
  readonly budget: number
}

/** What a phone fetches before the first page, and at most with any page after it. */
export function weigh(output: Rolldown.RolldownOutput['output']): Weight[] {
  const chunks = output.filter((part) => part.type === 'chunk')
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  const initial = new Set<string>()
  const visit = (name: string) => {
    const chunk = byName.get(name)
    if (!chunk || initial.has(name)) return
    initial.add(name)
    for (const next of chunk.imports) visit(next)
  }
  for (const { isEntry, fileName } of chunks) if (isEntry) visit(fileName)
  const weightOf = (names: Iterable<string>) =>
    [...names].reduce((sum, name) => sum + compressed(byName.get(name)?.code ?? ''), 0)
  const later = chunks.filter(({ fileName }) => !initial.has(fileName)).map(({ code }) => compressed(code))
  const styles = output.filter((part) => part.type === 'asset' && part.fileName.endsWith('.css'))
  const weightOfStyles = styles.reduce(
    (sum, part) => sum + (part.type === 'asset' ? compressed(part.source) : 0),
    0,
  )
  return [
    { name: 'first code', kilobytes: weightOf(initial), budget: 120 },
    { name: 'styles', kilobytes: weightOfStyles, budget: 12 },
    { name: 'largest later part', kilobytes: Math.max(0, ...later), budget: 40 },
  ].map((weight) => ({ ...weight, kilobytes: Math.round(weight.kilobytes * 10) / 10 }))
}

/** The worker that shows notices. */
export function weighWorker([{ code }]: Rolldown.RolldownOutput['output']): Weight {
  return { name: 'worker', kilobytes: Math.round(compressed(code) * 10) / 10, budget: 10 }
}

export const excessOf = (weights: readonly Weight[]) =>
  weights.filter(({ kilobytes, budget }) => kilobytes > budget)

const compressed = (content: string | Uint8Array) => gzipSync(content).length / 1000
