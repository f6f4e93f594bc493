import { execFileSync } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keyOf } from '#platform/storage.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { patienceFor } from '../../../../test/support/sizes.ts'
import { storedAs } from '../support/blobs.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
})

afterAll(() => house.close())

const skillText = (extra = '', body = 'Tidy up.') =>
  `---\nname: tidy\ndescription: Tidies up when asked to.\n${extra}---\n${body}\n`

async function newArtifact(text: string, more: { path: string; content: string }[] = []): Promise<string> {
  const { status, body } = await house.call('POST', '/api/v1/artifacts', {
    token: person.token,
    body: { type: 'skill', files: [{ path: 'SKILL.md', content: text }, ...more] },
  })
  expect(status).toBe(201)
  return body.id
}

const post = (path: string, body?: unknown) =>
  house.call('POST', `/api/v1${path}`, { token: person.token, ...(body === undefined ? {} : { body }) })
const get = (path: string) => house.call('GET', `/api/v1${path}`, { token: person.token })

test('a skill is installed, changed, compared, restored, exported and removed', async () => {
  const first = await post('/skills/tidy/install', { artifactId: await newArtifact(skillText()) })
  expect(first.status).toBe(200)
  expect(first.body).toMatchObject({ slug: 'tidy', versionNumber: 1, bundleType: 'file', warnings: [] })
  const script = { path: 'scripts/run.sh', content: '#!/bin/sh\necho hi\n' }
  const second = await post('/skills/tidy/install', {
    artifactId: await newArtifact(skillText('allowed-tools: bash\n', 'Tidy up well.'), [script]),
    name: 'Tidy!',
  })
  expect(second.body).toMatchObject({
    name: 'Tidy!',
    versionNumber: 2,
    bundleType: 'folder',
    asksForMore: { allowedTools: ['bash'], scopes: [] },
  })
  const diff = await get('/skills/tidy/diff')
  expect(diff.body).toMatchObject({ from: 1, to: 2 })
  expect(diff.body.files.map((file: { path: string; change: string }) => [file.path, file.change])).toEqual([
    ['SKILL.md', 'changed'],
    ['scripts/run.sh', 'added'],
  ])
  const restored = await post('/skills/tidy/versions/1/restore')
  expect(restored.body).toEqual({
    success: true,
    restoredFrom: 1,
    skill: { slug: 'tidy', contentChecksum: first.body.contentChecksum },
  })
  const versions = (await get('/skills/tidy/versions')).body as Record<string, unknown>[]
  expect(versions.map(({ versionNumber, active }) => [versionNumber, active])).toEqual([
    [3, true],
    [2, false],
    [1, false],
  ])
  expect(versions[0]).toMatchObject({ note: 'Restored from version 1', name: 'tidy' })
  expect((await post('/skills/tidy/uninstall')).body).toEqual({ success: true })
  expect((await get('/skills/tidy/versions')).status).toBe(404)
  const again = await post('/skills/tidy/install', { artifactId: await newArtifact(skillText()) })
  expect(again.body.versionNumber).toBe(4)
})

test('an exported skill can be brought in again unchanged', async () => {
  const script = { path: 'scripts/run.sh', content: '#!/bin/sh\necho hi\n' }
  const installed = await post('/skills/round-trip/install', {
    artifactId: await newArtifact(skillText(), [script]),
  })
  const answer = await fetch(`${house.url}/api/v1/skills/round-trip/bundle`, {
    headers: { 'x-auth-token': person.token },
  })
  expect(answer.headers.get('content-type')).toBe('application/zip')
  const form = new FormData()
  form.set('type', 'skill')
  form.set('bundle', new Blob([await answer.arrayBuffer()]), 'round-trip.zip')
  const back = await fetch(`${house.url}/api/v1/artifacts`, {
    method: 'POST',
    headers: { 'x-auth-token': person.token },
    body: form,
  })
  expect(await back.json()).toMatchObject({ contentChecksum: installed.body.contentChecksum, slug: 'tidy' })
})

