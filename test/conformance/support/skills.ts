import { must, newVisitor } from './actors.ts'
import type { Answer, Caller, SendOptions } from './client.ts'

export interface Skill {
  slug: string
  name: string
  description: string
  category: string
  prompt: string
  contentChecksum: string
  versionNumber: number
}

interface Version {
  versionNumber: number
  contentChecksum: string
  prompt: string
  note: string | null
  active: boolean
}

export function skillText(instruction = 'Tidy up.'): string {
  return `---\nname: tidy\ndescription: Tidies up when asked to.\n---\n${instruction}\n`
}

/** A skill brought in as files; tells its id. */
export async function newArtifact(
  caller: Caller,
  content = skillText(),
  options?: SendOptions,
): Promise<string> {
  const body = { type: 'skill', files: [{ path: 'SKILL.md', content }] }
  return must(await caller.post<{ id: string }>('/artifacts', body, options), 201).id
}

export function install(caller: Caller, slug: string, body?: unknown): Promise<Answer<Skill>> {
  return caller.post<Skill>(`/skills/${slug}/install`, body)
}

/** Makes a version of a skill with this instruction. */
export async function installText(caller: Caller, slug: string, instruction?: string): Promise<Skill> {
  const artifactId = await newArtifact(caller, skillText(instruction))
  return must(await install(caller, slug, { artifactId }), 200)
}

export async function listSkills(caller: Caller): Promise<Skill[]> {
  return must(await caller.get<Skill[]>('/skills'), 200)
}

export async function listVersions(caller: Caller, slug: string): Promise<Version[]> {
  return must(await caller.get<Version[]>(`/skills/${slug}/versions`), 200)
}

/** Something that the catalog has. */
export async function someCatalogSlug(): Promise<string> {
  const [first] = must(await newVisitor().get<{ slug: string }[]>('/marketplace/skills?limit=1'), 200)
  if (!first) throw new Error('The catalog is empty')
  return first.slug
}
