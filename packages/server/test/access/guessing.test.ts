import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'
import { newPersonWithPasskey } from '../support/passkeys.ts'

let databaseUrl: string
let house: House
let other: House

beforeAll(async () => {
  databaseUrl = await createDatabase()
  const env = { DATABASE_URL: databaseUrl, LIMITS: 'rest=100000/60,activate=100000/1' }
  house = await openHouse(env)
  other = await openHouse(env)
})

afterAll(() => Promise.all([house.close(), other.close()]))

const codes = [
  'ZZZZ-ZZZZ',
  'zzzz-zzzy',
  'I0I0-1111',
  'x',
  "' or 1=1 --",
  '٣٣٣٣-٣٣٣٣',
  'ABCD-EFGH-JKLM',
  'ÄÄÄÄ-ÄÄÄÄ',
]

test('unknown codes answer alike whatever they look like', async () => {
  const person = await house.newPerson()
  const answers = await Promise.all(
    codes.map((code) =>
      house.call('GET', `/api/v1/activate/lookup?code=${encodeURIComponent(code)}`, { token: person.token }),
    ),
  )
  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([404]))
  expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
})

test('the eleventh miss is 429, over all three routes and both processes at once', async () => {
  for (let round = 0; round < 10; round++) {
    const person = await house.newPerson()
    const { token } = person
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => {
        const at = index % 2 === 0 ? house : other
        const code = `ZZZZ-ZZ${String(index).padStart(2, '0')}`
        if (index % 3 === 0) return at.call('GET', `/api/v1/activate/lookup?code=${code}`, { token })
        const route = index % 3 === 1 ? 'confirm' : 'deny'
        return at.call('POST', `/api/v1/activate/${route}`, { token, body: { code } })
      }),
    )
    expect(answers.filter((answer) => answer.status === 404)).toHaveLength(10)
    expect(answers.filter((answer) => answer.status === 429)).toHaveLength(50)
  }
})

test('who has a passkey is refused alike without it, whether there is such a code or not, also one that names scopes', async () => {
  const { person } = await newPersonWithPasskey(house)
  const body = { requested_scopes: ['profile:read'] }
  const pairing = await house.call('POST', '/api/v1/activate', { body })
  const confirm = (code: string) =>
    house.call('POST', '/api/v1/activate/confirm', { token: person.token, body: { code } })
  const [there, none] = [await confirm(pairing.body.user_code), await confirm('ZZZZ-ZZZZ')]
  expect([there.status, there.text]).toEqual([403, none.text])
})

test('a spent budget also refuses a right guess, costs nobody else, and comes back after ten minutes', async () => {
  const [guesser, bystander] = [await house.newPerson(), await house.newPerson()]
  const { userCode } = await house.newCode()
  const lookUp = (token: string, code: string) =>
    house.call('GET', `/api/v1/activate/lookup?code=${code}`, { token })
  for (let i = 0; i < 10; i++) await lookUp(guesser.token, 'ZZZZ-ZZZZ')
  const refused = await lookUp(guesser.token, userCode)
  expect(refused.status).toBe(429)
  expect(refused.body.error).toMatchObject({ type: 'rate_limit_error', code: 'RATE_LIMITED' })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(590)
  expect((await lookUp(bystander.token, userCode)).status).toBe(200)
  await shiftClock(databaseUrl, 601)
  try {
    const later = await house.newCode()
    expect((await lookUp(guesser.token, later.userCode)).status).toBe(200)
  } finally {
    await shiftClock(databaseUrl, 0)
  }
})

test.each([
  ['a control character', 'agent\tx'],
  ['right-to-left override', 'agent\u202egnp.exe'],
  ['zero-width characters', 'ag\u200bent'],
  ['a line break', 'agent%0aApproved'],
  ['too long', 'x'.repeat(65)],
])('a label with %s is not shown to the approver', async (_what, label) => {
  const bytes = Buffer.from(label, 'utf8').toString('latin1')
  const created = await house.call('POST', '/api/v1/activate', {
    headers: { 'x-client-label': bytes, 'user-agent': 'honest-agent/1.0' },
  })
  const person = await house.newPerson()
  const seen = await house.call('GET', `/api/v1/activate/lookup?code=${created.body.user_code}`, {
    token: person.token,
  })
  if (label.includes('%')) expect(seen.body.client_label).toBe(label)
  else expect(seen.body.client_label).toBe('honest-agent')
  expect(seen.body.client_label).not.toMatch(/\p{C}/u)
})

test('HTML in a label is kept as text and never becomes a page', async () => {
  const created = await house.call('POST', '/api/v1/activate', {
    headers: { 'x-client-label': '<b>Bank</b>' },
  })
  const person = await house.newPerson()
  const seen = await house.call('GET', `/api/v1/activate/lookup?code=${created.body.user_code}`, {
    token: person.token,
  })
  expect(seen.body.client_label).toBe('<b>Bank</b>')
  expect(seen.headers.get('content-type')).toContain('application/json')
  expect(seen.headers.get('x-content-type-options')).toBe('nosniff')
})

test('a network can only have so many codes waiting', async () => {
  const capped = await openHouse({
    DATABASE_URL: await createDatabase(),
    LIMITS: 'rest=100000/60,activate=100000/1,pendingCodes=5/600',
  })
  try {
    const person = await capped.newPerson()
    const codes = []
    for (let i = 0; i < 5; i++) codes.push(await capped.newCode())
    expect((await capped.call('POST', '/api/v1/activate')).status).toBe(429)
    await capped.call('POST', '/api/v1/activate/deny', {
      token: person.token,
      body: { code: codes[0]?.userCode },
    })
    expect((await capped.call('POST', '/api/v1/activate')).status).toBe(200)
  } finally {
    await capped.close()
  }
})
