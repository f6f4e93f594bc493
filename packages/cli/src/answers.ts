/** An answer as it came: what was asked, and its text, which may still be on its way. */
export interface Answer {
  readonly method: string
  readonly path: string
  readonly requestId: string | undefined
  readonly text: Promise<string | undefined>
}

const kept: Answer[] = []
/** What a command fails at is among its last; longer answers than this are files. */
const mostKept = 10
const mostBytes = 1_000_000

/** Keeps the last answers, so that one which breaks the contract can be told from a mistake of ours. */
export function keepAnswers(): void {
  const { fetch } = globalThis
  globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init)
    const { ok, headers } = response
    // What is packed has a length that says nothing, and little can become more than memory holds.
    const length = headers.has('content-encoding')
      ? Number.NaN
      : Number(headers.get('content-length') ?? Number.NaN)
    if (ok && length <= mostBytes && headers.get('content-type')?.startsWith('application/json')) {
      kept.push({
        method: init?.method ?? 'GET',
        path: new URL(response.url).pathname,
        requestId: headers.get('x-request-id') ?? undefined,
        text: response
          .clone()
          .text()
          .catch(() => undefined),
      })
      if (kept.length > mostKept) kept.shift()
    }
    return response
  }
}

/** The last first. */
export function keptAnswers(): readonly Answer[] {
  return kept.toReversed()
}
