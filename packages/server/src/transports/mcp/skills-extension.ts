import { parse } from 'yaml'
import type { Method } from './catalogue.ts'
import type { Exchange, SkillFacts } from './exchange.ts'
import { RpcError } from './message.ts'
import { listSkills, skillUri } from './resources.ts'
import { isRecord, type RecordOf } from './shapes.ts'

/** The official extension: hosts load the skills of the workspace as skills, and check every file by its digest. */
export const skillsExtension = 'io.modelcontextprotocol/skills'

const caching = { ttlMs: 30_000, cacheScope: 'private' } as const

export const skillMethods: readonly [string, Method][] = [
  ['skills/list', { caching, handle: list }],
  ['skills/get', { caching, handle: get }],
]

async function list(exchange: Exchange): Promise<RecordOf> {
  const { items, nextCursor } = await listSkills(exchange)
  const skills = items.flatMap((skill) => toEntry(skill) ?? [])
  return { skills, ...caching, ...(nextCursor !== undefined && { nextCursor }) }
}

async function get(exchange: Exchange): Promise<RecordOf> {
  const { id, params } = exchange.request
  const slug =
    typeof params['uri'] === 'string'
      ? /^skill:\/\/([a-z0-9-]{1,64})\/SKILL\.md$/.exec(params['uri'])?.[1]
      : undefined
  const unknown = new RpcError('invalidParams', 'Skill not found', { id })
  if (slug === undefined) throw unknown
  const [found] = await exchange.listSkills({ slug, limit: 1, offset: 0 })
  const entry = found && toEntry(found)
  if (!entry) throw unknown
  return { skill: entry, ...caching }
}

/** A skill of one file is told whole. The other files of a larger one need a scope of their own: hosts ask for them. */
function toEntry({ slug, head, filesCount, digest, sizeBytes }: SkillFacts): RecordOf | undefined {
  const frontmatter = frontmatterOf(head)
  if (!frontmatter) return undefined
  const uri = skillUri(slug)
  const isWhole = filesCount === 1 && digest !== null
  const resources = isWhole ? [{ uri, digest: `sha256:${digest}`, size: sizeBytes }] : 'dynamic'
  return { uri, frontmatter, resources }
}

/** As it stands at the head of the file; undefined where it is not what the format wants. */
function frontmatterOf(beginning: string): RecordOf | undefined {
  const head = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---/.exec(beginning)?.[1]
  if (head === undefined || head.length > 16_384) return undefined
  try {
    const value: unknown = parse(head, { maxAliasCount: 0 })
    if (!isRecord(value)) return undefined
    return typeof value['name'] === 'string' && typeof value['description'] === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
