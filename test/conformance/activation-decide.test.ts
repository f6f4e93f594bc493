import { describe, expect, test } from 'vitest'
import {
  confirm,
  deny,
  inWorkspace,
  listKeys,
  lookup,
  newKey,
  newPerson,
  newVisitor,
  newWorkspace,
  pair,
  poll,
  startPairing,
} from './support/actors.ts'
import type { Answer, Caller } from './support/client.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import { verifies } from './verifies.ts'

const ways: [name: string, act: (caller: Caller, code: string) => Promise<Answer>][] = [
  ['confirm', confirm],
  ['lookup', lookup],
  ['deny', deny],
]

describe('confirm', () => {
  test('turns a pending code approved', async () => {
    verifies('activation:state:pending-to-approved')
    const person = await newPerson()
    const pairing = await startPairing()
    expect((await lookup(person, pairing.userCode)).body.status).toBe('pending')
    expect((await confirm(person, pairing.userCode)).status).toBe(200)
    expect((await lookup(person, pairing.userCode)).body.status).toBe('approved')
    expect((await poll(pairing)).body.status).toBe('approved')
  })

  test('acknowledges and tells no secret', async () => {
    verifies('activation:confirm:success-body')
    const pairing = await startPairing()
    const answer = await confirm(await newPerson(), pairing.userCode)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ success: true })
    expect(answer.text).not.toMatch(/api_key|guild_|device_code/)
  })

  test('binds the key to the workspace the approver acts in', async () => {
    verifies('activation:confirm:key-bound-to-approving-workspace')
    const person = await newPerson()
    const [second, third] = [await newWorkspace(person, 'Second'), await newWorkspace(person, 'Third')]
    expect((await pair(person)).claim.workspace.id).toBe(person.workspaceId)
    expect((await pair(person, { confirm: inWorkspace(second.id) })).claim.workspace.id).toBe(second.id)
    await person.put('/workspaces/current', { workspaceId: third.id })
    expect((await pair(person)).claim.workspace.id).toBe(third.id)
  })

  test('names the key after the client and the code', async () => {
    verifies('activation:confirm:key-name')
    const person = await newPerson()
    const { pairing } = await pair(person, { headers: { 'x-client-label': 'Night build' } })
    const [key] = await listKeys(person)
    expect(key?.label).toContain('Night build')
    expect(key?.label).toContain(pairing.userCode)
  })

  test('in a workspace one is not in is refused and decides nothing', async () => {
    verifies('activation:confirm:non-member-403')
    const [person, other] = [await newPerson(), await newPerson()]
    const pairing = await startPairing()
    const answer = await confirm(person, pairing.userCode, inWorkspace(other.workspaceId))
    expectRefusal(answer, 403, 'FORBIDDEN')
    expect((await poll(pairing)).body).toEqual({ status: 'pending' })
    expect(await listKeys(person)).toEqual([])
  })

  test.each([[{}], [{ code: '' }], [{ code: 5 }]])('needs a code: %j', async (body) => {
    verifies('activation:confirm:code-required')
    expectRefusal(await (await newPerson()).post('/activate/confirm', body), 400, 'INVALID_INPUT')
  })

  test.each(ways.filter(([name]) => name !== 'lookup'))(
    'makes a later %s a conflict that says approved, and one key',
    async (_name, act) => {
      verifies('activation:confirm:already-approved-409', 'activation:race:loser-409-names-state')
      const person = await newPerson()
      const pairing = await startPairing()
      expect((await confirm(person, pairing.userCode)).status).toBe(200)
      expect(expectRefusal(await act(person, pairing.userCode), 409, 'CONFLICT').message).toContain(
        'approved',
      )
      const keys = (await listKeys(person)).filter(({ label }) => label.includes(pairing.userCode))
      expect(keys).toHaveLength(1)
      expect((await poll(pairing)).body.status).toBe('approved')
    },
  )
})

describe('deny', () => {
  test('is acknowledged', async () => {
    verifies('activation:deny:body-and-answer')
    const pairing = await startPairing()
    const answer = await deny(await newPerson(), pairing.userCode)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ success: true })
  })

  test('needs a code', async () => {
    verifies('activation:deny:body-and-answer')
    expectRefusal(await (await newPerson()).post('/activate/deny', {}), 400, 'INVALID_INPUT')
  })

  test('makes a later confirm a conflict that says denied', async () => {
    verifies('activation:race:loser-409-names-state')
    const person = await newPerson()
    const pairing = await startPairing()
    expect((await deny(person, pairing.userCode)).status).toBe(200)
    const refusal = expectRefusal(await confirm(person, pairing.userCode), 409, 'CONFLICT')
    expect(refusal.message).toContain('denied')
    expect(await listKeys(person)).toEqual([])
  })
})

