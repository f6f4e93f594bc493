import { describe, expect, test } from 'vitest'
import {
  confirm,
  inWorkspace,
  listKeys,
  lookup,
  newEmail,
  newKey,
  newPerson,
  newVisitor,
  newWorkspace,
  type Person,
  poll,
  startPairing,
} from './support/actors.ts'
import type { Answer } from './support/client.ts'
import { withFailingInsert } from './support/fault.ts'
import { callRoute, publishedRoutes } from './support/published.ts'
import { expectEnvelope, expectRefusal, isoPattern } from './support/shapes.ts'
import { stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

const json = { 'content-type': 'application/json' }

/** One refusal of each kind the house knows. */
async function someRefusals(): Promise<Answer[]> {
  const [person, other] = [await newPerson({ mode: 'byokmode' }), await newPerson()]
  const key = await newKey(person)
  const visitor = newVisitor()
  const { client } = await startPairing()
  return [
    await person.post('/workspaces', {}),
    await person.post('/workspaces', []),
    await person.send('POST', '/workspaces', { rawBody: '{', headers: json }),
    await person.send('POST', '/workspaces', { rawBody: '', headers: json }),
    await person.get('/activate/lookup'),
    await person.get('/workspaces/current/members?limit=none'),
    await person.get('/workspaces/current/members?cursor=none'),
    await person.post('/keys', { label: 'x', scopes: ['no:such:scope'] }),
    await visitor.get('/keys/%zz'),
    await visitor.get('/keys'),
    await visitor.get('/keys', { headers: { 'x-api-key': 'junk' } }),
    await visitor.post('/auth/exchange', { code: 'never-issued' }),
    await key.get('/keys'),
    await person.post('/keys', { label: 'One too many' }),
    await person.get('/keys', inWorkspace(other.workspaceId)),
    await person.get('/nope'),
    await person.delete('/keys/999999999'),
    await lookup(person, 'ZZZZ-ZZZZ'),
    await key.put('/workspaces/current', { workspaceId: other.workspaceId }),
    await client.post('/activate', undefined, { impatient: true }),
  ]
}

describe('an error', () => {
  test('has the standard envelope', async () => {
    verifies('errors:envelope:shape')
    const answers = await someRefusals()
    for (const answer of answers) {
      expect(answer.status, answer.text).toBeGreaterThanOrEqual(400)
      expectEnvelope(answer)
    }
    expect([...new Set(answers.map(({ status }) => status))].sort()).toEqual([400, 401, 403, 404, 409, 429])
  })

  test('has it also when the body is too large', async () => {
    verifies('errors:envelope:shape', 'errors:convention:json-bodies')
    const answer = await newVisitor().post('/activate/poll', { device_code: 'a'.repeat(2_000_000) })
    expectRefusal(answer, 400, 'INVALID_INPUT')
    expectEnvelope(answer)
  })

  test('has it also when the headers are too large', async () => {
    verifies('errors:envelope:shape', 'errors:convention:json-bodies')
    const answer = await newVisitor().get('/meta', { headers: { 'x-api-key': 'a'.repeat(20_000) } })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
    expectEnvelope(answer)
  })

  test('of an unknown route is not found', async () => {
    verifies('errors:envelope:unknown-route')
    const person = await newPerson()
    for (const answer of [await newVisitor().get('/nope'), await person.get('/nope')]) {
      expectRefusal(answer, 404, 'NOT_FOUND')
      expectEnvelope(answer)
    }
  })

  test('of a body that is no JSON is invalid input', async () => {
    verifies('errors:envelope:malformed-json')
    const person = await newPerson()
    const answers = [
      await person.send('POST', '/keys', { rawBody: '{', headers: json }),
      await newVisitor().send('POST', '/activate/poll', { rawBody: '{', headers: json }),
    ]
    for (const answer of answers) {
      expectRefusal(answer, 400, 'INVALID_INPUT')
      expectEnvelope(answer)
    }
  })

  stackOnly('of a key that cannot be stored is internal, and the code hands out none', () => {
    verifies('errors:internal:key-not-minted')
    return keyCannotBeStored()
  })
})

async function keyCannotBeStored(): Promise<void> {
  const person = await newPerson()
  const pairing = await startPairing()
  await withFailingInsert('api_keys', { user_id: person.userId }, async () => {
    const answer = await confirm(person, pairing.userCode)
    expectRefusal(answer, 500, 'INTERNAL_ERROR')
    expectEnvelope(answer)
    expect(answer.text).not.toMatch(/planted|api_keys/)
    expect((await poll(pairing)).body.api_key).toBeUndefined()
  })
  expect((await poll(pairing)).body.api_key).toBeUndefined()
  expect(await listKeys(person)).toEqual([])
}

describe('every answer', () => {
  test('of a published route is JSON, whoever asks', async () => {
    verifies('errors:convention:json-bodies')
    const routes = (await publishedRoutes()).filter(({ path }) => path.startsWith('/api/v1/'))
    expect(routes.length).toBeGreaterThan(20)
    for (const route of routes) {
      const person = await newPerson()
      for (const caller of [newVisitor(), person]) {
        const answer = await callRoute(caller, route)
        if (answer.status !== 302) expectJson(answer)
      }
    }
  })

  test('that is a refusal is JSON', async () => {
    verifies('errors:convention:json-bodies')
    const answers = [
      ...(await someRefusals()),
      await newVisitor().get('/'),
      await newVisitor().put('/meta', {}),
      await newVisitor().send('PROPFIND', '/meta'),
    ]
    for (const answer of answers) expectJson(answer)
  })

  test('gives times in ISO 8601', async () => {
    verifies('errors:convention:timestamps-iso')
    const seen = new Map<string, number>()
    for (const answer of await answersWithTimes()) {
      for (const [name, value] of timesIn(answer.body)) {
        if (value !== null) {
          expect(value, `${name} in ${answer.text}`).toMatch(isoPattern)
          expect(Number.isNaN(Date.parse(String(value)))).toBe(false)
        }
        seen.set(name, (seen.get(name) ?? 0) + 1)
      }
    }
    expect([...seen.keys()].sort()).toEqual(
      expect.arrayContaining(['createdAt', 'expiresAt', 'expires_at', 'joinedAt', 'lastUsedAt']),
    )
  })
})

async function answersWithTimes(): Promise<Answer[]> {
  const person = await newPerson()
  const key = await newKey(person, { expiresAt: new Date(Date.now() + 86_400_000).toISOString() })
  await key.get('/workspaces')
  const team = await newWorkspace(person)
  const { userCode } = await startPairing()
  return [
    await newVisitor().post('/auth/dev', { email: newEmail() }),
    await person.get('/auth/session'),
    await person.get('/workspaces'),
    await person.post('/workspaces', { name: 'Another' }),
    await person.get('/workspaces/current/members'),
    await person.get('/workspaces/current/members', inWorkspace(team.id)),
    await person.post('/keys', { label: 'Another' }),
    await person.get('/keys'),
    await person.patch(`/keys/${key.id}`, { label: 'Renamed' }),
    await person.post(`/keys/${key.id}/rotate`),
    await lookup(person, userCode),
    await newVisitor().get('/meta'),
  ]
}

function* timesIn(value: unknown): Generator<[name: string, value: unknown]> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    if (/(At|_at)$/.test(name)) yield [name, member]
    else yield* timesIn(member)
  }
}

