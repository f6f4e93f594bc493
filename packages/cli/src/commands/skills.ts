import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Guildhall, InstalledSkill, MarketplaceSkill, Skill, SkillVersion } from '@guildhall/sdk'
import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import type { Column } from '../output/columns.ts'
import { ago } from '../output/duration.ts'
import { block, bold, green, joined, red, type Shown, say } from '../output/safe-text.ts'
import { confirm } from '../prompt.ts'
import { bundleFolder, isFolder, placeFor, saveFile } from './files.ts'
import { pageOf } from './lists.ts'

export const search: Handler = async (context) => {
  const { input, out, signal } = context
  const category = input.text('category')
  const query = input.rest('WORDS').join(' ')
  const pager = (await context.client()).marketplace.search(
    { ...(query !== '' && { search: query }), ...(category !== undefined && { category }) },
    { signal },
  )
  out.list(
    await pageOf(input, pager),
    marketColumns,
    say`Nothing fits. All of them: guild skills search --all`,
  )
  return exit.done
}

const marketColumns: readonly Column<MarketplaceSkill>[] = [
  { head: 'SLUG', cell: ({ slug }) => slug },
  { head: 'CATEGORY', cell: ({ category }) => category },
  { head: 'DESCRIPTION', cell: ({ description }) => description, wide: true },
]

const columns: readonly Column<Skill>[] = [
  { head: 'SLUG', cell: ({ slug }) => slug },
  { head: 'VERSION', cell: ({ versionNumber }) => versionNumber },
  { head: 'FROM', cell: ({ repository, bundleType }) => repository ?? bundleType, wide: true },
  { head: 'WARNINGS', cell: ({ warnings }) => warnings.map(({ code }) => code).join(' ') || undefined },
]

export const list: Handler = async (context) => {
  const { input, out, signal } = context
  const pager = (await context.client()).skills.list({ limit: 100 }, { signal })
  out.list(await pageOf(input, pager), columns, say`No skill is installed. Next: guild skills search`)
  return exit.done
}

export const show: Handler = async (context) => {
  const { input, out, signal } = context
  const slug = input.argument('SLUG')
  const client = await context.client()
  if (input.has('marketplace')) {
    const found = await client.marketplace.get(slug, { signal })
    out.document(found, () => [
      say`${bold(found.slug)}  ${found.name}  ${found.version}  by ${found.author}`,
      say`${found.description}`,
      ...(input.has('prompt') ? [say``, block(found.prompt)] : []),
    ])
    return exit.done
  }
  const skill = await client.skills.get(slug, { signal })
  out.document(skill, () => described(skill, input.has('prompt')))
  return exit.done
}

function described(skill: Skill, whole: boolean): Shown[] {
  const head = skill.prompt.split('\n').slice(0, whole ? undefined : 12)
  return [
    say`${bold(skill.slug)}  ${skill.name}  version ${skill.versionNumber}  ${skill.filesCount} files  ${skill.contentChecksum}`,
    say`${skill.description}`,
    ...skill.warnings.map(({ code, path, message }) => say`! ${code} ${path ?? ''} ${message}`),
    say``,
    block(head.join('\n')),
  ]
}

/** From the marketplace by its name, from a folder, or from a git repository. */
export const install: Handler = async (context) => {
  const { input, out } = context
  const source = input.argument('SOURCE')
  const client = await context.client()
  const skill = await installed(context, client, source)
  out.document(skill, () => [])
  out.done(
    say`${skill.slug} version ${skill.versionNumber} (${skill.contentChecksum}, ${skill.filesCount} files)`,
  )
  for (const { code, path, message } of skill.warnings) out.warn(say`${code} ${path ?? ''} ${message}`)
  const more = [...(skill.asksForMore?.allowedTools ?? []), ...(skill.asksForMore?.scopes ?? [])]
  if (more.length > 0) {
    out.warn(say`This version asks for more than the one before: ${joined(more, ', ')}`)
    out.talk(
      say`  Back to the one before: guild skills versions ${skill.slug}, then guild skills restore ${skill.slug} N`,
    )
  }
  return exit.done
}

