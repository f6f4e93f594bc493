import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { CatalogSource, SkillFolder } from '#library/catalog/entry.ts'
import { offerShippedCatalog, syncShippedCatalog } from '#library/catalog/shipped.ts'
import { readSkillsFolder } from '#library/catalog/skills-folder.ts'
import { insertSkills, updateCategories, updateRevision } from '#library/catalog/store.ts'
import { syncCatalog } from '#library/catalog/sync.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

const marketplace = '/api/v1/marketplace/skills'
const origin: CatalogSource = { repository: 'https://git.test/skills', commitHash: 'a'.repeat(40) }
const shipped = join(import.meta.dirname, '../../../../catalog')

let house: House
const scratch = mkdtempSync(join(tmpdir(), 'guildhall-catalog-'))

afterAll(() => rmSync(scratch, { recursive: true }))

async function open(): Promise<void> {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
}
const close = () => house.close()

function skillText(name: string, { description = `About ${name}.`, metadata = {} } = {}): string {
  const lines = Object.entries(metadata).map(([key, value]) => `  ${key}: ${JSON.stringify(value)}\n`)
  const head = `name: ${name}\ndescription: ${JSON.stringify(description)}\nmetadata:\n${lines.join('')}`
  return `---\n${head}---\nDo ${name}.\n`
}

function folder(path: string, text = skillText(path), more: Record<string, string> = {}): SkillFolder {
  const files = Object.entries({ 'SKILL.md': text, ...more })
  return { path, files: files.map(([name, content]) => ({ path: name, bytes: Buffer.from(content) })) }
}

async function listAll(query = ''): Promise<{ slug: string; category: string }[]> {
  const { status, body, text } = await house.call('GET', marketplace + query)
  expect(status, text).toBe(200)
  return body
}
const slugs = async (query = '') => (await listAll(query)).map(({ slug }) => slug)
const etag = async () => (await house.call('GET', marketplace)).headers.get('etag') ?? ''

describe('the shipped skills', () => {
  beforeEach(open)
  afterEach(close)

  test('all twelve are served, with categories that count them', async () => {
    await syncShippedCatalog(house.deps)
    const names = readdirSync(shipped).sort()
    expect(names).toHaveLength(12)
    const items = await listAll()
    expect(items.map(({ slug }) => slug)).toEqual(names)
    const { body } = await house.call('GET', `${marketplace}/categories`)
    expect(body).toContainEqual({ id: 'data', name: 'Data', count: 2 })
    for (const { id, count } of body) {
      expect(items.filter(({ category }) => category === id)).toHaveLength(count)
      expect(await slugs(`?category=${id}`)).toHaveLength(count)
    }
  })

  test('each bundle is a zip that is a skill again, with the same content', async () => {
    await syncShippedCatalog(house.deps)
    const { commitHash } = await readSkillsFolder(shipped)
    const person = await house.newPerson()
    for (const slug of await slugs()) {
      const { body: detail } = await house.call('GET', `${marketplace}/${slug}`)
      expect(detail).toMatchObject({ slug, author: 'Guildhall', version: '1.0.0', commitHash })
      const response = await fetch(`${house.url}${marketplace}/${slug}/bundle`)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('application/zip')
      expect(response.headers.get('x-commit-hash')).toBe(commitHash)
      const form = new FormData()
      form.set('type', 'skill')
      form.set('bundle', new Blob([await response.arrayBuffer()]), 'bundle')
      const artifact = await fetch(`${house.url}/api/v1/artifacts`, {
        method: 'POST',
        headers: { 'x-auth-token': person.token },
        body: form,
      })
      expect(artifact.status).toBe(201)
      const { contentChecksum, filesCount } = detail
      expect(await artifact.json()).toMatchObject({ slug, contentChecksum, filesCount })
    }
  })

  test('what running a script leaves behind is no part of a skill', async () => {
    const copy = join(scratch, 'copy')
    for (const [path, content] of [
      ['one/SKILL.md', skillText('one')],
      ['one/run.py', 'print(1)'],
      ['README.md', 'About these'],
      ['notes/todo.txt', 'no skill'],
    ] as const) {
      mkdirSync(dirname(join(copy, path)), { recursive: true })
      writeFileSync(join(copy, path), content)
    }
    const before = await readSkillsFolder(copy)
    mkdirSync(join(copy, 'one/__pycache__'))
    writeFileSync(join(copy, 'one/__pycache__/run.pyc'), 'x')
    writeFileSync(join(copy, 'one/.DS_Store'), 'x')
    expect(await readSkillsFolder(copy)).toEqual(before)
    expect(before.folders.map(({ path, files }) => [path, files.map((file) => file.path)])).toEqual([
      ['one', ['SKILL.md', 'run.py']],
    ])
    writeFileSync(join(copy, 'one/run.py'), 'print(2)')
    expect((await readSkillsFolder(copy)).commitHash).not.toBe(before.commitHash)
  })

  test('an empty folder is a mistake and removes nothing', async () => {
    const empty = mkdtempSync(join(scratch, 'empty-'))
    await expect(readSkillsFolder(empty)).rejects.toThrow('CATALOG_DIR')
    await expect(readSkillsFolder(join(empty, 'absent'))).rejects.toThrow('ENOENT')
  })

  test('a process whose store is away serves, and brings them in when it is back', async () => {
    const { storage } = house.deps.config
    if (storage.kind !== 'directory') throw new Error('this house keeps its blobs in a directory')
    renameSync(storage.path, `${storage.path}.away`)
    const started = performance.now()
    await offerShippedCatalog(house.deps)
    expectWithin(performance.now() - started, 3000)
    expect(await slugs()).toEqual([])
    expect(house.log()).toContain('could not be brought into the catalog yet')
    renameSync(`${storage.path}.away`, storage.path)
    await vi.waitFor(async () => expect(await slugs()).toHaveLength(12), { timeout: 10_000, interval: 100 })
    expect(existsSync(storage.path)).toBe(true)
  })
})

