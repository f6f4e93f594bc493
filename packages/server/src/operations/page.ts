import { isUuid, parseRowId } from '#platform/ids.ts'
import { readMoment } from '#platform/moment.ts'
import { ApiError } from './errors.ts'

/** Whether a text can be this part of a sort key; a cursor is input and may say anything. */
type CursorPart = (text: string) => boolean

export const timePart: CursorPart = (text) => readMoment(text) === text
export const uuidPart: CursorPart = isUuid
export const rowIdPart: CursorPart = (text) => parseRowId(text) !== undefined

/** A bound of a list over time, in the spelling that is stored and compared. */
export function timeBound(name: string, text: string | undefined): string | undefined {
  const moment = text === undefined ? undefined : readMoment(text)
  if (text === undefined || moment !== undefined) return moment
  throw new ApiError('INVALID_INPUT', { message: `${name}: give a day (YYYY-MM-DD) or an ISO 8601 time` })
}

/**
 * A page of rows that were read with one more than the limit: what is shown of each, and where the next page begins.
 * Whoever read fewer for another reason says whether there are more.
 */
export function toPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  describe: (row: Row) => Item,
  sortKey: (row: Row) => readonly string[],
  hasMore = rows.length > limit,
): { items: Item[]; nextCursor: string | null } {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return {
    items: shown.map(describe),
    nextCursor: hasMore && last !== undefined ? encodeCursor(sortKey(last)) : null,
  }
}

/** Items of any number of pages, one page in memory at a time; what describes one may look up more about it. */
export async function* walkPages<Row, Key, Item>(
  pages: { readonly start: Key; readonly size: number },
  page: (after: Key, limit: number) => Promise<Row[]>,
  keyOf: (row: Row) => Key,
  describe: (row: Row) => Item | Promise<Item>,
): AsyncGenerator<Item> {
  let after = pages.start
  for (;;) {
    const rows = await page(after, pages.size)
    for (const row of rows) yield await describe(row)
    const last = rows.at(-1)
    if (!last || rows.length < pages.size) return
    after = keyOf(last)
  }
}

/** A keyset cursor is the sort key of the last row, opaque to the client. */
function encodeCursor(key: readonly string[]): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url')
}

export function decodeCursor(cursor: string, parts: readonly CursorPart[]): string[] {
  const key = parseOrUndefined(Buffer.from(cursor, 'base64url').toString())
  const fits = (part: unknown, index: number) => typeof part === 'string' && parts[index]?.(part) === true
  if (Array.isArray(key) && key.length === parts.length && key.every(fits)) return key
  throw new ApiError('INVALID_INPUT', { message: 'cursor: not one this list handed out' })
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
