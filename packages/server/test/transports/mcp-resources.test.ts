import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { modernMessage } from '../../../../test/support/mcp.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { newSkill, stageIn } from '../support/writing-stage.ts'

let house: House
let person: Person
let key: string
const publicUrl = 'https://guildhall.test'
const mebibyte = 1024 * 1024

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase(), PUBLIC_URL: publicUrl })
  person = await house.newPerson()
  key = (await house.newKey(person)).secret
})
afterAll(() => house.close())

const read = async (uri: string) =>
  (await house.call('POST', '/mcp/', { key, ...modernMessage('resources/read', { uri }) })).body

/** A file that was kept, and the address of it as a resource. */
async function keep(path: string, bytes: Buffer): Promise<{ id: string; uri: string }> {
  const body = { type: 'file', files: [{ path, content: bytes.toString('base64'), encoding: 'base64' }] }
  const {
    status,
    text,
    body: made,
  } = await house.call('POST', '/api/v1/artifacts', {
    token: person.token,
    body,
  })
  if (status !== 201) throw new Error(text)
  return { id: made.id, uri: `guildhall://artifacts/${made.id}/${encodeURIComponent(path)}` }
}

const readKept = async (path: string, bytes: Buffer) => {
  const { uri } = await keep(path, bytes)
  const [content] = (await read(uri)).result.contents
  expect(content.uri).toBe(uri)
  return content
}

describe('a file that was kept', () => {
  const words = '\ufeffGrüße, 世界 \u{1f600}\r\n'

  test.each<[string, string]>([
    ['report.md', 'text/markdown'],
    ['table.csv', 'text/csv'],
    ['deep/er/data.json', 'application/json'],
    ['feed.xml', 'application/xml'],
    ['drawing.svg', 'image/svg+xml'],
    ['program.ts', 'text/x-typescript'],
    ['set-up.sh', 'application/x-sh'],
    ['t\u00e4ble.sql', 'application/sql'],
    ['Makefile', 'text/plain'],
    ['log.unheard-of', 'text/plain'],
  ])('%s is text of type %s, to the byte', async (path, mimeType) => {
    const content = await readKept(path, Buffer.from(words))
    expect(content).toMatchObject({ mimeType, text: words })
    expect(content).not.toHaveProperty('blob')
  })

  test.each<[string, Buffer, string]>([
    ['half-a-letter.txt', Buffer.from([0x61, 0xc3]), 'text/plain'],
    ['latin.csv', Buffer.from('Gr\u00fc\u00dfe', 'latin1'), 'text/csv'],
    ['surrogate.txt', Buffer.from([0xed, 0xa0, 0x80]), 'text/plain'],
    ['overlong.md', Buffer.from([0xc0, 0x80]), 'text/markdown'],
    ['none.txt', Buffer.from('a\0b'), 'text/plain'],
    ['program', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0xff]), 'application/octet-stream'],
    ['picture.png', Buffer.from('not really'), 'image/png'],
    ['paper.pdf', Buffer.from('%PDF-1.4'), 'application/pdf'],
  ])('%s is bytes', async (path, bytes, mimeType) => {
    const content = await readKept(path, bytes)
    expect(content).toMatchObject({ mimeType, blob: bytes.toString('base64') })
    expect(content).not.toHaveProperty('text')
  })

  test('of one mebibyte is read, and of a byte more is told where it can be had', async () => {
    const [fits, large] = [Buffer.alloc(mebibyte, 'a'), Buffer.alloc(mebibyte + 1, 'a')]
    expect((await readKept('a.txt', fits)).text).toHaveLength(mebibyte)
    const { id, uri } = await keep('a b/c&d.txt', large)
    const { error } = await read(uri)
    const address = `${publicUrl}/api/v1/artifacts/${id}/content?path=a+b%2Fc%26d.txt`
    expect(error).toMatchObject({ code: -32602, data: { uri } })
    expect(error.message).toContain(address)
    const { status, text } = await house.call('GET', address.slice(publicUrl.length), { key })
    expect([status, text.length]).toEqual([200, large.length])
  })
})

test('a skill of megabytes is told where it can be had', async () => {
  await newSkill(stageIn(house, 'large', 'large'), person)
  await house.deps.database.db
    .updateTable('skill_versions')
    .set({ prompt: 'x'.repeat(mebibyte + 1) })
    .where('workspace_id', '=', person.workspaceId)
    .execute()
  const { error } = await read('skill://writer/SKILL.md')
  expect(error.code).toBe(-32602)
  expect(error.message).toContain(`${publicUrl}/api/v1/skills/writer`)
})
