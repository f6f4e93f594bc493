import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sweepBlobs } from '#library/artifacts/artifacts.ts'
import { resolveWorkflow } from '#library/workflows/workflows.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { storedAs } from '../support/blobs.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'

let house: House
let person: Person
let databaseUrl: string

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl, DEV_TOOLS: '1' })
  person = await house.newPerson()
})

afterAll(() => house.close())

const by = (who: Person) => (method: string, path: string, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { token: who.token, ...(body === undefined ? {} : { body }) })

const define = (change: object = {}) => ({
  id: 'greet',
  inputSchema: { type: 'object' },
  outputSchema: {},
  graph: [{ type: 'tool', id: 'say', toolId: 'echo' }],
  ...change,
})

test('a workflow is installed in three shapes, replaced, read and removed by two routes', async () => {
  const who = await house.newPerson()
  const call = by(who)
  const definition = define({
    description: 'Says hello.',
    metadata: {
      name: 'Greeting',
      category: 'talk',
      requiresConnector: 'mail',
      triggers: [{ on: 'day' }],
      x: [1],
    },
  })
  const content = `${JSON.stringify(definition, null, 3)}\n \n`
  const first = await call('POST', '/workflows/hello/install', { content })
  expect(first.status).toBe(201)
  expect(first.body).toEqual({
    id: expect.any(Number),
    slug: 'hello',
    name: 'Greeting',
    description: 'Says hello.',
    category: 'talk',
    storagePath: expect.stringMatching(/^bundles\/[0-9a-f]{64}$/),
    installedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    workspaceId: who.workspaceId,
    requiresConnector: 'mail',
    definition: content,
  })
  const changed = { ...definition, metadata: { name: 5, category: null } }
  for (const body of [{ definition: changed }, changed]) {
    const next = await call('POST', '/workflows/hello/install', body)
    expect(next.status).toBe(201)
    expect(next.body).toMatchObject({ id: first.body.id, name: 'hello', category: 'general' })
    expect(next.body.definition).toBe(JSON.stringify(changed))
  }
  await call('POST', '/workflows/a-second/install', define({ id: 'second' }))
  const list = (await call('GET', '/workflows')).body as { slug: string }[]
  expect(list.map(({ slug }) => slug)).toEqual(['a-second', 'hello'])
  expect(list[1]).toEqual((await call('GET', '/workflows/hello')).body)
  await call('POST', '/workflows/hello/install', definition)
  expect((await call('GET', '/workflows/definitions')).body).toEqual({
    workflows: [
      expect.objectContaining({ id: 'second', slug: 'a-second' }),
      {
        id: 'greet',
        slug: 'hello',
        name: 'Greeting',
        description: 'Says hello.',
        category: 'talk',
        inputSchema: { type: 'object' },
        outputSchema: {},
        triggers: [{ on: 'day' }],
        requiresConnector: 'mail',
      },
    ],
    format: 'guildhall-workflow-v1',
    exportable: true,
    count: 2,
  })
  expect((await call('POST', '/workflows/hello/uninstall')).body).toEqual({ success: true })
  expect((await call('DELETE', '/workflows/a-second')).body).toEqual({ success: true })
  for (const path of ['/workflows/hello', '/workflows/a-second'])
    expect((await call('GET', path)).status).toBe(404)
  expect((await call('POST', '/workflows/hello/uninstall')).status).toBe(404)
  expect((await call('DELETE', '/workflows/hello')).status).toBe(404)
  expect((await call('GET', '/workflows')).body).toEqual([])
  expect((await call('GET', '/workflows/definitions')).body).toMatchObject({ workflows: [], count: 0 })
})

test('slugs that are routes, and ones that are none, are refused', async () => {
  const call = by(person)
  for (const slug of [
    'definitions',
    'runs',
    'queue',
    'install-from-artifact',
    'validate',
    'Upper',
    '-a',
    'x'.repeat(65),
  ]) {
    const { status, body } = await call('POST', `/workflows/${slug}/install`, define())
    expect([status, body.error.code], slug).toEqual([400, 'INVALID_INPUT'])
  }
})