describe('lookup', () => {
  test('answers what the person has to know', async () => {
    verifies('activation:lookup:response-fields')
    const pairing = await startPairing({ 'user-agent': 'ada-editor/1.2' })
    const answer = await lookup(await newPerson(), pairing.userCode)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      user_code: pairing.userCode,
      client_label: expect.any(String),
      client_ua: 'ada-editor/1.2',
      client_ip: expect.any(String),
      status: 'pending',
      expires_at: expect.stringMatching(isoPattern),
    })
    expect(answer.text).not.toContain('device_code')
    expect(answer.text).not.toContain(pairing.deviceCode)
  })

  test('takes the code from the query', async () => {
    verifies('activation:lookup:code-query')
    const person = await newPerson()
    const { userCode } = await startPairing()
    expect((await person.get(`/activate/lookup?code=${userCode}`)).status).toBe(200)
    expectRefusal(await person.get('/activate/lookup'), 400, 'INVALID_INPUT')
    expectRefusal(await person.get(`/activate/lookup?user_code=${userCode}`), 400, 'INVALID_INPUT')
  })
})

describe('a typed code', () => {
  test.each(ways)('may have blanks around it in %s', async (_name, act) => {
    verifies('activation:code:trimmed')
    const { userCode } = await startPairing()
    expect((await act(await newPerson(), `  ${userCode} `)).status).toBe(200)
  })

  test.each(ways)('may be in lower case in %s', async (_name, act) => {
    verifies('activation:code:uppercased')
    const { userCode } = await startPairing()
    expect((await act(await newPerson(), userCode.toLowerCase())).status).toBe(200)
  })

  test('nobody was given is not found, with one and the same body', async () => {
    verifies('activation:lookup:unknown-404')
    const person = await newPerson()
    const answers: Answer[] = []
    for (const [, act] of ways) {
      for (const code of ['ZZZZ-ZZZZ', 'hello', 'no code at all']) answers.push(await act(person, code))
    }
    for (const answer of answers) expectRefusal(answer, 404, 'NOT_FOUND')
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  test('that is a device code is as unknown as any', async () => {
    verifies('activation:record:device-code-only-polling')
    const person = await newPerson()
    const pairing = await startPairing()
    const unknown = await lookup(person, 'ZZZZ-ZZZZ')
    for (const [, act] of ways) {
      const answer = await act(person, pairing.deviceCode)
      expectRefusal(answer, 404, 'NOT_FOUND')
      expect(answer.text).toBe(unknown.text)
    }
    expect((await poll(pairing)).body).toEqual({ status: 'pending' })
    const told = [
      await lookup(person, pairing.userCode),
      await confirm(person, pairing.userCode),
      await confirm(person, pairing.userCode),
      await deny(person, pairing.userCode),
      await person.get('/keys'),
    ]
    for (const answer of told) expect(answer.text).not.toContain(pairing.deviceCode)
  })
})

describe('who may decide', () => {
  test.each(ways)('%s takes a session alone', async (_name, act) => {
    verifies('activation:confirm:requires-auth-token')
    const person = await newPerson()
    const key = await newKey(person)
    expect(key.record.scopes).toEqual(['*'])
    const pairing = await startPairing()
    expectRefusal(await act(key, pairing.userCode), 403, 'FORBIDDEN')
    expectRefusal(await act(newVisitor(), pairing.userCode), 401, 'UNAUTHORIZED')
    expect((await poll(pairing)).body).toEqual({ status: 'pending' })
  })
})

describe('guessing', () => {
  test('ends with the eleventh miss, counted over all three ways', async () => {
    verifies('activation:guess:miss-budget')
    const [person, other] = [await newPerson(), await newPerson()]
    for (let miss = 0; miss < 10; miss++) {
      const [, act] = ways[miss % ways.length] ?? ways[0] ?? []
      expectRefusal(await (act ?? lookup)(person, `ZZZZ-ZZZ${miss}`), 404, 'NOT_FOUND')
    }
    for (const [, act] of ways) expectRefusal(await act(person, 'ZZZZ-ZZZZ'), 429, 'RATE_LIMITED')
    expectRefusal(await lookup(other, 'ZZZZ-ZZZZ'), 404, 'NOT_FOUND')
  })

  test('also when the tries are simultaneous', async () => {
    verifies('activation:guess:miss-budget')
    const person = await newPerson()
    const tries = Array.from({ length: 21 }, (_, index) => ways[index % ways.length]?.[1] ?? lookup)
    const answers = await Promise.all(tries.map((act) => act(person, 'ZZZZ-ZZZZ')))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(10).fill(404), ...Array(11).fill(429)])
  })
})
