import { afterAll, beforeAll, expect, test } from 'vitest'
import * as store from '#library/skills/store.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** Instructions may be as long as a bundle, so what lists hold at a time goes by bytes and not by rows alone. */
const long = 600_000
const count = 12
const heldAtMost = 100_000

let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
  const { db } = house.deps.database
  const bundle = { checksum: 'a'.repeat(64), files_count: 1, size_bytes: long }
  await db.insertInto('bundles').values(bundle).execute()
  const version = (prompt: string) => ({
    bundle_checksum: bundle.checksum,
    name: 'long',
    description: 'Long.',
    category: 'general',
    prompt,
    allowed_tools: [],
    scopes: [],
    repository: null,
    commit_hash: null,
    from_git: false,
    warnings: '[]',
    note: null,
    created_by: person.userId,
  })
  await house.deps.database.transaction(async (tx) => {
    for (let i = 0; i < count; i++) {
      const slug = `skill-${String(i).padStart(2, '0')}`
      await store.insertVersion(tx, person.workspaceId, slug, version(promptOf(i)))
      await store.insertVersion(tx, person.workspaceId, 'often', version(promptOf(i)))
    }
  })
})

afterAll(() => house.close())

/** Every third is short. */
const promptOf = (i: number) => (i % 3 === 0 ? `short ${i}` : `${i} `.repeat(long / 3))
const all = Array.from({ length: count }, (_, i) => promptOf(i))

const get = async (path: string) => {
  const { status, body } = await house.call('GET', `/api/v1${path}`, { token: person.token })
  expect(status).toBe(200)
  return body
}
const promptsOf = (rows: readonly { prompt: string }[]) => rows.map(({ prompt }) => prompt)
const isEqual = (found: readonly string[], expected: readonly string[]) =>
  found.length === expected.length && found.every((text, i) => text === expected[i])

test.each<[string, () => Promise<unknown[]>]>([
  [
    'a page of the library',
    () => store.listSkills(house.deps.database.db, person.workspaceId, { limit: 200, offset: 0 }),
  ],
  ['the whole library', () => store.listSkillsAfter(house.deps.database.db, person.workspaceId, '', 200)],
  [
    'versions',
    () =>
      store.listVersions(house.deps.database.db, person.workspaceId, 'often', { below: 1000, limit: 200 }),
  ],
])('%s is read without long instructions', async (_what, read) => {
  const rows = await read()
  expect(rows.length).toBeGreaterThanOrEqual(count)
  expect(JSON.stringify(rows).length).toBeLessThan(heldAtMost)
})

test('every list tells the instructions whole, in order', async () => {
  const library = await get('/skills')
  expect(library).toHaveLength(count + 1)
  expect(isEqual(promptsOf(library.slice(1)), all)).toBe(true)
  const page = await get('/skills?limit=4&offset=2')
  expect(isEqual(promptsOf(page.items), all.slice(1, 5))).toBe(true)
  expect({ ...page, items: [] }).toEqual({ items: [], total: count + 1, limit: 4, offset: 2, hasMore: true })
  const end = await get(`/skills?limit=1000&offset=${count}`)
  expect(end).toMatchObject({ items: [{ slug: 'skill-11' }], limit: 1000, offset: count, hasMore: false })
  expect(await get('/skills?limit=5&offset=999999')).toMatchObject({ items: [], hasMore: false })
  expect(isEqual(promptsOf(await get('/skills/often/versions')), all.toReversed())).toBe(true)
})