async function installed(context: Context, client: Guildhall, source: string): Promise<InstalledSkill> {
  const { input, out, signal } = context
  if (source.startsWith('.') || source.startsWith('/') || (await isFolder(source))) {
    const artifact = await uploaded(context, client, source)
    out.done(say`uploaded ${artifact.filesCount} files, ${artifact.sizeBytes} bytes (${artifact.id})`)
    return client.skills.install(input.text('as') ?? artifact.slug, { artifactId: artifact.id }, { signal })
  }
  const git = gitSource(source)
  if (git) {
    const slug = input.text('as')
    const answer = await client.skills.installFrom(
      { source: git, kind: 'skill', ...(slug && { slug }) },
      { signal },
    )
    if (!answer.skill)
      throw new Failure({ exitCode: exit.failed, message: `${source} holds no skill.`, next: [] })
    return answer.skill
  }
  const registry = input.text('registry')
  return client.skills.install(source, { ...(registry && { registry }) }, { signal })
}

/** OWNER/REPO[/PATH][@REF], or an address that ends with .git. */
function gitSource(text: string) {
  const [place = '', ref] = text.split('@')
  if (/^https:\/\/[^@]+\.git$/.test(place)) return { type: 'git' as const, url: place, ...(ref && { ref }) }
  const match = /^([\w.-]+)\/([\w.-]+)(?:\/(.+))?$/.exec(place)
  if (!match) return undefined
  const [, owner, repository, path] = match
  return {
    type: 'git' as const,
    url: `https://github.com/${owner}/${repository}.git`,
    ...(ref && { ref }),
    ...(path && { path }),
  }
}

async function uploaded({ input, signal }: Context, client: Guildhall, folder: string) {
  const files = await bundleFolder(resolve(folder))
  const slug = input.text('as') ?? slugOf(basename(resolve(folder)))
  return client.artifacts.create({ type: 'skill', slug, files }, { signal })
}

function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

export const upload: Handler = async (context) => {
  const artifact = await uploaded(context, await context.client(), context.input.argument('FOLDER'))
  context.out.document(artifact, () => [say`${artifact.id}`])
  context.out.talk(
    say`Install it: guild api POST /api/v1/skills/${artifact.slug}/install -f artifactId=${artifact.id}`,
  )
  return exit.done
}

const mostBundleBytes = 100_000_000

async function unpacked(bytes: Uint8Array) {
  const { unzipSync } = await import('fflate')
  let size = 0
  try {
    const files = unzipSync(bytes, {
      filter: ({ originalSize }) => {
        size += originalSize
        return size <= mostBundleBytes
      },
    })
    return { files, size }
  } catch (cause) {
    throw new Failure({
      exitCode: exit.failed,
      code: 'UNEXPECTED_ANSWER',
      message: 'What the server sent is no bundle.',
      next: ['guild doctor', 'run it again'],
      cause,
    })
  }
}

/** Writes the files of a skill; a name that would lead out of the folder is refused before anything is written. */
export const pull: Handler = async (context) => {
  const { input, out, signal } = context
  const slug = input.argument('SLUG')
  const response = await (await context.client()).skills.export(slug, { signal })
  const bytes = new Uint8Array(await response.arrayBuffer())
  const zip = input.text('zip')
  if (zip !== undefined) {
    await writeFile(zip, bytes)
    out.document({ path: resolve(zip), bytes: bytes.length }, () => [say`${zip}`])
    return exit.done
  }
  const folder = resolve(input.text('output') ?? slug)
  const { files, size } = await unpacked(bytes)
  const placed = Object.entries(files)
    .filter(([name]) => !name.endsWith('/'))
    .map(([name, content]) => ({ name, content, path: placeFor(folder, name) }))
  const odd = placed.find(({ path }) => path === undefined)
  if (odd || size > mostBundleBytes) {
    throw new Failure({
      exitCode: exit.failed,
      message: odd
        ? `The bundle names ${JSON.stringify(odd.name)}, outside of the folder. Nothing was written.`
        : 'The bundle is too large.',
      next: [`guild skills pull ${slug} --zip ${slug}.zip`],
    })
  }
  for (const { name, content } of placed) {
    const download = async () => new Response(new Uint8Array(content))
    await saveFile(folder, { name, download }, input.has('yes'))
  }
  out.document({ folder, files: placed.map(({ name }) => name) }, () =>
    placed.map(({ path }) => say`${path}`),
  )
  out.done(say`${placed.length} files written`)
  return exit.done
}

const versionColumns: readonly Column<SkillVersion>[] = [
  { head: 'N', cell: ({ versionNumber }) => versionNumber },
  { head: 'LIVE', cell: ({ active }) => (active ? 'live' : '') },
  { head: 'WHEN', cell: ({ createdAt }, forPeople) => (forPeople ? ago(createdAt) : createdAt) },
  { head: 'NOTE', cell: ({ note }) => note, wide: true },
  { head: 'CHECKSUM', cell: ({ contentChecksum }) => contentChecksum },
]

