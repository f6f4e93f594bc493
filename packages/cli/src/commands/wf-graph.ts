import type { Output } from '../output/output.ts'
import { type Shown, say } from '../output/safe-text.ts'

type Steps = Readonly<Record<string, { status: string }>>

interface Entry {
  type?: unknown
  id?: unknown
  toolId?: unknown
  agentId?: unknown
  steps?: unknown
  step?: unknown
  predicates?: unknown
  predicate?: unknown
  loopType?: unknown
  opts?: unknown
  duration?: unknown
  date?: unknown
}

const signs: Readonly<Record<string, readonly [string, string]>> = {
  success: ['✓', '+'],
  failed: ['✗', 'x'],
  suspended: ['⏸', '!'],
  running: ['◌', '~'],
}

/** A sequence with containers one level deep: no layout is needed. */
export function drawGraph(definition: unknown, steps: Steps, out: Output): Shown[] {
  const { graph } = (definition ?? {}) as { graph?: unknown }
  if (!Array.isArray(graph)) return [say`  (no graph)`]
  return graph.flatMap((entry: Entry) => drawEntry(entry, steps, out))
}

function drawEntry(entry: Entry, steps: Steps, out: Output): Shown[] {
  const [top, middle, bottom] = out.unicode ? ['┌', '├─', '└'] : ['+', '+-', '+']
  if (entry.type === 'parallel') {
    return [
      say`  ${top} parallel`,
      ...childrenOf(entry).map((child) => say`  ${middle}${line(child, steps, out)}`),
      say`  ${bottom}`,
    ]
  }
  if (entry.type === 'conditional') {
    const predicates = Array.isArray(entry.predicates) ? entry.predicates : []
    return childrenOf(entry).flatMap((child, index) => [
      say`  ${out.sign('◆', '?')} if ${condition(predicates[index])}`,
      say`  ${bottom}${out.unicode ? '─' : '-'}${line(child, steps, out)}`,
    ])
  }
  if (entry.type === 'foreach' || entry.type === 'loop') {
    const word =
      entry.type === 'foreach' ? 'foreach' : `${String(entry.loopType)} ${condition(entry.predicate)}`
    return [say`  ${out.sign('↻', '@')} ${word} ${line((entry.step ?? {}) as Entry, steps, out)}`]
  }
  return [say`  ${line(entry, steps, out)}`]
}

function line(entry: Entry, steps: Steps, out: Output): Shown {
  const id = String(entry.id ?? '?')
  const [unicode, ascii] = signs[steps[id]?.status ?? ''] ?? ['●', 'o']
  const what = entry.toolId ?? entry.agentId ?? entry.duration ?? entry.date ?? ''
  return say`${out.sign(unicode, ascii)} ${id}  ${String(entry.type ?? '?')} ${String(what)}`
}

function condition(predicate: unknown): string {
  const text = JSON.stringify(predicate ?? null)
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}

function childrenOf({ steps }: Entry): Entry[] {
  return Array.isArray(steps) ? steps : []
}
