import { parse } from 'yaml'
import { ApiError } from '#operations/errors.ts'

/** The head of a SKILL.md in the open Agent Skills format. */
export interface SkillFile {
  name: string
  description: string
  /** The whole text, head included, as an agent reads it. */
  text: string
  allowedTools: string[]
  /** What a person must have allowed for it to work, as far as it says so. */
  scopes: string[]
  metadata: Record<string, unknown>
}

const headPattern = /^---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/
const namePattern = /^[a-z0-9]+(-[a-z0-9]+)*$/
const headLength = 20_000

export function readSkillFile(bytes: Buffer): SkillFile {
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  const head = headPattern.exec(text)?.[1]
  if (head === undefined) throw refusal('must begin with front matter between two lines of ---')
  const fields = parseHead(head)
  const { name, description, metadata } = fields
  if (typeof name !== 'string' || name.length > 64 || !namePattern.test(name)) {
    throw refusal('name must be 1 to 64 lower-case letters, digits and single hyphens')
  }
  if (typeof description !== 'string' || description.trim() === '' || description.length > 1024) {
    throw refusal('description must be 1 to 1024 characters')
  }
  return {
    name,
    description,
    text,
    allowedTools: wordList(fields['allowed-tools']),
    scopes: wordList(asRecord(metadata)['scopes']),
    metadata: asRecord(metadata),
  }
}

function parseHead(head: string): Record<string, unknown> {
  if (head.length > headLength) throw refusal('the front matter is too long')
  const { stackTraceLimit } = Error
  try {
    // Every comma too many is an error of its own, and where it was made would cost ten times what it says.
    Error.stackTraceLimit = 0
    // No aliases: a few lines of them unfold to gigabytes. No warnings: those go to the process, one for each tag.
    return asRecord(parse(head, { maxAliasCount: 0, schema: 'core', prettyErrors: false, logLevel: 'error' }))
  } catch {
    throw refusal('the front matter is not readable YAML')
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}

function wordList(value: unknown): string[] {
  if (typeof value === 'string') return value.split(/[\s,]+/).filter(Boolean)
  return Array.isArray(value) ? value.filter((word) => typeof word === 'string') : []
}

function refusal(message: string): ApiError {
  return new ApiError('INVALID_INPUT', { message: `SKILL.md: ${message}` })
}
