import { bundleLimits } from '@guildhall/contract'

/** Names that some file system of a reader would take for something else. */
const deviceName = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i
/** Git that is run beside it would take its settings from there. */
const gitFolder = /^(\.git|git~\d+)$/i
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
const forbidden = /[\u0000-\u001f\u007f\\:*?"<>|]/

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
  const taken: File[] = []
  const odd: string[] = []
  for (const file of files) {
    const isClash = () => findClash([...taken, file].map(({ path }) => path)) !== undefined
    if (bundlePath(file.path) !== file.path || isClash()) odd.push(file.path)
    else taken.push(file)
  }
  return { taken, odd }
}

/** Two files one of which would stand where the other needs a folder, or that differ only in case. */
export function findClash(paths: readonly string[]): string | undefined {
  const seen = new Set<string>()
  for (const path of paths) {
    const folded = path.toLowerCase()
    if (seen.has(folded)) return path
    seen.add(folded)
  }
  for (const path of seen) {
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
      if (seen.has(path.slice(0, at))) return path
    }
  }
  return undefined
}
