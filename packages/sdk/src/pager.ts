import type { CallOptions, Client } from './client.ts'
import type { AnyCall, Operation } from './operation.ts'

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Whether there is a next page. */
  readonly hasMore: boolean
  /** What the server answered, with whatever it says beside the items. */
  readonly raw: unknown
  /** Where the next page begins, for whoever goes on later; null at the end. */
  readonly nextCursor: string | null
  /** Fetches the next page; undefined at the end. */
  next(): Promise<Page<T> | undefined>
}

type Position = { readonly cursor: string } | { readonly offset: number }

/**
 * A list that is fetched page by page. Awaited it is the first page; iterated it is everything, and leaving the loop
 * stops the fetching. What moves down while pages are read is given once.
 */
export class Pager<T> implements PromiseLike<Page<T>>, AsyncIterable<T> {
  readonly #operation: Operation<never, unknown>
  readonly #query: object
  readonly #ask: (query: object) => Promise<unknown>
  readonly #limit: number

  /** `ask` fetches what a query says. */
  constructor(operation: Operation<never, unknown>, query: object, ask: (query: object) => Promise<unknown>) {
    this.#operation = operation
    this.#query = query
    this.#ask = ask
    this.#limit = (query as { limit?: number }).limit ?? 50
  }

  /** The first page. */
  // biome-ignore lint/suspicious/noThenProperty: awaiting a list is how its first page is asked for.
  then<A = Page<T>, B = never>(
    onPage?: ((page: Page<T>) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#fetch(undefined).then(onPage, onError)
  }

  /** Every item of every page. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const seen = new Set<unknown>()
    for await (const page of this.pages()) {
      for (const item of page.items) {
        const id = this.#operation.page === 'offset' ? idOf(item) : undefined
        if (id === undefined || !seen.has(id)) yield item
        seen.add(id)
      }
    }
  }

  /** Page after page. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    for (let page: Page<T> | undefined = await this.#fetch(undefined); page; page = await page.next())
      yield page
  }

  /** The first items, at most so many. */
  async take(count: number): Promise<T[]> {
    const items: T[] = []
    if (count <= 0) return items
    for await (const item of this) {
      items.push(item)
      if (items.length >= count) break
    }
    return items
  }

  async #fetch(position: Position | undefined): Promise<Page<T>> {
    const { page, items: field } = this.#operation
    // Without a limit some lists by offset come whole.
    const isByOffset = page === 'offset'
    const query = { ...this.#query, ...(isByOffset && { limit: this.#limit }), ...position }
    const raw = (await this.#ask(query)) as RawPage<T>
    const items = Array.isArray(raw) ? (raw as T[]) : ((raw as Record<string, T[]>)[field || 'items'] ?? [])
    const { nextCursor: cursor, hasMore = items.length >= this.#limit } = raw
    const { offset = 0 } = query as { offset?: number }
    const byOffset = hasMore && items.length > 0 ? { offset: offset + items.length } : undefined
    const next = isByOffset ? byOffset : cursor ? { cursor } : undefined
    return {
      items,
      raw,
      hasMore: next !== undefined,
      nextCursor: isByOffset ? null : (cursor ?? null),
      next: async () => next && this.#fetch(next),
    }
  }
}

interface RawPage<T> {
  readonly nextCursor?: string | null
  readonly hasMore?: boolean
  readonly [field: string]: readonly T[] | string | boolean | null | undefined
}

/** A list, page by page. */
export function list<Call, Item>(
  client: Client,
  operation: Operation<Call, unknown>,
  call: Call,
  options?: CallOptions,
): Pager<Item> {
  const { query = {}, ...rest } = call as AnyCall
  return new Pager(operation, query, (asked) =>
    client.call<Call, unknown>(operation, { ...rest, query: asked } as Call, options),
  )
}

/** What lists by offset name their items by; new ones push old ones onto the next page. */
function idOf(item: unknown): unknown {
  const { executionId, id, slug } = item as Record<string, unknown>
  return executionId ?? id ?? slug
}