describe('a sync', () => {
  beforeEach(open)
  afterEach(close)

  test('of the same state again changes nothing', async () => {
    const folders = [folder('alpha'), folder('beta')]
    const first = await syncCatalog(house.deps, origin, folders)
    expect(first).toMatchObject({ skills: 2, written: 2, removed: 0, skipped: [] })
    const before = await etag()
    const second = await syncCatalog(house.deps, origin, folders)
    expect(second).toMatchObject({ skills: 2, written: 0, removed: 0, revision: first.revision })
    const again = await fetch(house.url + marketplace, { headers: { 'if-none-match': before } })
    expect(again.status).toBe(304)
    expect(await again.text()).toBe('')
  })

  test('of a changed state replaces what differs, and clients see another ETag', async () => {
    const tools = {
      metadata: { category: 'Data Work', author: 'A', version: 2, scopes: 'trace:read agent:list' },
    }
    const first = await syncCatalog(house.deps, origin, [folder('alpha'), folder('beta'), folder('gamma')])
    const before = await etag()
    const next = { ...origin, commitHash: 'b'.repeat(40) }
    const changed = [folder('beta', skillText('beta', tools), { 'a.txt': 'more' }), folder('delta')]
    const second = await syncCatalog(house.deps, next, changed)
    expect(second).toMatchObject({ skills: 2, written: 2, removed: 2, revision: first.revision + 1 })
    const after = await house.call('GET', marketplace, { headers: { 'if-none-match': before } })
    expect(after.status).toBe(200)
    expect(after.headers.get('etag')).not.toBe(before)
    expect(await slugs()).toEqual(['beta', 'delta'])
    expect((await house.call('GET', `${marketplace}/alpha`)).status).toBe(404)
    expect((await house.call('GET', `${marketplace}/alpha/bundle`)).status).toBe(404)
    expect((await house.call('GET', `${marketplace}/beta`)).body).toEqual({
      slug: 'beta',
      name: 'beta',
      description: 'About beta.',
      category: 'data-work',
      repository: origin.repository,
      prompt: skillText('beta', tools),
      author: 'A',
      version: '2',
      commitHash: next.commitHash,
      filesCount: 2,
      contentChecksum: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect((await house.call('GET', `${marketplace}/categories`)).body).toEqual([
      { id: 'data-work', name: 'Data work', count: 1 },
      { id: 'general', name: 'General', count: 1 },
    ])
  })

  test('by five processes at once is done once', async () => {
    const folders = Array.from({ length: 20 }, (_, i) => folder(`skill-${i}`))
    const reports = await Promise.all(
      Array.from({ length: 5 }, () => syncCatalog(house.deps, origin, folders)),
    )
    expect(new Set(reports.map(({ revision }) => revision)).size).toBe(1)
    expect(reports.map(({ written }) => written).sort()).toEqual([0, 0, 0, 0, 20])
    expect(await slugs()).toHaveLength(20)
  })

  test('is seen whole or not at all', async () => {
    const state = (prefix: string) =>
      Array.from({ length: 30 }, (_, i) =>
        folder(`${prefix}-${i}`, skillText(`${prefix}-${i}`, { metadata: { category: prefix } })),
      )
    const states = [state('one'), state('two')]
    await syncCatalog(house.deps, origin, states[0] ?? [])
    let syncing = true
    const seen = new Set<string>()
    const reader = async () => {
      while (syncing) {
        const prefixes = (await slugs()).map((slug) => slug.split('-')[0])
        expect(prefixes).toHaveLength(30)
        expect(new Set(prefixes).size).toBe(1)
        seen.add(prefixes[0] ?? '')
        const { body } = await house.call('GET', `${marketplace}/categories`)
        expect(body).toHaveLength(1)
        expect(body[0].count).toBe(30)
      }
    }
    const readers = Promise.all([reader(), reader()])
    for (let round = 1; round <= 10; round++) await syncCatalog(house.deps, origin, states[round % 2] ?? [])
    syncing = false
    await readers
    expect([...seen].sort()).toEqual(['one', 'two'])
  })

  test('leaves a slug to the source that had it first, until that one gives it up', async () => {
    const other = { ...origin, repository: 'https://git.test/other' }
    await syncCatalog(house.deps, origin, [folder('alpha'), folder('beta')])
    const report = await syncCatalog(house.deps, other, [folder('alpha'), folder('gamma')])
    expect(report).toMatchObject({
      skills: 1,
      skipped: [{ path: 'alpha', reason: expect.stringContaining('alpha') }],
    })
    const repositoryOf = async (slug: string) =>
      (await house.call('GET', `${marketplace}/${slug}`)).body.repository
    expect(await repositoryOf('alpha')).toBe(origin.repository)
    expect(await slugs()).toEqual(['alpha', 'beta', 'gamma'])
    await syncCatalog(house.deps, origin, [folder('beta')])
    expect(await slugs()).toEqual(['beta', 'gamma'])
    expect(await syncCatalog(house.deps, other, [folder('alpha'), folder('gamma')])).toMatchObject({
      skills: 2,
      written: 1,
      skipped: [],
    })
    expect(await repositoryOf('alpha')).toBe(other.repository)
  })

  test('reports what is no skill and takes the rest', async () => {
    const report = await syncCatalog(house.deps, origin, [
      folder('good'),
      folder('headless', 'no front matter'),
      folder('nul', skillText('nul', { description: 'a\0b' })),
      folder('nul-in-text', `${skillText('nul-in-text')}\0`),
      folder('list', skillText('categories')),
      folder('again/good', skillText('good')),
      folder('escape', skillText('escape'), { '../outside': 'x' }),
      { path: 'empty', files: [] },
    ])
    expect(report.skills).toBe(1)
    expect(report.skipped.map(({ path }) => path)).toEqual([
      'headless',
      'nul',
      'nul-in-text',
      'list',
      'again/good',
      'escape',
      'empty',
    ])
    for (const { reason } of report.skipped) expect(reason).toMatch(/\w{3}/)
    expect(await slugs()).toEqual(['good'])
    expect(Array.isArray((await house.call('GET', `${marketplace}/categories`)).body)).toBe(true)
  })

  test('that cannot write its bytes changes nothing', async () => {
    await syncCatalog(house.deps, origin, [folder('alpha')])
    const before = await etag()
    const { storage } = house.deps.config
    if (storage.kind !== 'directory') throw new Error('this house keeps its blobs in a directory')
    renameSync(storage.path, `${storage.path}.away`)
    await expect(syncCatalog(house.deps, origin, [folder('beta')])).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
    })
    renameSync(`${storage.path}.away`, storage.path)
    expect(await etag()).toBe(before)
  })

  test('whose skills are installed nowhere keeps their content from the sweep', async () => {
    await syncCatalog(house.deps, origin, [folder('alpha')])
    const client = house.deps.database.db
    await client.updateTable('blobs').set({ touched_at: '2020-01-01T00:00:00Z' }).execute()
    await client.updateTable('bundles').set({ touched_at: '2020-01-01T00:00:00Z' }).execute()
    await house.sweeps.find(({ table }) => table === 'blobs')?.run()
    expect((await house.call('GET', `${marketplace}/alpha/bundle`)).status).toBe(200)
    expect(await client.selectFrom('blobs').select('checksum').execute()).toHaveLength(1)
  })
})

