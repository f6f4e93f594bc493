import { createTwoFilesPatch } from 'diff'

interface File {
  path: string
  bytes: Buffer
}

export interface FileChange {
  path: string
  change: 'added' | 'removed' | 'changed'
  /** Null for what is no text, or too large or too different to compare. */
  diff: string | null
}

const comparedBytes = 200_000
const comparedMs = 200

/** What differs between two sets of files, each as a unified diff. */
export function compareFiles(before: readonly File[], after: readonly File[]): FileChange[] {
  const old = new Map(before.map((file) => [file.path, file.bytes]))
  const fresh = new Map(after.map((file) => [file.path, file.bytes]))
  const paths = [...new Set([...old.keys(), ...fresh.keys()])].sort()
  return paths.flatMap((path) => {
    const [was, is] = [old.get(path), fresh.get(path)]
    if (was && is && was.equals(is)) return []
    const change = !was ? 'added' : !is ? 'removed' : 'changed'
    return [{ path, change, diff: patch(path, was, is) } as const]
  })
}

function patch(path: string, was: Buffer | undefined, is: Buffer | undefined): string | null {
  if (![was, is].every((bytes) => bytes === undefined || isText(bytes))) return null
  const names = [was ? `a/${path}` : '/dev/null', is ? `b/${path}` : '/dev/null'] as const
  const [left, right] = [was?.toString() ?? '', is?.toString() ?? '']
  // Comparing takes the square of the difference: a file that was wholly rewritten must not hold the process.
  return createTwoFilesPatch(...names, left, right, undefined, undefined, { timeout: comparedMs }) ?? null
}

function isText(bytes: Buffer): boolean {
  return bytes.length <= comparedBytes && !bytes.includes(0) && !bytes.toString().includes('\ufffd')
}
