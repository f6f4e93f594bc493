import type { Turn } from './redact.ts'

type Fields = Readonly<Record<string, unknown>>

/** What a payload says in words: its blocks of text, else the field that commonly has it, else all of it as JSON. */
export function textOfTurn({ payload }: Pick<Turn, 'payload'>): string {
  const fields = fieldsOf(payload)
  const blocks = blocksOf(fields)
  const said = blocks.map(textOfBlock).filter((text) => text !== '')
  if (said.length > 0) return said.join('\n')
  for (const name of ['text', 'message', 'output', 'summary', 'input', 'label', 'code', 'content']) {
    const value = fields[name]
    if (typeof value === 'string' && value !== '') return value
  }
  return JSON.stringify(payload)
}

export function toolOfTurn({ payload }: Pick<Turn, 'payload'>): { name: string; id: string | undefined } {
  const fields = fieldsOf(payload)
  return {
    name: firstText(fields, ['name', 'tool', 'label']) ?? 'tool',
    id: firstText(fields, ['toolUseId', 'id', 'callId']),
  }
}

export function isFailedResult({ payload }: Pick<Turn, 'payload'>): boolean {
  return fieldsOf(payload)['isError'] === true
}

export interface MentionedFile {
  readonly name: string
  readonly url: string | undefined
  readonly artifactId: string | undefined
}

/** Files that a turn hands over, with where they can be had. */
export function filesOfTurn({ payload }: Pick<Turn, 'payload'>): MentionedFile[] {
  return blocksOf(fieldsOf(payload)).flatMap((block) => {
    const name = block['type'] === 'file' ? firstText(block, ['name', 'path']) : undefined
    return name === undefined
      ? []
      : [{ name, url: firstText(block, ['url']), artifactId: firstText(block, ['artifactId']) }]
  })
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

export function firstText(fields: Fields, names: readonly string[]): string | undefined {
  const values = names.map((name) => fields[name])
  return values.find((value): value is string => typeof value === 'string' && value !== '')
}

function blocksOf(fields: Fields): Fields[] {
  const content = fields['content']
  return Array.isArray(content) ? content.map(fieldsOf) : []
}

function textOfBlock(block: Fields): string {
  if (block['type'] === 'file') return `File: ${firstText(block, ['name', 'path']) ?? 'without a name'}`
  return firstText(block, ['text']) ?? ''
}