function expectJson(answer: Answer): void {
  expect(answer.headers['content-type'], answer.text).toMatch(/^application\/json\b/)
  expect(() => JSON.parse(answer.text), answer.text).not.toThrow()
}

describe('a body that is not declared as JSON', () => {
  const disguises: [type: string | undefined, encode: (body: Record<string, string>) => string][] = [
    ['application/x-www-form-urlencoded', (body) => new URLSearchParams(body).toString()],
    ['text/plain', (body) => JSON.stringify(body)],
    ['text/plain;charset=application/json', (body) => JSON.stringify(body)],
    [undefined, (body) => JSON.stringify(body)],
  ]

  test.each(disguises)('but as %s is refused and has no effect', async (type, encode) => {
    verifies('errors:convention:json-only-bodies')
    const person: Person = await newPerson()
    const pairing = await startPairing()
    const headers: Record<string, string> = type ? { 'content-type': type } : {}
    const answers = [
      await person.send('POST', '/keys', { rawBody: encode({ label: 'Slipped in' }), headers }),
      await person.send('POST', '/activate/confirm', {
        rawBody: encode({ code: pairing.userCode }),
        headers,
      }),
      await person.send('POST', '/activate/deny', { rawBody: encode({ code: pairing.userCode }), headers }),
    ]
    for (const answer of answers) expectRefusal(answer, 400, 'INVALID_INPUT')
    expect(await listKeys(person)).toEqual([])
    expect((await poll(pairing)).body).toEqual({ status: 'pending' })
  })
})
