import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { must, newVisitor } from './support/actors.ts'
import { verifies } from './verifies.ts'

interface Item {
  slug: string
  name: string
  description: string
  category: string
  repository: string
}

interface Category {
  id: string
  name: string
  count: number
}

const itemFields = ['slug', 'name', 'description', 'category', 'repository']
const root = '/marketplace/skills'

async function list(query = ''): Promise<Item[]> {
  return must(await newVisitor().get<Item[]>(root + query), 200)
}

async function categories(): Promise<Category[]> {
  return must(await newVisitor().get<Category[]>(`${root}/categories`), 200)
}

/** A deployment without a single skill would show nothing. */
async function someSkills(query = ''): Promise<Item[]> {
  const items = await list(query)
  expect(items.length).toBeGreaterThan(1)
  return items
}

function expectTexts(record: object, fields: readonly string[]): void {
  expect(record).toMatchObject(Object.fromEntries(fields.map((field) => [field, expect.any(String)])))
}

test('every item of the list has its five texts', async () => {
  verifies('marketplace:item:fields')
  for (const item of await someSkills()) expectTexts(item, itemFields)
})

test('a skill is found by the slug that the list gives, with all its texts', async () => {
  verifies('marketplace:detail:by-slug', 'marketplace:detail:fields')
  for (const item of (await someSkills()).slice(0, 12)) {
    const detail = must(await newVisitor().get<Item>(`${root}/${item.slug}`), 200)
    expect(detail).toMatchObject(item)
    expectTexts(detail, [...itemFields, 'author', 'version', 'prompt'])
  }
})

test('a slug that nothing has is not found', async () => {
  verifies('marketplace:detail:unknown-404')
  const answer = await newVisitor().get(`${root}/made-up-${randomUUID()}`)
  expect(answer.status).toBe(404)
  expect(answer.body).toEqual({ error: expect.objectContaining({ code: 'NOT_FOUND' }) })
})

test('the categories are a list of their own, with texts and a number', async () => {
  verifies('marketplace:category:fields', 'marketplace:categories:not-a-slug')
  const found = await categories()
  expect(Array.isArray(found)).toBe(true)
  expect(found.length).toBeGreaterThan(0)
  for (const category of found) {
    expectTexts(category, ['id', 'name'])
    expect(category.count).toEqual(expect.any(Number))
  }
  expect((await list()).map(({ slug }) => slug)).not.toContain('categories')
})

test('a category counts what a list of it holds, and such a list holds nothing else', async () => {
  verifies('marketplace:category:count-matches', 'marketplace:list:category-filter')
  for (const { id, count } of await categories()) {
    const items = await list(`?category=${encodeURIComponent(id)}`)
    expect(items).toHaveLength(count)
    expect(new Set(items.map(({ category }) => category))).toEqual(new Set([id]))
  }
  expect(await list(`?category=none-${randomUUID()}`)).toEqual([])
})

test('the list is a bare array, whole or by pages', async () => {
  verifies('marketplace:list:bare-array', 'marketplace:list:limit-no-default')
  const all = await someSkills()
  const counted = (await categories()).reduce((sum, { count }) => sum + count, 0)
  expect(all).toHaveLength(counted)
  expect(new Set(all.map(({ slug }) => slug)).size).toBe(counted)
  expect(await list('?limit=1&offset=1')).toEqual([all[1]])
  expect(await list('?limit=1&offset=0')).toEqual([all[0]])
  expect(await list('?limit=1')).toEqual([all[0]])
  expect(await list('?limit=2')).toEqual(all.slice(0, 2))
  expect(await list('?offset=0')).toEqual(all)
  expect(await list('?offset=3')).toEqual(all.slice(3))
  expect(await list(`?offset=${counted}`)).toEqual([])
  expect(await list('?offset=99999999999999999999')).toEqual([])
})
