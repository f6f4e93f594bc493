import { createTwoFilesPatch } from 'diff'

/** Both sides of one file; undefined where it is not there. */
export interface FilePair {
  readonly path: string
  readonly before?: Uint8Array | undefined
  readonly after?: Uint8Array | undefined
}

type Omission = 'binary' | 'too-large' | 'too-different' | 'over-budget'

/** A unified diff, or why there is none. */
export type Comparison = { readonly diff: string } | { readonly diff: null; readonly omitted: Omission }

export function leftOut(omitted: Omission): Comparison {
  return { diff: null, omitted }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Compares one file after the other until the time of the whole request is used up. Comparing takes the square of the
 * difference, so that a file that was rewritten wholly is given up on after its own share.
 */
export function compareFiles(
  pairs: readonly FilePair[],
  time: { readonly totalMs: number; readonly perFileMs: number },
): Comparison[] {
  const end = performance.now() + time.totalMs
  return pairs.map((pair) => {
    const left = end - performance.now()
    return left > 0 ? compare(pair, Math.min(left, time.perFileMs)) : leftOut('over-budget')
  })
}

function compare({ path, before, after }: FilePair, timeout: number): Comparison {
  const [was, is] = [textOf(before), textOf(after)]
  if (was === undefined || is === undefined) return leftOut('binary')
  const names = [before ? `a/${path}` : '/dev/null', after ? `b/${path}` : '/dev/null'] as const
  const diff = createTwoFilesPatch(...names, was, is, undefined, undefined, { timeout })
  return diff === undefined ? leftOut('too-different') : { diff }
}

function textOf(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return ''
  if (bytes.includes(0)) return undefined
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