test('a key without the right may read and not write', async () => {
  await by(person)('POST', '/workflows/kept/install', define())
  const { secret } = await house.newKey(person, { scopes: ['agent:list'] })
  const asKey = (method: string, path: string, body?: unknown) =>
    house.call(method, `/api/v1/workflows${path}`, { key: secret, ...(body === undefined ? {} : { body }) })
  expect((await asKey('GET', '/kept')).status).toBe(200)
  expect((await asKey('POST', '/validate', define())).status).toBe(200)
  for (const answer of [
    await asKey('POST', '/kept/install', define()),
    await asKey('POST', '/kept/uninstall'),
    await asKey('DELETE', '/kept'),
    await asKey('POST', '/install-from-artifact', { artifactId: 'artifact_x' }),
  ]) {
    expect(answer.status).toBe(403)
  }
})

test('what a workflow is found by, and what one workspace sees of another', async () => {
  const [mine, theirs] = [await house.newPerson(), await house.newPerson()]
  const { db } = house.deps.database
  await by(mine)('POST', '/workflows/one/install', define({ id: 'declared' }))
  const slugOf = async (id: string, workspaceId = mine.workspaceId) => {
    const found = await resolveWorkflow(db, workspaceId, id)
    return found && ('row' in found ? found.row.slug : found.candidates)
  }
  for (const id of ['one', `${mine.workspaceId}:one`, 'declared']) {
    expect(await slugOf(id)).toBe('one')
    expect(await slugOf(id, theirs.workspaceId)).toBeUndefined()
  }
  await by(mine)('POST', '/workflows/two/install', define({ id: 'declared' }))
  expect(await slugOf('declared')).toEqual(['one', 'two'])
  await by(mine)('POST', '/workflows/declared/install', define({ id: 'other' }))
  expect(await slugOf('declared')).toBe('declared')
  expect((await by(theirs)('GET', '/workflows')).body).toEqual([])
  expect((await by(theirs)('DELETE', '/workflows/one')).status).toBe(404)
  await by(theirs)('POST', '/workflows/one/install', define({ id: 'theirs' }))
  expect(JSON.parse((await by(mine)('GET', '/workflows/one')).body.definition).id).toBe('declared')
})

test('a name that cannot be stored does not stand in the way of a definition that can', async () => {
  const content = JSON.stringify(define({ metadata: { name: 'a\0b', category: '\0' } }))
  const { status, body } = await by(person)('POST', '/workflows/nul/install', { content })
  expect([status, body.name, body.category, body.definition]).toEqual([201, 'ab', '', content])
})

describe('from an artifact', () => {
  const newArtifact = async (type: string, path: string, content: string, slug = 'from-artifact') => {
    const { status, body } = await by(person)('POST', '/artifacts', {
      type,
      slug,
      files: [{ path, content }],
    })
    expect(status).toBe(201)
    return body.id as string
  }
  const install = (artifactId: unknown) =>
    by(person)('POST', '/workflows/install-from-artifact', { artifactId })

  test('its workflow.json is installed under its slug', async () => {
    const text = JSON.stringify(define(), null, 2)
    const answer = await install(await newArtifact('workflow', 'workflow.json', text))
    expect([answer.status, answer.body.slug, answer.body.definition]).toEqual([201, 'from-artifact', text])
  })

  test('what is wrong with it is said, with the status that the interface gives it', async () => {
    const broken = await install(
      await newArtifact('workflow', 'workflow.json', JSON.stringify(define({ graph: [] })), 'b'),
    )
    expect([broken.status, broken.body.error.code]).toEqual([500, 'INTERNAL_ERROR'])
    expect(broken.body.error.details).toMatchObject({
      issues: [{ code: 'empty-graph', path: 'graph', hint: expect.stringContaining('at least one entry') }],
      count: 1,
    })
    const wrongType = await install(await newArtifact('file', 'workflow.json', '{}'))
    expect([wrongType.status, wrongType.body.error.code]).toEqual([400, 'INVALID_INPUT'])
    expect((await install(undefined)).status).toBe(400)
    expect((await install('artifact_none')).status).toBe(404)
    const reserved = await install(
      await newArtifact('workflow', 'workflow.json', JSON.stringify(define()), 'runs'),
    )
    expect(reserved.status).toBe(400)
    const stranger = await house.newPerson()
    const foreign = await newArtifact('workflow', 'workflow.json', JSON.stringify(define()))
    const taken = await by(stranger)('POST', '/workflows/install-from-artifact', { artifactId: foreign })
    expect(taken.status).toBe(404)
  })

  test('one that lacks the file is our failure', async () => {
    const id = await newArtifact('file', 'other.txt', 'x')
    await house.deps.database.db
      .updateTable('artifacts')
      .set({ type: 'workflow' })
      .where('id', '=', id)
      .execute()
    const { status, body } = await install(id)
    expect([status, body.error.code, body.error.details]).toEqual([
      500,
      'INTERNAL_ERROR',
      { missing: 'workflow.json' },
    ])
  })
})