export const versions: Handler = async ({ input, out, client, signal }) => {
  const items = await (await client()).skills.versions(input.argument('SLUG'), { signal })
  out.list({ items }, versionColumns, say`It has no versions.`)
  return exit.done
}

export const diff: Handler = async ({ input, out, client, signal }) => {
  const [from, to] = [input.optional('FROM'), input.optional('TO')]
  const answer = await (await client()).skills.diff(
    input.argument('SLUG'),
    { ...(from !== undefined && { from: Number(from) }), ...(to !== undefined && { to: Number(to) }) },
    { signal },
  )
  out.document(answer, () =>
    answer.files.flatMap(({ path, change, diff: text, omitted }) => [
      bold(`${change} ${path}${omitted ? ` (${omitted})` : ''}`),
      ...(text && !input.has('stat') ? text.split('\n').map(diffLine) : []),
    ]),
  )
  return exit.done
}

function diffLine(line: string): Shown {
  if (line.startsWith('+')) return green(line)
  return line.startsWith('-') ? red(line) : say`${line}`
}

export const restore: Handler = async ({ input, out, client, signal }) => {
  const answer = await (await client()).skills.restore(input.argument('SLUG'), input.argument('N'), {
    signal,
  })
  out.document(answer, () => [])
  out.done(
    say`${answer.skill.slug} carries version ${answer.restoredFrom} again (${answer.skill.contentChecksum})`,
  )
  return exit.done
}

export const uninstall: Handler = async (context) => {
  const { input, out, settings, signal } = context
  const slug = input.argument('SLUG')
  const sure =
    input.has('yes') || !settings.mayPrompt || (await confirm(`Remove ${slug} from the library?`, signal))
  if (!sure) throw usage('Left as it is.', `guild skills uninstall ${slug} --yes`)
  await (await context.client()).skills.uninstall(slug, { signal })
  out.document({ slug, removed: true }, () => [])
  out.done(say`${slug} is gone from the library; its versions are kept.`)
  return exit.done
}

export const init: Handler = async ({ input, out }) => {
  const slug = slugOf(input.argument('NAME'))
  if (slug === '') throw usage('A name needs letters or digits.', 'guild skills init my-skill')
  const path = join(slug, 'SKILL.md')
  await mkdir(join(slug, 'scripts'), { recursive: true })
  const text = `---\nname: ${slug}\ndescription: What it does, and when to use it.\n---\n\n# ${slug}\n\nSay step by step what to do. Scripts stand in scripts/.\n`
  try {
    await writeFile(path, text, { flag: 'wx' })
  } catch {
    throw new Failure({
      exitCode: exit.conflict,
      message: `${path} is there already.`,
      next: [`guild skills lint ${slug}`],
    })
  }
  out.document({ files: [path] }, () => [say`${path}`])
  out.talk(say`Next: guild skills lint ${slug}, then guild skills install ./${slug}`)
  return exit.done
}

/** The rules of the format that can be seen here; the server has the last word. */
export const lint: Handler = async ({ input, out }) => {
  const folder = resolve(input.optional('FOLDER') ?? '.')
  const files = await bundleFolder(folder)
  const problems: { path: string; message: string }[] = []
  const text = await readFile(join(folder, 'SKILL.md'), 'utf8').catch(() => undefined)
  if (text === undefined) problems.push({ path: 'SKILL.md', message: 'is missing' })
  else {
    const head = /^---\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1] ?? ''
    const description = /^description:\s*(.*)$/m.exec(head)?.[1]?.trim() ?? ''
    if (head === '') problems.push({ path: 'SKILL.md:1', message: 'has no head between --- lines' })
    if (!/^name:\s*\S/m.test(head)) problems.push({ path: 'SKILL.md', message: 'name is missing' })
    if (description.length < 1 || description.length > 1024) {
      problems.push({ path: 'SKILL.md', message: 'description must be 1 to 1024 characters' })
    }
  }
  out.document({ valid: problems.length === 0, problems, files: files.map(({ path }) => path) }, () =>
    problems.map(({ path, message }) => say`${path}\t${message}`),
  )
  if (problems.length === 0) out.done(say`${files.length} files, no problems`)
  return problems.length === 0 ? exit.done : exit.notValid
}