test('while an execution works in the workspace nothing is installed or removed, and it can be gone back', async () => {
  const artifactId = await newArtifact(skillText())
  await post('/skills/busy/install', { artifactId })
  const slot = (executionId: number | null) =>
    house.deps.database.db
      .updateTable('workspace_slots')
      .set({ execution_id: executionId })
      .where('workspace_id', '=', person.workspaceId)
      .execute()
  await slot(7)
  const refused = [await post('/skills/busy/install', { artifactId }), await post('/skills/busy/uninstall')]
  const restored = await post('/skills/busy/versions/1/restore')
  await slot(null)
  for (const { status, body } of refused) {
    expect(status).toBe(429)
    expect(body).toMatchObject({ isRunning: true, error: { code: 'EXECUTION_RUNNING' } })
  }
  expect(restored.status, restored.text).toBe(200)
  expect((await get('/skills/busy')).body.versionNumber).toBe(2)
})

test('the library is listed whole, or by the page', async () => {
  const reader = await house.newPerson()
  const artifactId = (
    await house.call('POST', '/api/v1/artifacts', {
      token: reader.token,
      body: { type: 'skill', files: [{ path: 'SKILL.md', content: skillText() }] },
    })
  ).body.id
  for (const slug of ['c', 'a', 'b']) {
    await house.call('POST', `/api/v1/skills/${slug}/install`, { token: reader.token, body: { artifactId } })
  }
  const list = (query: string) => house.call('GET', `/api/v1/skills${query}`, { token: reader.token })
  const slugs = (items: { slug: string }[]) => items.map(({ slug }) => slug)
  expect(slugs((await list('')).body)).toEqual(['a', 'b', 'c'])
  const page = (await list('?limit=2&offset=1')).body
  expect(slugs(page.items)).toEqual(['b', 'c'])
  expect(page).toMatchObject({ total: 3, limit: 2, offset: 1, hasMore: false })
  expect((await list('?limit=2')).body.hasMore).toBe(true)
})

test('what is wrong is said', async () => {
  const file = await house.call('POST', '/api/v1/artifacts', {
    token: person.token,
    body: { type: 'file', files: [{ path: 'a.txt', content: 'a' }] },
  })
  const wrongType = await post('/skills/x/install', { artifactId: file.body.id })
  expect([wrongType.status, wrongType.body.error.code]).toEqual([400, 'INVALID_INPUT'])
  expect((await post('/skills/never-was/install')).status).toBe(404)
  expect((await post('/skills/x/install', { artifactId: 'artifact_none' })).status).toBe(404)
  const artifactId = await newArtifact(skillText())
  expect((await post('/skills/Not_A_Slug/install', { artifactId })).status).toBe(400)
  await post('/skills/tidy2/install', { artifactId })
  for (const number of ['0', '-1', '1.5', 'one', '99999999999']) {
    expect((await post(`/skills/tidy2/versions/${number}/restore`)).status).toBe(400)
  }
  expect((await post('/skills/tidy2/versions/9/restore')).status).toBe(404)
})

test('hidden characters and links in instructions are pointed out', async () => {
  const text = skillText('', 'Do this\u202e and see https://elsewhere.example/x for more.')
  const { body } = await post('/skills/odd/install', { artifactId: await newArtifact(text) })
  expect(body.warnings.map(({ code }: { code: string }) => code)).toEqual(
    expect.arrayContaining(['HIDDEN_UNICODE', 'LINK_OUT']),
  )
  expect((await get('/skills/odd')).body.warnings).toEqual(body.warnings)
})

test('a skill cannot be run while it is on its way from a slow store', async () => {
  const artifactId = await newArtifact(skillText('', 'Come slowly.'))
  const { checksum } = (await get(`/artifacts/${artifactId}`)).body.files[0]
  const { storage } = house.deps.config
  if (storage.kind !== 'directory') throw new Error('this store is a folder')
  const blob = join(storage.path, keyOf(await storedAs(house, checksum)))
  const bytes = await readFile(blob)
  await rm(blob)
  // Whoever opens it waits until somebody writes.
  execFileSync('mkfifo', [blob])
  const installing = post('/skills/slow/install', { artifactId })
  const run = async () => (await post('/skills/slow/run', { input: 'Go.' })).status
  try {
    await expect.poll(run, { timeout: patienceFor(5000) }).toBe(409)
  } finally {
    await writeFile(blob, bytes)
  }
  expect((await installing).status).toBe(200)
  expect(await run()).not.toBe(409)
})
