/**
 * One call of the API as data. `Call` is what it takes and `Answer` what it gives; both are types alone.
 * All of them are printed from the server's contract.
 */
export interface Operation<in Call, out Answer> {
  readonly name: string
  /** `GET` when not said. */
  readonly method?: string
  /** With `:name` for parameters. */
  readonly path: string
  /** Takes `Idempotency-Key`, so it can be repeated without making two. */
  readonly creates?: boolean
  /** Its answer holds a secret that is told once. */
  readonly secret?: boolean
  /** Takes files as a form. */
  readonly uploads?: boolean
  /** A POST that can be repeated as a GET can. */
  readonly repeatable?: boolean
  /** Needs no credential, so it gets none. */
  readonly public?: boolean
  /** Takes what the agent calls itself. */
  readonly namesAgent?: boolean
  /** What it answers when that is no JSON; `either` is JSON unless the body asks for events. */
  readonly answers?: 'file' | 'text' | 'redirect' | 'events' | 'either'
  /** Which window of the rate limits it counts in first; `rest` when not said. */
  readonly window?: string
  /** How its list goes on. */
  readonly page?: 'cursor' | 'offset'
  /** Which field of a page has the items; empty when the page is an array. */
  readonly items?: string
  /** Only for the compiler. */
  readonly types?: (call: Call) => Answer
}

/** What any operation takes at most. */
export interface AnyCall {
  readonly params?: object
  readonly query?: object
  readonly body?: unknown
}

/** The path of a call with its parameters in it; a parameter can never add a part to the path. */
export function pathOf(path: string, params: object = {}): string {
  return path.replace(/:(\w+)/g, (_, name: string) => {
    const value = String((params as Record<string, unknown>)[name] ?? '')
    // Nothing but these two is removed from addresses although it is escaped.
    if (['', '.', '..'].includes(value)) throw new TypeError(`"${value}" cannot be the ${name}`)
    return encodeURIComponent(value)
  })
}

/** The query of a call as text, with its question mark. */
export function queryOf(query: object = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) search.append(name, String(value))
  }
  return `${search}` && `?${search}`
}
