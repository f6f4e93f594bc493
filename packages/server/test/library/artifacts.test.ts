import { createHash } from 'node:crypto'
import { renameSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeTarGz, makeZip } from '../../../../test/support/archives.ts'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { hostileBundles } from '../../../../test/support/hostile-bundles.ts'
import { storedAs } from '../support/blobs.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'

let databaseUrl: string
let house: House
let person: Person

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  person = await house.newPerson()
})

afterAll(() => house.close())

const skillText = '---\nname: greeter\ndescription: Greets people when asked to.\n---\nSay hello.\n'

async function sendForm(form: FormData, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${house.url}/api/v1/artifacts`, {
    method: 'POST',
    headers: { 'x-auth-token': person.token, ...headers },
    body: form,
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
}

function bundleForm(type: string, bundle: Buffer): FormData {
  const form = new FormData()
  form.set('type', type)
  form.set('bundle', new Blob([new Uint8Array(bundle)]), 'bundle')
  return form
}

const sendJson = (body: unknown) => house.call('POST', '/api/v1/artifacts', { token: person.token, body })

async function download(id: string, path?: string): Promise<Response> {
  const query = path === undefined ? '' : `?path=${encodeURIComponent(path)}`
  return fetch(`${house.url}/api/v1/artifacts/${id}/content${query}`, {
    headers: { 'x-auth-token': person.token },
  })
}

describe('the same files make the same bundle', () => {
  const files = { 'SKILL.md': skillText, 'scripts/hello.sh': 'echo hello\n' }

  test('as JSON, as single files, as zip and as tar.gz, with and without a folder around them', async () => {
    const single = new FormData()
    single.set('type', 'skill')
    for (const [path, content] of Object.entries(files)) single.append('files[]', new Blob([content]), path)
    const entries = Object.entries(files).map(([name, content]) => ({ name, content }))
    const inFolder = entries.map(({ name, content }) => ({ name: `greeter/${name}`, content }))
    const answers = [
      await sendJson({ type: 'skill', files: entries.map(({ name, content }) => ({ path: name, content })) }),
      await sendForm(single),
      await sendForm(bundleForm('skill', makeZip(entries))),
      await sendForm(bundleForm('skill', await makeTarGz(inFolder))),
    ]
    for (const answer of answers) {
      expect(answer.status, answer.text).toBe(201)
      expect(answer.body).toMatchObject({ type: 'skill', slug: 'greeter', name: 'greeter', filesCount: 2 })
    }
    expect(new Set(answers.map((answer) => answer.body.contentChecksum)).size).toBe(1)
    const { id, files: listed } = answers[2]?.body ?? {}
    for (const { path, checksum } of listed) {
      const bytes = Buffer.from(await (await download(id, path)).arrayBuffer())
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(checksum)
    }
  })
})

test('while the store is away an upload is 503 and leaves nothing behind', async () => {
  const { storage } = house.deps.config
  if (storage.kind !== 'directory') throw new Error('this house keeps its blobs in a directory')
  renameSync(storage.path, `${storage.path}.away`)
  try {
    const answer = await sendJson({ type: 'file', name: 'not kept', files: [{ path: 'a', content: 'lost' }] })
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(answer.text).not.toContain(storage.path)
  } finally {
    renameSync(`${storage.path}.away`, storage.path)
  }
  const list = await house.call('GET', '/api/v1/artifacts', { token: person.token })
  expect(list.text).not.toContain('not kept')
})

test('a download cannot become a page of ours', async () => {
  const { body } = await sendJson({
    type: 'file',
    files: [{ path: 'evil.html', content: '<script>alert(1)</script>' }],
  })
  const response = await download(body.id)
  expect(response.headers.get('content-type')).toBe('application/octet-stream')
  expect(response.headers.get('content-disposition')).toMatch(/^attachment/)
  expect(response.headers.get('content-security-policy')).toContain('sandbox')
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
})

test('the list pages through everything once, newest first, by type too', async () => {
  const someone = await house.newPerson()
  for (let i = 0; i < 5; i++) {
    const body = { type: 'file', name: `n${i}`, files: [{ path: 'a', content: String(i) }] }
    await house.call('POST', '/api/v1/artifacts', { token: someone.token, body })
  }
  const names = []
  let cursor = ''
  do {
    const page = await house.call('GET', `/api/v1/artifacts?type=file&limit=2${cursor}`, {
      token: someone.token,
    })
    names.push(...page.body.items.map((item: { name: string }) => item.name))
    cursor = page.body.nextCursor ? `&cursor=${page.body.nextCursor}` : ''
  } while (cursor)
  expect(names).toEqual(['n4', 'n3', 'n2', 'n1', 'n0'])
  const none = await house.call('GET', '/api/v1/artifacts?type=workflow', { token: someone.token })
  expect(none.body).toEqual({ items: [], nextCursor: null })
})

test('a repeated upload with one idempotency key makes one artifact; other bytes under it are refused', async () => {
  const headers = { 'idempotency-key': 'upload-1' }
  const zip = makeZip([{ name: 'a.txt', content: 'x' }])
  const first = await sendForm(bundleForm('file', zip), headers)
  const second = await sendForm(bundleForm('file', zip), headers)
  expect([first.status, second.status]).toEqual([201, 201])
  expect(second.body.id).toBe(first.body.id)
  const other = await sendForm(bundleForm('file', makeZip([{ name: 'a.txt', content: 'y' }])), headers)
  expect(other.status).toBe(409)
})

test('content that nothing refers to is swept after an hour, and what is wanted again stays', async () => {
  const { body: gone } = await sendJson({ type: 'file', files: [{ path: 'a', content: 'gone soon' }] })
  const { body: kept } = await sendJson({ type: 'file', files: [{ path: 'a', content: 'kept' }] })
  await house.call('DELETE', `/api/v1/artifacts/${gone.id}`, { token: person.token })
  const sweep = house.sweeps.find(({ table }) => table === 'blobs')
  const [goneSum, keptSum] = [
    await storedAs(house, gone.files[0].checksum),
    await storedAs(house, kept.files[0].checksum),
  ]
  await sweep?.run()
  expect(await house.deps.storage.has(goneSum)).toBe(true)
  await shiftClock(databaseUrl, 3601)
  try {
    await sweep?.run()
    expect(await house.deps.storage.has(goneSum)).toBe(false)
    expect(await house.deps.storage.has(keptSum)).toBe(true)
    const again = await sendJson({ type: 'file', files: [{ path: 'b', content: 'gone soon' }] })
    expect(again.status).toBe(201)
    expect(await (await download(again.body.id)).text()).toBe('gone soon')
  } finally {
    await shiftClock(databaseUrl, 0)
  }
})

test('every hostile bundle is refused as input and nothing of it is kept', async () => {
  const corpus = await hostileBundles()
  expect(corpus.length).toBeGreaterThanOrEqual(25)
  const { count: before } = await house.deps.database.db
    .selectFrom('artifacts')
    .select((e) => e.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  for (const [what, bundle] of corpus) {
    const answer = await sendForm(bundleForm('file', bundle))
    expect(answer.status, `${what}: ${answer.text}`).toBe(400)
    expect(answer.body.error.code, what).toBe('INVALID_INPUT')
  }
  const { count: after } = await house.deps.database.db
    .selectFrom('artifacts')
    .select((e) => e.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  expect(after).toBe(before)
})

test('a form that ends in the middle of a file, or is none, is refused and hurts nobody', async () => {
  const head = '--b\r\ncontent-disposition: form-data; name="files[]"; filename="a"\r\n\r\nhalf of it'
  const part = '--b\r\ncontent-disposition: form-data; name="type"\r\n\r\nfile\r\n'
  const nameless =
    '--b\r\ncontent-disposition: form-data; name="files[]"\r\ncontent-type: application/octet-stream\r\n\r\nbytes'
  for (const [type, body] of [
    ['multipart/form-data; boundary=b', head],
    ['multipart/form-data; boundary=b', `${part}${head}\r\n--b`],
    ['multipart/form-data; boundary=b', 'no form at all'],
    ['multipart/form-data', head],
    ['multipart/form-data; boundary=b', `${part}--b--`],
    // A file by its type, without a name.
    ['multipart/form-data; boundary=b', `${part}${nameless}\r\n--b--\r\n`],
  ]) {
    const answer = await house.call('POST', '/api/v1/artifacts', {
      token: person.token,
      body: body ?? '',
      headers: { 'content-type': type ?? '' },
    })
    expect(answer.status, `${body}: ${answer.text}`).toBe(400)
  }
  expect((await house.call('GET', '/healthz')).status).toBe(200)
})

test.each([
  ['no front matter', 'hello'],
  ['a name with capitals', '---\nname: Greeter\ndescription: x\n---\n'],
  ['no description', '---\nname: greeter\n---\n'],
  ['a description that is too long', `---\nname: greeter\ndescription: ${'x'.repeat(1025)}\n---\n`],
  ['broken YAML', '---\nname: [greeter\n---\n'],
  ['a YAML alias bomb', '---\na: &a [x,x]\nb: &b [*a,*a]\nname: greeter\ndescription: x\n---\n'],
])('a skill with %s is refused', async (_what, content) => {
  const answer = await sendJson({ type: 'skill', files: [{ path: 'SKILL.md', content }] })
  expect(answer.status, answer.text).toBe(400)
  expect(answer.body.error.message).toMatch(/^SKILL\.md:/)
})

test('a workflow without workflow.json, a bad encoding and a form elsewhere are refused', async () => {
  const missing = await sendJson({ type: 'workflow', files: [{ path: 'x', content: '{}' }] })
  expect(missing.body.error.details).toEqual({ missing: 'workflow.json' })
  const odd = await sendJson({ type: 'file', files: [{ path: 'x', content: 'a*b', encoding: 'base64' }] })
  expect(odd.status).toBe(400)
  const form = new FormData()
  form.set('label', 'x')
  const elsewhere = await fetch(`${house.url}/api/v1/keys`, {
    method: 'POST',
    headers: { 'x-auth-token': person.token },
    body: form,
  })
  expect(elsewhere.status).toBe(400)
})
