import type { InstalledSkill, MarketplaceSkill, MarketplaceSkillDetail, Skill } from '@guildhall/contract'
import { ApiError } from '#operations/errors.ts'
import { withoutSecrets } from '#platform/secrets.ts'
import type { Exchange, SkillFacts } from '../exchange.ts'
import { said, shown, type ToolHandler } from './tool.ts'

const instructionBytes = 24_576
const defaultLimit = 20

/** The library first, then the marketplace; a cursor names which of them goes on, and where. */
export const searchSkills: ToolHandler<'search_skills'> = async (args, { exchange }) => {
  const { query, where = 'both', limit = defaultLimit, cursor } = args
  const { place, offset } = readPlace(cursor, where === 'marketplace' ? 'marketplace' : 'library')
  const q = query?.trim() ? { q: query.trim() } : {}
  const items: object[] = []
  if (place === 'library') {
    const { found, next } = await searchLibrary(exchange, query ?? '', { limit, offset })
    items.push(...found.map((skill) => ({ ...shortened(skill), installed: true, origin: 'library' })))
    if (next !== undefined) return said({ items, nextCursor: `library:${next}` })
    if (where === 'library') return said({ items, nextCursor: null })
  }
  const from = place === 'marketplace' ? offset : 0
  const wanted = limit - items.length
  if (wanted === 0) return said({ items, nextCursor: 'marketplace:0' })
  const found = (await exchange.caller.perform('listMarketplaceSkills', {
    query: { ...q, limit: wanted + 1, offset: from },
  })) as readonly MarketplaceSkill[]
  const shown = found.slice(0, wanted)
  items.push(...shown.map((skill) => ({ ...shortened(skill), installed: false, origin: 'marketplace' })))
  return said({ items, nextCursor: found.length > wanted ? `marketplace:${from + wanted}` : null })
}

/** Those whose name or description has every word. */
async function searchLibrary(
  exchange: Exchange,
  query: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ found: readonly SkillFacts[]; next: number | undefined }> {
  const words = query.split(/\s+/).filter(Boolean)
  const found = await exchange.listSkills({ words, limit: limit + 1, offset })
  return { found: found.slice(0, limit), next: found.length > limit ? offset + limit : undefined }
}

function readPlace(cursor: string | undefined, first: 'library' | 'marketplace') {
  if (cursor === undefined) return { place: first, offset: 0 }
  const match = /^(library|marketplace):(\d{1,9})$/.exec(cursor)
  if (!match)
    throw new ApiError('INVALID_INPUT', { message: 'cursor: send what the page before said, or none' })
  return { place: match[1] as 'library' | 'marketplace', offset: Number(match[2]) }
}

function shortened({ slug, name, description }: Pick<Skill, 'slug' | 'name' | 'description'>) {
  return { slug, name, description: shown(description.split('\n')[0] ?? '').slice(0, 300) }
}

/** Whose words they are comes first; the instructions stand in a block of their own and are nobody's orders. */
export const getSkill: ToolHandler<'get_skill'> = async ({ slug }, { exchange }) => {
  const { skill, installed } = await findSkill(exchange, slug)
  const { name, description, category, filesCount, contentChecksum, prompt } = skill
  const facts = installed
    ? { version: (skill as Skill).versionNumber, warnings: (skill as Skill).warnings }
    : { author: (skill as MarketplaceSkillDetail).author }
  const value = {
    slug: skill.slug,
    name,
    description: shown(description),
    installed,
    category,
    filesCount,
    contentChecksum,
    ...facts,
    ...(Buffer.byteLength(prompt) > instructionBytes && {
      cut: 'The instructions are cut; read the resource',
    }),
  }
  const text = withoutSecrets(shown(Buffer.from(prompt).subarray(0, instructionBytes).toString()))
  const instructions = { type: 'text' as const, text: `Instructions of the skill (data):\n${text}` }
  const link = {
    type: 'resource_link' as const,
    uri: `skill://${slug}/SKILL.md`,
    name: 'SKILL.md',
    mimeType: 'text/markdown',
  }
  return said(value, installed ? [instructions, link] : [instructions])
}

async function findSkill(exchange: Exchange, slug: string) {
  try {
    const skill = (await exchange.caller.perform('getSkill', { params: { slug } })) as Skill
    return { skill, installed: true }
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') throw error
    const skill = await exchange.caller.perform('getMarketplaceSkill', { params: { slug } })
    return { skill: skill as MarketplaceSkillDetail, installed: false }
  }
}

export const installSkill: ToolHandler<'install_skill'> = async (args, { exchange, repeatKey }) => {
  const { slug, registry, git } = args
  const idempotencyKey = args.idempotency_key ?? repeatKey
  const { caller } = exchange
  if (!git) {
    const body = registry === undefined ? {} : { registry }
    const answer = await caller.perform('installSkill', { params: { slug }, body, idempotencyKey })
    return said(described(answer as InstalledSkill))
  }
  const { url, ref, path } = git
  const source = {
    type: 'git',
    url,
    ...(ref !== undefined && { ref }),
    ...(path !== undefined && { path }),
  }
  const answer = await caller.perform('install', { body: { source, slug, kind: 'skill' }, idempotencyKey })
  return said(described((answer as { skill: InstalledSkill }).skill))
}

function described({ slug, name, versionNumber, warnings, asksForMore }: InstalledSkill) {
  return { slug, name, versionNumber, warnings, ...(asksForMore && { asksForMore }) }
}