test('one that is fetched from outside is recognised by its file', async () => {
  const { storage } = house.deps.config
  if (storage.kind !== 'directory') throw new Error('expected a folder')
  const imports = join(storage.path, 'imports', person.workspaceId)
  const folder = join(imports, 'flow')
  await mkdir(folder, { recursive: true })
  const text = JSON.stringify(define({ id: 'imported', metadata: { name: 'From its author' } }), null, 1)
  await writeFile(join(folder, 'workflow.json'), text)
  await writeFile(join(folder, 'README.md'), 'About it.')
  execFileSync('tar', ['-czf', join(imports, 'flow.tar.gz'), '-C', imports, 'flow'])
  const call = by(person)
  const source = { type: 'r2', key: 'flow.tar.gz' }
  const { status, body } = await call('POST', '/install', { source, category: 'borrowed' })
  expect(status).toBe(201)
  expect(body).toMatchObject({ kind: 'workflow', slug: 'imported', source, filesCount: 1 })
  expect(body.workflow).toMatchObject({ name: 'From its author', category: 'borrowed', definition: text })
  expect(body.workflow).toEqual((await call('GET', '/workflows/imported')).body)
  const renamed = await call('POST', '/install', { source, kind: 'workflow', slug: 'renamed', name: 'Mine' })
  expect(renamed.body.workflow).toMatchObject({ slug: 'renamed', name: 'Mine' })
  await writeFile(join(folder, 'workflow.json'), '{}')
  execFileSync('tar', ['-czf', join(imports, 'flow.tar.gz'), '-C', imports, 'flow'])
  const broken = await call('POST', '/install', { source })
  expect([broken.status, broken.body.error.details.issues.length]).toEqual([400, 4])
})

