import type { Definition } from './draft.ts'

/** What a reader takes from the guide. */
export interface Read {
  readonly text: string
  readonly tools: readonly GuideTool[]
  readonly agents: readonly string[]
}

interface GuideTool {
  readonly id: string
  /** As the guide puts it: `{url: string, method?: …}`. */
  readonly takes: string
}

export function readGuide(text: string): Read {
  const tools = section(text, '## Tools here').flatMap((line) => {
    const [dash, id] = line.split(' ')
    return dash === '-' && id !== undefined ? [{ id, takes: line.slice(line.indexOf('{')) }] : []
  })
  const agents = section(text, '## Agents here')[0]?.split(', ') ?? []
  return { text, tools, agents }
}

function section(text: string, title: string): string[] {
  const lines = text.split('\n')
  const begin = lines.indexOf(title)
  if (begin < 0) return []
  const rest = lines.slice(begin + 1)
  const end = rest.findIndex((line) => line.startsWith('## '))
  return end < 0 ? rest : rest.slice(0, end)
}

/** The part of what is not possible that has these words in it. */
export function reasonAgainst({ text }: Read, words: string): string | undefined {
  const [said = ''] = section(text, '## Not possible: decline and say why')
  return said.split(';').find((part) => part.includes(words))
}

/** The first key that a tool must be given. */
export function firstKey({ tools }: Read, toolId: string): string | undefined {
  const takes = tools.find(({ id }) => id === toolId)?.takes ?? ''
  const [key] = takes.slice(1).split(':')
  return key?.split(',')[0]?.split('}')[0]
}

/**
 * What a definition uses that neither the guide nor a hint has shown: nobody who knows only these would have written it. A
 * guide that forgets something fails here.
 */
export function untaught(definition: Definition, { text, tools, agents }: Read, hints: string): string[] {
  const shown = text + hints
  const operators = new Set(
    [...shown.matchAll(/"op":"([^"]+)"/g)].flatMap(([, names = '']) => names.split('|')),
  )
  const found: string[] = []
  const look = (entry: unknown): void => {
    if (Array.isArray(entry)) {
      for (const part of entry) look(part)
      return
    }
    if (typeof entry !== 'object' || entry === null) return
    const { type, toolId, agentId, mapConfig, op } = entry as Record<string, unknown>
    if (typeof type === 'string' && 'id' in entry && !shown.includes(`"type":"${type}"`)) found.push(type)
    if (typeof toolId === 'string' && !tools.some(({ id }) => id === toolId)) found.push(toolId)
    if (typeof agentId === 'string' && !agents.includes(agentId)) found.push(agentId)
    if (typeof op === 'string' && !operators.has(op)) found.push(op)
    if (typeof mapConfig === 'string') {
      for (const source of Object.values(JSON.parse(mapConfig) as Record<string, object>)) {
        const [kind] = Object.keys(source)
        if (!shown.includes(`{"${kind}":`)) found.push(String(kind))
      }
      return
    }
    for (const [key, part] of Object.entries(entry)) if (!key.endsWith('Schema')) look(part)
  }
  look(definition['graph'])
  return found
}
