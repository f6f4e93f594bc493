import { afterAll, beforeAll, expect, test } from 'vitest'
import { saveProviderKey } from '#machinery/models/provider-keys.ts'
import { Looking } from '#running/traces/looking.ts'
import type { Person } from '../../../../test/support/caller.ts'
import type { House } from '../support/house.ts'
import { bearer, newTokens, type OAuthHouse, openOAuthHouse, registerApp } from '../support/oauth.ts'
import { planted } from '../support/redaction-corpus.ts'
import { callsOf, newTrace, said } from '../support/traces.ts'

let set: OAuthHouse
let house: House
let person: Person
let key: string

beforeAll(async () => {
  set = await openOAuthHouse()
  house = set.house
  person = await house.newPerson()
  key = (await house.newKey(person)).secret
})

afterAll(() => set?.close())

const exportOf = (id: string, query: string, credential: { key?: string; token?: string } = { key }) =>
  house.call('GET', `/api/v1/traces/${id}/export?${query}`, credential)

const formats = [
  ['md', 'text/markdown; charset=utf-8', 'md'],
  ['jsonl', 'application/jsonl; charset=utf-8', 'jsonl'],
  ['otlp', 'application/json; charset=utf-8', 'otlp.json'],
] as const

test.each(formats)('a key gets %s as a file without what is planted', async (format, type, ending) => {
  // Our own secrets do not even get into a trace; the others do.
  const others = planted.filter(({ what }) => !what.startsWith('our'))
  const id = await newTrace(house, person, [
    said('Begun'),
    ...others.map(({ text }) => said(`It is ${text}`)),
  ])
  const answer = await exportOf(id, `format=${format}&content=on`)
  expect(answer.status, answer.text).toBe(200)
  expect(answer.headers.get('content-type')).toBe(type)
  expect(answer.headers.get('content-disposition')).toContain(`${id}.${ending}`)
  expect(others.filter(({ secret }) => answer.text.includes(secret)).map(({ what }) => what)).toEqual([])
  expect(answer.text).toContain('Begun')
  expect(answer.text).toContain('[redacted: provider_key]')
})

test('the email and what is known of the person stay, and so does a provider key of theirs', async () => {
  const byok = await house.newPerson({ mode: 'byokmode' })
  const call = callsOf(house, byok)
  await call('PATCH', '/profile', { facts: { home: 'Kestrel Lane 14' } })
  const apiKey = 'not-like-any-other-key'
  const { database, config } = house.deps
  const stored = { provider: 'anthropic', baseUrl: 'https://model.example', apiKey } as const
  await database.transaction((tx) => saveProviderKey(tx, config.encryptionKeys, byok.userId, stored))
  const own = Buffer.from(`key=${apiKey}`).toString('base64')
  const id = await newTrace(house, byok, [
    said(`I am ${byok.email} of Kestrel Lane 14`),
    said(`${apiKey} ${own}`),
  ])
  const { text } = await exportOf(id, 'format=jsonl', byok)
  expect(text).toContain('I am [redacted: email] of [redacted: profile]')
  expect(text).not.toContain(apiKey)
  expect(text.trim().split('\n').at(-1)).toBe('{"redactions":{"email":1,"profile":1,"known_secret":2}}')
})

test('while others look through theirs, an export and a brief wait for their turn', async () => {
  const id = await newTrace(house, person, [said('Begun')])
  const others = [new Looking('one'), new Looking('two')]
  for (const other of others) await other.begin()
  const answered: number[] = []
  const asked = [exportOf(id, 'format=md'), house.call('GET', `/api/v1/traces/${id}/brief`, { key })]
  const told = asked.map((answer) => answer.then(({ status }) => answered.push(status)))
  for (let n = 0; n < 3; n++)
    expect((await house.call('GET', `/api/v1/traces/${id}`, { key })).status).toBe(200)
  expect(answered).toEqual([])
  for (const other of others) other.end()
  await Promise.all(told)
  expect(answered).toEqual([200, 200])
})

test('marked turns are left out', async () => {
  const id = await newTrace(house, person, [said('first words'), said('second words')])
  const { db } = house.deps.database
  await db
    .insertInto('trace_marks')
    .values({ trace_id: id, seq: 1, marked_by: person.userId, reason: null })
    .execute()
  const { text } = await exportOf(id, 'format=md')
  expect(text).not.toContain('first words')
  expect(text).toContain('second words')
  const brief = await house.call('GET', `/api/v1/traces/${id}/brief`, { key })
  expect(brief.body.markdown).not.toContain('first words')
  expect(brief.body).toMatchObject({ throughSeq: 2 })
})

test('only a person who is signed in turns redaction off', async () => {
  const password = planted.find(({ what }) => what === 'setting')?.text ?? ''
  const id = await newTrace(house, person, [said(password)])
  const open = await exportOf(id, 'format=jsonl&redact=off', { token: person.token })
  expect(open.text).toContain(password)
  expect(open.text).not.toContain('redactions')
  const byKey = await exportOf(id, 'redact=off')
  expect([byKey.status, byKey.body.error.code]).toEqual([403, 'FORBIDDEN'])
  // Refused before anything is looked up.
  expect((await exportOf('trace_none', 'redact=off')).status).toBe(403)
  const app = await registerApp(house, person)
  const { access_token } = await newTokens(house, app, {
    login: 'exporter',
    query: { scope: 'read trace:read' },
  })
  const path = `/api/v1/traces/${id}/export?redact=off`
  expect((await house.call('GET', path, bearer(access_token))).status).toBe(403)
})

test('content is left out where it is not asked for', async () => {
  const id = await newTrace(house, person, [said('these words')])
  expect((await exportOf(id, 'format=otlp')).text).not.toContain('these words')
  expect((await exportOf(id, 'format=otlp&content=on')).text).toContain('these words')
  expect((await exportOf(id, 'format=md')).text).toContain('these words')
  expect((await exportOf(id, 'format=md&content=off')).text).not.toContain('these words')
})

test('an unknown format is refused, and what is not there is 404', async () => {
  const id = await newTrace(house, person)
  expect((await exportOf(id, 'format=pdf')).status).toBe(400)
  expect((await exportOf('trace_none', 'format=md')).status).toBe(404)
  const stranger = await house.newPerson()
  expect((await exportOf(id, '', stranger)).status).toBe(404)
  expect((await house.call('GET', `/api/v1/traces/${id}/brief`, stranger)).status).toBe(404)
})

test('the same export twice has the same spans', async () => {
  const id = await newTrace(house, person, [said('one'), said('two')])
  const first = await exportOf(id, 'format=otlp')
  expect((await exportOf(id, 'format=otlp')).text).toBe(first.text)
})