describe('the two stores', () => {
  test('while files cannot be written nothing is installed, and what was there stays', async () => {
    const call = by(person)
    const before = define({ description: randomUUID() })
    await call('POST', '/workflows/steady/install', before)
    const { storage } = house.deps.config
    if (storage.kind !== 'directory') throw new Error('expected a folder')
    await rename(storage.path, `${storage.path}-away`)
    const answers = [
      await call('POST', '/workflows/steady/install', define({ description: randomUUID() })),
      await call('POST', '/workflows/unborn/install', define({ description: randomUUID() })),
    ]
    await rename(`${storage.path}-away`, storage.path)
    for (const { status, body } of answers) expect([status, body.error.code]).toEqual([500, 'INTERNAL_ERROR'])
    expect((await call('GET', '/workflows/steady')).body.definition).toBe(JSON.stringify(before))
    expect((await call('GET', '/workflows/unborn')).status).toBe(404)
  })

  test('the file is kept for as long as the workflow, and swept after it', async () => {
    const call = by(person)
    const text = JSON.stringify(define({ description: randomUUID() }))
    const { body } = await call('POST', '/workflows/filed/install', { content: text })
    const checksum = body.storagePath.replace('bundles/', '')
    const { db } = house.deps.database
    const [file] = await db
      .selectFrom('bundle_files')
      .selectAll()
      .where('bundle_checksum', '=', checksum)
      .execute()
    expect(file?.path).toBe('workflow.json')
    const name = await storedAs(house, file?.checksum ?? '')
    const kept = async () => (await house.deps.storage.read(name, 1_000_000))?.toString()
    expect(await kept()).toBe(text)
    await shiftClock(databaseUrl, 7200)
    await sweepBlobs(house.deps)
    expect(await kept()).toBe(text)
    await call('DELETE', '/workflows/filed')
    await sweepBlobs(house.deps)
    await shiftClock(databaseUrl, 0)
    expect(await kept()).toBeUndefined()
  })

  test('of installs that race the last one stands, whole, and a repeated one answers the same', async () => {
    const call = by(person)
    const texts = Array.from({ length: 8 }, (_, n) => JSON.stringify(define({ description: `turn ${n}` })))
    const answers = await Promise.all(
      texts.map((content) => call('POST', '/workflows/raced/install', { content })),
    )
    for (const [n, { status, body }] of answers.entries())
      expect([status, body.definition]).toEqual([201, texts[n]])
    const { body } = await call('GET', '/workflows/raced')
    expect(body.description).toBe(JSON.parse(body.definition).description)
    const again = () =>
      house.call('POST', '/api/v1/workflows/repeated/install', {
        token: person.token,
        headers: { 'idempotency-key': 'once' },
        body: define(),
      })
    expect((await again()).body).toEqual((await again()).body)
  })
})

test('a workspace has room for 1,000, and they are listed whole', async () => {
  const full = await house.newPerson()
  const call = by(full)
  const { body } = await call('POST', '/workflows/w/install', define())
  const { db } = house.deps.database
  const { id, installed_at, ...row } = await db
    .selectFrom('workflows')
    .selectAll()
    .where('id', '=', body.id)
    .executeTakeFirstOrThrow()
  await db
    .insertInto('workflows')
    .values(Array.from({ length: 998 }, (_, n) => ({ ...row, slug: `w${n}` })))
    .execute()
  const both = await Promise.all(
    ['x', 'y'].map((slug) => call('POST', `/workflows/${slug}/install`, define())),
  )
  expect(both.map(({ status }) => status).sort()).toEqual([201, 400])
  expect(both.find(({ status }) => status === 400)?.body.error.details).toEqual({ limit: 1000 })
  expect((await call('POST', '/workflows/w/install', define())).status).toBe(201)
  const listed = (await call('GET', '/workflows')).body as { slug: string }[]
  expect(new Set(listed.map(({ slug }) => slug)).size).toBe(1000)
  expect((await call('GET', '/workflows/definitions')).body.count).toBe(1000)
})

test('workflows that come as artifacts without a slug are told apart by the id they declare', async () => {
  const call = by(await house.newPerson())
  const made = async (definition: unknown, fields: object = {}) => {
    const files = [{ path: 'workflow.json', content: JSON.stringify(definition) }]
    const answer = await call('POST', '/artifacts', { type: 'workflow', files, ...fields })
    expect(answer.status, answer.text).toBe(201)
    return answer.body as { id: string; slug: string }
  }
  for (const id of ['one', 'two']) {
    const { id: artifactId, slug } = await made(define({ id }))
    expect(slug).toBe(id)
    expect((await call('POST', '/workflows/install-from-artifact', { artifactId })).status).toBe(201)
  }
  const { body } = await call('GET', '/workflows')
  expect(body.map(({ slug }: { slug: string }) => slug).sort()).toEqual(['one', 'two'])
  expect((await made(define({ id: 'one' }), { slug: 'mine' })).slug).toBe('mine')
  // What declares nothing that could be a slug is named after what it is called.
  for (const odd of [{ id: '../x' }, { id: 5 }, [], null, 'text'])
    expect((await made(odd, { name: 'My Flow' })).slug).toBe('my-flow')
})