describe('the list', () => {
  const count = 1203
  beforeAll(async () => {
    await open()
    await syncCatalog(house.deps, origin, [folder('model')])
    const { db } = house.deps.database
    const model = await db.selectFrom('catalog_skills').selectAll().executeTakeFirstOrThrow()
    const { search: _, ...row } = model as typeof model & { search: string }
    await house.deps.database.transaction(async (tx) => {
      const rows = Array.from({ length: count - 1 }, (_, i) => {
        return { ...row, slug: `s-${String(i).padStart(4, '0')}`, category: i % 3 ? 'other' : 'third' }
      })
      expect(await insertSkills(tx, rows)).toBe(count - 1)
      await updateCategories(tx)
      await updateRevision(tx)
    })
  })
  afterAll(close)

  test('is the same whole, by pages, by category and compressed', async () => {
    const all = await listAll()
    expect(all).toHaveLength(count)
    expect(await listAll('?limit=1000&offset=0')).toEqual(all.slice(0, 1000))
    expect(await listAll('?limit=1000&offset=1000')).toEqual(all.slice(1000))
    expect(await listAll('?limit=1&offset=1')).toEqual([all[1]])
    expect(await listAll(`?limit=5&offset=${count}`)).toEqual([])
    const third = all.filter(({ category }) => category === 'third')
    expect(await listAll('?category=third')).toEqual(third)
    expect(await listAll('?category=third&limit=2&offset=1')).toEqual(third.slice(1, 3))
    expect(await listAll('?category=nothing-has-it')).toEqual([])
    const zipped = await fetch(house.url + marketplace, { headers: { 'accept-encoding': 'gzip' } })
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    expect(await zipped.json()).toEqual(all)
    const plain = await fetch(house.url + marketplace, { headers: { 'accept-encoding': 'identity' } })
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(await plain.json()).toEqual(all)
  })

  test.each(['limit=x', 'offset=x', 'limit=1&offset=1,5', 'q=', `q=${'x'.repeat(201)}`])(
    '%s is refused',
    async (query) => {
      const answer = await house.call('GET', `${marketplace}?${query}`)
      expect(answer.status).toBe(400)
      expect(answer.body.error.code).toBe('INVALID_INPUT')
    },
  )
})

