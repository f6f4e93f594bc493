import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type House, openHouse } from '../support/house.ts'

let house: House

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
})
afterAll(() => house.close())

const head = (name: string, more = '') =>
  `---\nname: ${name}\ndescription: About ${name}.\n${more}---\nDo it.\n`
const skill = (content: string, path = 'SKILL.md') => [{ path, content }]

async function newCaller() {
  const person = await house.newPerson()
  const validate = (body: object) =>
    house.call('POST', '/api/v1/skills/validate', { token: person.token, body })
  return { person, validate }
}

test('tells what a skill would be, and keeps nothing of it', async () => {
  const { person, validate } = await newCaller()
  const files = [...skill(head('notes'), 'notes/SKILL.md'), ...skill('echo', 'notes/run.sh')]
  const answer = await validate({ files })
  expect([answer.status, answer.body]).toEqual([
    200,
    {
      valid: true,
      issues: [],
      warnings: [],
      name: 'notes',
      description: 'About notes.',
      filesCount: 2,
      sizeBytes: expect.any(Number),
    },
  ])
  for (const path of ['/api/v1/skills', '/api/v1/artifacts?limit=10']) {
    const { body } = await house.call('GET', path, { token: person.token })
    expect(body.items ?? body).toEqual([])
  }
})

test.each<[string, { path: string; content: string; encoding?: string }[], string]>([
  ['no file', [], 'at least one file'],
  ['no SKILL.md', skill('x', 'README.md'), 'needs SKILL.md'],
  ['no front matter', skill('x'), 'front matter'],
  ['a name that is none', skill(head('No Name')), 'name must be'],
  ['a path that leads out', [...skill(head('x')), ...skill('x', '../../etc/passwd')], 'leads out'],
  ['two files in one place', [...skill(head('x')), ...skill('x', 'skill.md')], 'another file'],
  ['what is no base64', [{ path: 'SKILL.md', content: '%', encoding: 'base64' }], 'not base64'],
])('says why it would be refused: %s', async (_name, files, told) => {
  const { validate } = await newCaller()
  const { status, body } = await validate({ files })
  expect([status, body.valid, body.warnings]).toEqual([200, false, []])
  expect(body.issues).toEqual([expect.objectContaining({ message: expect.stringContaining(told) })])
})

test('warns as an install does, and tells what it asks for beyond what is there', async () => {
  const { person, validate } = await newCaller()
  const old = await house.call('POST', '/api/v1/artifacts', {
    token: person.token,
    body: { type: 'skill', files: skill(head('notes', 'allowed-tools: bash\n')) },
  })
  await house.call('POST', '/api/v1/skills/mine/install', {
    token: person.token,
    body: { artifactId: old.body.id },
  })
  const files = skill(
    `${head('notes', 'allowed-tools: bash read_file spell\n')}See https://evil.example \u202e\n`,
  )
  const { body } = await validate({ slug: 'mine', files })
  expect(body.asksForMore).toEqual({ allowedTools: ['read_file', 'spell'], scopes: [] })
  expect(body.warnings.map(({ code }: { code: string }) => code).sort()).toEqual([
    'HIDDEN_UNICODE',
    'LINK_OUT',
    'UNKNOWN_TOOL',
  ])
  expect((await validate({ files })).body.asksForMore).toBeUndefined()
  const stranger = await newCaller()
  expect((await stranger.validate({ slug: 'mine', files })).body.asksForMore).toBeUndefined()
})

test('takes an archive and files of a form, and refuses a broken archive in words', async () => {
  const { person } = await newCaller()
  const send = async (field: string, name: string, bytes: string) => {
    const form = new FormData()
    form.append(field, new Blob([bytes]), name)
    const answer = await fetch(`${house.url}/api/v1/skills/validate`, {
      method: 'POST',
      headers: { 'x-auth-token': person.token },
      body: form,
    })
    return answer.json()
  }
  expect(await send('files[]', 'SKILL.md', head('notes'))).toMatchObject({ valid: true, name: 'notes' })
  expect(await send('bundle', 'x.zip', 'no archive')).toMatchObject({ valid: false })
})

test('needs no scope of a key, and a key that is alive', async () => {
  const { person } = await newCaller()
  const { id, secret } = await house.newKey(person, { scopes: ['profile:read'] })
  const body = { files: skill(head('notes')) }
  const validate = () => house.call('POST', '/api/v1/skills/validate', { key: secret, body })
  expect((await validate()).body.valid).toBe(true)
  await house.call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
  expect((await validate()).status).toBe(401)
})
