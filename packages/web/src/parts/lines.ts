/** A line of what was received: of a change, of a value with its name, or as it is. */
export interface Line {
  readonly kind: 'plain' | 'added' | 'removed' | 'head' | 'pair'
  readonly name?: string
  readonly text: string
}

export const linesShown = 40
/** A word without end is many lines on a phone, and is counted so. */
const charactersInLine = 400

export function textLines(text: string, kind: Line['kind'] = 'plain'): Line[] {
  return text.split('\n').flatMap((line) => chunksOf(line).map((chunk) => ({ kind, text: chunk })))
}

export function diffLines(diff: string): Line[] {
  return diff.split('\n').flatMap((line) => {
    if (line.startsWith('+++') || line.startsWith('---') || line.startsWith('@@'))
      return textLines(line, 'head')
    if (line.startsWith('+')) return textLines(line.slice(1), 'added')
    if (line.startsWith('-')) return textLines(line.slice(1), 'removed')
    return textLines(line.startsWith(' ') ? line.slice(1) : line)
  })
}

/** An object by its names; anything else as JSON. */
export function valueLines(value: unknown): Line[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return textLines(jsonOf(value))
  return Object.entries(value).flatMap(([name, each]) => {
    const text = typeof each === 'string' ? each : jsonOf(each)
    return textLines(text, 'pair').map((line, index) => ({ ...line, name: index === 0 ? name : '' }))
  })
}

export const jsonOf = (value: unknown) => JSON.stringify(value, undefined, 2) ?? ''

function chunksOf(line: string): string[] {
  const chunks: string[] = []
  for (let at = 0; at < line.length; at += charactersInLine)
    chunks.push(line.slice(at, at + charactersInLine))
  return chunks.length > 0 ? chunks : ['']
}
