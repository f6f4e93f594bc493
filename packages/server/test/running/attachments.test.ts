import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { installErrand } from '../../../../test/support/executions.ts'
import { storedAs } from '../support/blobs.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

let house: House
let person: Person
let databaseUrl: string

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  person = await house.newPerson()
  await installErrand(house, person)
})

afterAll(() => house.close())

interface Stored {
  path: string
  checksum: string
  size_bytes: string
}

const query = <Row>(text: string, values: unknown[]) =>
  withDatabase(databaseUrl, async (database) => (await database.query(text, values)).rows as Row[])

async function upload(files: { path: string; content: string }[]): Promise<string> {
  const body = { type: 'file', name: 'Notes', files }
  const {
    status,
    text,
    body: made,
  } = await house.call('POST', '/api/v1/artifacts', { token: person.token, body })
  expect(status, text).toBeLessThan(300)
  return made.id
}

const filesOfArtifact = (id: string) =>
  query<Stored>(
    `select path, checksum, f.size_bytes from artifacts
     join bundle_files f on bundle_checksum = content_checksum where id = $1 order by path`,
    [id],
  )

const attach = (attachments: object[]) =>
  house.call('POST', '/api/v1/executions', {
    token: person.token,
    body: { skill_slug: 'errand', input: 'Later.', attachments },
  })

const filesOfExecution = (id: string) =>
  query<Stored>(
    `select path, checksum, f.size_bytes from executions
     join bundle_files f on f.bundle_checksum = attachments_checksum where execution_id = $1 order by path`,
    [id],
  )

test('an artifact is attached without a look at its content, under each of its names', async () => {
  const id = await upload([
    { path: 'a.txt', content: 'first' },
    { path: 'b.txt', content: 'second' },
  ])
  const [a, b] = await filesOfArtifact(id)
  if (!a || !b) throw new Error('two files were uploaded')
  // Not to be read: nobody could.
  await house.deps.storage.delete([await storedAs(house, a.checksum), await storedAs(house, b.checksum)])
  const data = Buffer.from('third').toString('base64')
  const { status, text, body } = await attach([
    { name: 'one', artifactId: id },
    { name: 'two', artifactId: id },
    { name: 'three.txt', data },
  ])
  expect(status, text).toBe(200)
  expect(await filesOfExecution(body.id)).toEqual([
    { ...a, path: 'one/a.txt' },
    { ...b, path: 'one/b.txt' },
    expect.objectContaining({ path: 'three.txt', size_bytes: '5' }),
    { ...a, path: 'two/a.txt' },
    { ...b, path: 'two/b.txt' },
  ])
})

test('the only file of an artifact has the name of the attachment', async () => {
  const id = await upload([{ path: 'deep/report.txt', content: 'only' }])
  const { body } = await attach([{ name: 'renamed.txt', artifactId: id }])
  expect((await filesOfExecution(body.id)).map(({ path }) => path)).toEqual(['renamed.txt'])
})

test('what is too large together is refused before anything of it is stored', async () => {
  const id = await upload([{ path: 'a.txt', content: 'x'.repeat(1_000_000) }])
  const countBlobs = () => query<{ count: string }>('select count(*) from blobs', [])
  const before = await countBlobs()
  const twenty = Array.from({ length: 20 }, (_, index) => ({ name: `${index}.txt`, artifactId: id }))
  const { status, body } = await attach([...twenty, { name: 'new.txt', data: 'bmV3ZXI=' }].slice(1))
  expect(status).toBe(400)
  expect(body.error.details.limit).toBeGreaterThan(1_000_000)
  expect(await countBlobs()).toEqual(before)
})

test('an artifact that is not there is named', async () => {
  const artifactId = `artifact_${crypto.randomUUID()}`
  const { status, body } = await attach([{ name: 'a.txt', artifactId }])
  expect([status, body.error.message]).toEqual([404, `attachments: there is no artifact ${artifactId}`])
})

test('a name that no file system takes is refused, counted in bytes', async () => {
  const data = Buffer.from('x').toString('base64')
  for (const name of ['x'.repeat(256), `${'é'.repeat(135)}.txt`, `folder/${'漢'.repeat(86)}`]) {
    const { status, text } = await attach([{ name, data }])
    expect(status, `${name}: ${text}`).toBe(400)
  }
  expect((await attach([{ name: `${'é'.repeat(125)}.txt`, data }])).status).toBe(200)
})
