import { constants } from 'node:fs'
import { mkdir, open, realpath } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'
import { ConfigurationError } from '../errors.ts'
import type { OutputFile } from '../execution-handle.ts'

/**
 * Writes files that an execution made below a folder, and gives their places. Their names are an agent's words: one that
 * leads out of the folder is refused, by itself or through a link, before anything is written.
 */
export async function saveFiles(
  files: readonly Pick<OutputFile, 'name' | 'download'>[],
  folder: string,
): Promise<string[]> {
  const places = files.map(({ name }) => placeFor(folder, name))
  await mkdir(folder, { recursive: true })
  for (const [index, { name, download }] of files.entries()) {
    const path = places[index] as string
    await mkdir(dirname(path), { recursive: true })
    const [inside, parent] = [await realpath(folder), await realpath(dirname(path))]
    if (parent !== inside && !parent.startsWith(inside + sep)) throw leadsOut(name)
    await write(path, await download())
  }
  return places
}

async function write(path: string, { body }: Response): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW = 0 } = constants
  const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
  try {
    const reader = body?.getReader()
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      await file.writeFile(part.value)
    }
  } finally {
    await file.close()
  }
}

function placeFor(folder: string, name: string): string {
  const parts = name.split(/[/\\]/)
  const isOdd = parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('\0'))
  if (isOdd || /^[a-z]:/i.test(name)) throw leadsOut(name)
  return resolve(folder, ...parts)
}

const leadsOut = (name: string): ConfigurationError =>
  new ConfigurationError(`${JSON.stringify(name)} would be written outside of the folder, so it was not`)
