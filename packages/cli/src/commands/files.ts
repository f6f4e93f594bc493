import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, lstat, mkdir, open, readdir, readFile, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { exit } from '../exit-codes.ts'
import { Failure } from '../failure.ts'

/** Where a file of that name would be; undefined when its name leads out of the folder, or is none. */
export function placeFor(folder: string, name: string): string | undefined {
  const parts = name.split(/[/\\]/)
  const odd = parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('\0'))
  if (odd || /^[a-z]:/i.test(name)) return undefined
  const path = resolve(folder, ...parts)
  return path.startsWith(resolve(folder) + sep) ? path : undefined
}

export interface Downloadable {
  name: string
  /** As the server told it beforehand, where it did. */
  sizeBytes?: number | undefined
  download: () => Promise<Response>
}

/**
 * Writes one below the folder, and never through a link that leads elsewhere; over what is there only if told so. What
 * breaks off, or is not as long as it was said to be, leaves nothing under the file's name.
 */
export async function saveFile(folder: string, file: Downloadable, replaces = true): Promise<string> {
  const path = placeFor(folder, file.name)
  if (!path) throw refusedName(file.name)
  await mkdir(dirname(path), { recursive: true })
  const inside = await realpath(folder)
  const parent = await realpath(dirname(path))
  if (parent !== inside && !parent.startsWith(inside + sep)) throw refusedName(file.name)
  if ((await lstat(path).catch(() => undefined))?.isSymbolicLink()) throw refusedName(file.name)
  const { body } = await file.download()
  const part = join(dirname(path), `.guild-${randomUUID()}.part`)
  // Opened before anything can break off: a stream that opens its file itself may make it when it was taken away already.
  const opened = await open(part, 'wx')
  try {
    await pipeline(
      body ? Readable.fromWeb(body as import('node:stream/web').ReadableStream) : Readable.from([]),
      (chunks: AsyncIterable<Uint8Array>) => wholeOnly(chunks, file),
      opened.createWriteStream(),
    )
    await (replaces ? rename(part, path) : copyFile(part, path, constants.COPYFILE_EXCL))
  } finally {
    await rm(part, { force: true })
  }
  return path
}

/** Stops at the first byte too many, so that no server fills the disk with a file that it called small. */
async function* wholeOnly(
  chunks: AsyncIterable<Uint8Array>,
  { name, sizeBytes }: Downloadable,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (sizeBytes !== undefined && bytes > sizeBytes) break
    yield chunk
  }
  if (sizeBytes === undefined || bytes === sizeBytes) return
  throw new Failure({
    exitCode: exit.failed,
    message: `The file ${JSON.stringify(name)} should have ${sizeBytes} bytes and came with ${bytes > sizeBytes ? 'more' : bytes}, so it was not kept.`,
    next: ['run the same command again'],
  })
}

function refusedName(name: string): Failure {
  return new Failure({
    exitCode: exit.failed,
    message: `A file named ${JSON.stringify(name)} would be written outside of the folder, so it was not.`,
    next: ['guild exec show ID --json'],
  })
}

export interface BundledFile {
  path: string
  content: string
  encoding: 'base64'
}

const mostBytes = 10_000_000

/** The files of a folder as a bundle: no links, nothing hidden in .git, nothing that .guildignore names. */
export async function bundleFolder(folder: string): Promise<BundledFile[]> {
  const ignored = await ignoredNames(folder)
  const files: BundledFile[] = []
  let bytes = 0
  for (const path of await filesBelow(folder, folder, ignored)) {
    const content = await readFile(path)
    bytes += content.length
    if (bytes > mostBytes)
      throw notValid(`${folder} has more than 10 MB.`, `list what is large: du -a ${folder} | sort -n`)
    files.push({
      path: relative(folder, path).split(sep).join('/'),
      content: content.toString('base64'),
      encoding: 'base64',
    })
  }
  return files
}

async function filesBelow(top: string, folder: string, ignored: ReadonlySet<string>): Promise<string[]> {
  const found: string[] = []
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (ignored.has(entry.name) || ignored.has(relative(top, path))) continue
    if (entry.isSymbolicLink()) throw notValid(`${path} is a link; bundles have none.`, `rm ${path}`)
    if (entry.isDirectory()) found.push(...(await filesBelow(top, path, ignored)))
    else if (entry.isFile()) found.push(path)
  }
  return found.sort()
}

async function ignoredNames(folder: string): Promise<Set<string>> {
  const text = await readFile(join(folder, '.guildignore'), 'utf8').catch(() => '')
  const named = text.split('\n').map((line) => line.trim().replace(/\/$/, ''))
  return new Set([
    '.git',
    'node_modules',
    '.guildignore',
    ...named.filter((line) => line !== '' && !line.startsWith('#')),
  ])
}

export async function isFolder(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isDirectory() ?? false
}

/** Files that go with a request, together at most 10 MB. */
export async function attachmentsFrom(paths: readonly string[]): Promise<{ name: string; data: string }[]> {
  let bytes = 0
  const attachments = []
  for (const path of paths) {
    const content = await readFile(path).catch((cause: unknown) => {
      throw notValid(
        `${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
        `ls -l ${path}`,
      )
    })
    bytes += content.length
    if (bytes > mostBytes)
      throw notValid('The attachments have more than 10 MB together.', 'attach fewer files')
    attachments.push({ name: basename(path), data: content.toString('base64') })
  }
  return attachments
}

function notValid(message: string, next: string): Failure {
  return new Failure({ exitCode: exit.notValid, message, next: [next] })
}
