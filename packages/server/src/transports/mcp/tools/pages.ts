import { RpcError } from '../message.ts'

const defaultLimit = 20

/** A cursor is how many were passed; the lists that are cut so have no gaps worth a better one. */
export function pageOf<T>(
  all: readonly T[],
  { limit = defaultLimit, cursor }: { limit?: number; cursor?: string },
): { items: T[]; nextCursor: string | null } {
  const start = readCursor(cursor)
  const items = all.slice(start, start + limit)
  const next = start + items.length
  return { items, nextCursor: next < all.length ? String(next) : null }
}

export function readCursor(cursor: unknown): number {
  if (cursor === undefined) return 0
  if (typeof cursor === 'string' && /^\d{1,9}$/.test(cursor)) return Number(cursor)
  throw new RpcError('invalidParams', 'cursor: send what the page before said, or none')
}
