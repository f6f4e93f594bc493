import type { AnyCall, Operation } from './operation.ts'

/** What a handler answers with, in place of the answer itself. */
export interface FakeRefusal {
  readonly status: number
  readonly code: string
  readonly message?: string | undefined
  readonly details?: Readonly<Record<string, unknown>> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** One operation and what it answers, for {@link fakeFetch}. */
export interface FakeHandler {
  readonly operation: Operation<never, unknown>
  readonly answer: (call: AnyCall, headers: Headers) => unknown
}

class Refused {
  readonly refusal: FakeRefusal

  constructor(refusal: FakeRefusal) {
    this.refusal = refusal
  }
}

/** Says what an operation answers; both sides are typed by the operation. */
export function answers<Call, Answer>(
  operation: Operation<Call, Answer>,
  answer: (call: Call, headers: Headers) => Answer | Promise<Answer>,
): FakeHandler {
  return { operation, answer: answer as FakeHandler['answer'] }
}

/** Thrown by a handler, it is what the server refuses with. */
export function refusal(given: FakeRefusal): unknown {
  return new Refused(given)
}

/**
 * A `fetch` for tests of programs that use this library: requests are answered by handlers, one for each operation, and
 * everything of the library but the network runs. A request that no handler is for is an error that names it.
 */
export function fakeFetch(...handlers: readonly FakeHandler[]): typeof globalThis.fetch {
  // Where one path is named and another has a parameter there, the name is meant.
  const ranked = [...handlers].sort((one, other) => placesIn(one) - placesIn(other))
  return async (input, init = {}) => {
    const url = new URL(String(input instanceof Request ? input.url : input))
    const { method = 'GET', headers, body } = init
    for (const { operation, answer } of ranked) {
      const params =
        (operation.method ?? 'GET') === method ? paramsOf(operation.path, url.pathname) : undefined
      if (!params) continue
      const query = Object.fromEntries(url.searchParams)
      try {
        const said = await answer({ params, query, body: jsonOf(body) }, new Headers(headers))
        return said instanceof Response ? said : Response.json(said)
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        const { status, code, message = code, details = {}, headers: more = {} } = error.refusal
        return Response.json({ error: { code, message, details } }, { status, headers: { ...more } })
      }
    }
    throw new TypeError(`No handler is for ${method} ${url.pathname}: give fakeFetch one`)
  }
}

const placesIn = ({ operation }: FakeHandler): number => operation.path.split(':').length

/** The parameters in a path; undefined when it is another's. */
function paramsOf(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? ''
    if (part.startsWith(':')) params[part.slice(1)] = decodeURIComponent(value)
    else if (part !== value) return undefined
  }
  return params
}

function jsonOf(body: unknown): unknown {
  if (!(body instanceof Uint8Array)) return undefined
  const text = new TextDecoder().decode(body)
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