describe('search', () => {
  beforeAll(async () => {
    await open()
    const about = (description: string, category = 'data') => ({ description, metadata: { category } })
    await syncCatalog(house.deps, origin, [
      folder('aaa', skillText('aaa', about('Mentions invoices in passing, among reports.', 'finance'))),
      folder('invoice-reader', skillText('invoice-reader', about('Reads papers.', 'finance'))),
      folder('sql-explainer', skillText('sql-explainer', about('Explains queries.'))),
    ])
  })
  afterAll(close)
  const find = (q: string, more = '') => slugs(`?q=${encodeURIComponent(q)}${more}`)

  test('finds words in any form, those of the name first', async () => {
    expect(await find('invoice')).toEqual(['invoice-reader', 'aaa'])
    expect(await find('explaining query')).toEqual(['sql-explainer'])
    expect(await find('invoice -papers')).toEqual(['aaa'])
    expect(await find('finance')).toEqual(['aaa', 'invoice-reader'])
    expect(await find('invoice', '&limit=1&offset=1')).toEqual(['aaa'])
    expect(await find('invoice', '&category=data')).toEqual([])
    expect(await find('nothing of the sort')).toEqual([])
  })

  test.each(['"', "'", '!!', ':*', '-', 'a & | !', '((', '\\', '%', 'the', "'; drop table x; --"])(
    'takes %j for words',
    async (q) => {
      expect(Array.isArray(await find(q))).toBe(true)
    },
  )
})
