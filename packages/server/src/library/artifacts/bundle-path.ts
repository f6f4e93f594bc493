import { bundleLimits } from '@guildhall/contract'

/** Names that some file system of a reader would take for something else. */
const deviceName = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i
/** Git that is run beside it would take its settings from there. */
const gitFolder = /^(\.git|git~\d+)$/i
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
const forbidden = /[\u0000-\u001f\u007f\\:*?"<>|]/

/** No file system that a bundle is unpacked on takes a longer name, whatever characters it is of. */
const nameBytes = 255

/**
 * The path of a file inside a bundle, written in the one way we write it; undefined for anything that could lead
 * out of the bundle, mean another file elsewhere, or hide what it is. Nothing is mended: what is odd is refused.
 */
export function bundlePath(given: string): string | undefined {
  const path = given.startsWith('./') ? given.slice(2) : given
  if (path === '' || path.length > bundleLimits.pathLength || forbidden.test(path)) return undefined
  if (path !== path.normalize('NFC') || /\p{Cf}|\p{Co}|\p{Cs}/u.test(path)) return undefined
  const segments = path.split('/')
  if (segments.length > bundleLimits.depth) return undefined
  const odd = (segment: string) =>
    segment === '' ||
    Buffer.byteLength(segment) > nameBytes ||
    segment === '.' ||
    segment === '..' ||
    /[ .]$/.test(segment) ||
    deviceName.test(segment) ||
    gitFolder.test(segment)
  if (segments.some(odd)) return undefined
  return path
}

/**
 * Of files that a program left behind, those that can be in one bundle, and the paths of the others: no name makes what
 * was done worthless.
 */
export function chooseForBundle<File extends { readonly path: string }>(files: readonly File[]) {
  const places = new Places()
  const taken: File[] = []
  const odd: string[] = []
  for (const file of files) {
    if (bundlePath(file.path) === file.path && places.take(file.path)) taken.push(file)
    else odd.push(file.path)
  }
  return { taken, odd }
}

/** Two files one of which would stand where the other needs a folder, or that differ only in case. */
export function findClash(paths: readonly string[]): string | undefined {
  const places = new Places()
  return paths.find((path) => !places.take(path))
}

/** Where files stand, and the folders that they need. */
class Places {
  readonly #files = new Set<string>()
  readonly #folders = new Set<string>()

  /** False when something else is in the way. */
  take(path: string): boolean {
    const folded = path.toLowerCase()
    const above = foldersAbove(folded)
    if (this.#files.has(folded) || this.#folders.has(folded)) return false
    if (above.some((folder) => this.#files.has(folder))) return false
    this.#files.add(folded)
    for (const folder of above) this.#folders.add(folder)
    return true
  }
}

function foldersAbove(path: string): string[] {
  const folders: string[] = []
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) folders.push(path.slice(0, at))
  return folders
}
