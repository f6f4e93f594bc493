import { expect, test } from 'vitest'
import { Pager } from './pager.ts'

const rows = Array.from({ length: 25 }, (_, index) => ({ id: index }))
const list = (page: 'cursor' | 'offset', items = 'items') => ({
  name: 'l',
  method: 'GET',
  path: '/l',
  page,
  items,
})

const byCursor = async (query: object) => {
  const { limit = 10, cursor = '0' } = query as { limit?: number; cursor?: string }
  const from = Number(cursor)
  return {
    items: rows.slice(from, from + limit),
    nextCursor: from + limit < rows.length ? String(from + limit) : null,
  }
}

test('awaited it is a page, iterated it is everything', async () => {
  const pager = new Pager<{ id: number }>(list('cursor'), { limit: 10 }, byCursor)
  const page = await pager
  expect([page.items.length, page.hasMore, page.nextCursor]).toEqual([10, true, '10'])
  expect((await page.next())?.items[0]).toEqual({ id: 10 })
  const all: number[] = []
  for await (const { id } of pager) all.push(id)
  expect(all).toEqual(rows.map(({ id }) => id))
})

test('nothing is fetched that nobody takes', async () => {
  let asked = 0
  const pager = new Pager(list('cursor'), { limit: 10 }, (query) => {
    asked++
    return byCursor(query)
  })
  expect(await pager.take(12)).toHaveLength(12)
  expect(asked).toBe(2)
  expect(await pager.take(0)).toEqual([])
  expect(asked).toBe(2)
})

test.each([
  ['a bare array', (items: unknown[]) => items],
  ['with hasMore', (items: unknown[], more: boolean) => ({ items, hasMore: more })],
])('rows that arrive meanwhile push others down; each comes once: %s', async (_, shape) => {
  const live = rows.map((row) => ({ ...row }))
  const pager = new Pager<{ id: number }>(list('offset'), { limit: 4 }, async (query) => {
    const { limit, offset = 0 } = query as { limit: number; offset?: number }
    const items = live.slice(offset, offset + limit)
    live.unshift({ id: 1000 + live.length })
    return shape(items, offset + limit < live.length)
  })
  const seen: number[] = []
  for await (const { id } of pager) {
    seen.push(id)
    if (seen.length > 200) break
  }
  expect(new Set(seen).size).toBe(seen.length)
  expect(seen.filter((id) => id < 1000)).toEqual(rows.map(({ id }) => id))
})
