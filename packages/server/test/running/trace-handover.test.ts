import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'
import { planted } from '../support/redaction-corpus.ts'
import { callsOf, newTrace, said } from '../support/traces.ts'

let house: House
let second: House
let person: Person

beforeAll(async () => {
  const databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  second = await openHouse({ DATABASE_URL: databaseUrl })
  person = await house.newPerson()
})

afterAll(async () => {
  await second?.close()
  await house?.close()
})

const path = (traceId: string, rest = 'handover') => `/api/v1/traces/${traceId}/${rest}`
const offer = (traceId: string, body: object = {}, credential: object = { token: person.token }) =>
  house.call('POST', path(traceId), { body, ...credential })
const pickUp = (code: string, credential: object, at: House = house) =>
  at.call('POST', '/api/v1/traces/pickup', { body: { code }, ...credential })
const turnsOf = async (traceId: string) =>
  (await callsOf(house, person)('GET', `/traces/${traceId}/events`)).items

test('one agent says a code, another has the work, the brief and the baton', async () => {
  const traceId = await newTrace(house, person, [said('The draft is in draft.md')])
  const first = await house.newKey(person)
  const other = await house.newKey(person)
  const offered = await offer(
    traceId,
    { note: 'Send it', toAgentSlug: 'mailer' },
    { key: first.secret, headers: { 'x-agent-slug': 'drafter' } },
  )
  expect(offered.status, offered.text).toBe(201)
  expect(offered.body).toEqual({
    handoverId: expect.stringMatching(/^handover_/),
    code: expect.stringMatching(/^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$/),
    reach: 'workspace',
    expiresAt: expect.any(String),
  })
  // As a person would type it.
  const typed = offered.body.code.toLowerCase().replace('-', ' ')
  const taken = await pickUp(typed, { key: other.secret, headers: { 'x-agent-slug': 'mailer' } })
  expect(taken.status, taken.text).toBe(200)
  expect(taken.body).toMatchObject({
    traceId,
    kind: 'execution',
    lastSeq: 3,
    note: 'Send it',
    continueWith: { method: 'POST', path: '/api/v1/executions', body: { sessionId: traceId } },
    appendEventsTo: `/api/v1/traces/${traceId}/events`,
    copied: false,
  })
  expect(taken.body.brief).toContain('|   The draft is in draft.md')
  const trace = await callsOf(house, person)('GET', `/traces/${traceId}`)
  expect(trace.holder).toMatchObject({ apiKeyId: other.id, agentSlug: 'mailer' })
  const turns = await turnsOf(traceId)
  expect(
    turns.map(({ type, payload }: { type: string; payload: { name?: string } }) => [type, payload.name]),
  ).toEqual([
    ['agent.text', undefined],
    ['tool.call', 'handover'],
    ['tool.result', 'handover'],
  ])
  expect(turns[1]).toMatchObject({
    actorAgentSlug: 'mailer',
    payload: { input: { from: { agentSlug: 'drafter' } } },
  })
  const listed = await house.call('GET', path(traceId, 'handovers'), { key: first.secret })
  expect(listed.body.items).toMatchObject([
    {
      handoverId: offered.body.handoverId,
      status: 'claimed',
      from: { apiKeyId: first.id, agentSlug: 'drafter' },
      claimedBy: { apiKeyId: other.id, agentSlug: 'mailer' },
    },
  ])
  expect(listed.text).not.toContain(offered.body.code)
  const again = await pickUp(offered.body.code, { key: other.secret })
  expect([again.status, again.body.error.details.status]).toEqual([409, 'claimed'])
})

test('who has claimed it and never heard the answer is told by the repeat what it has, and others are not', async () => {
  const traceId = await newTrace(house, person, [said('Begun')])
  const claimant = await house.newKey(person)
  const { code } = (await offer(traceId)).body
  expect((await pickUp(code, { key: claimant.secret })).status).toBe(200)
  const again = await pickUp(code, { key: claimant.secret })
  expect([again.status, again.body.error.details]).toEqual([409, { status: 'claimed', traceId }])
  expect(again.body.error.message).toContain(`/traces/${traceId}/brief`)
  const other = await house.newKey(person)
  const theirs = await pickUp(code, { key: other.secret })
  expect([theirs.status, theirs.body.error.details]).toEqual([409, { status: 'claimed' }])
  expect(await turnsOf(traceId)).toHaveLength(3)
  // A copy is told of where it is, and not elsewhere.
  const wide = (await offer(traceId, { reach: 'person' })).body
  const inTeam = { token: person.token, headers: { 'x-workspace-id': await house.newTeam(person) } }
  const copy = (await pickUp(wide.code, inTeam)).body.traceId
  expect((await pickUp(wide.code, inTeam)).body.error.details).toEqual({ status: 'claimed', traceId: copy })
  const elsewhere = await pickUp(wide.code, { token: person.token })
  expect(elsewhere.body.error.details).toEqual({ status: 'claimed' })
})

test('of twenty who claim at once, through two processes, one has it', async () => {
  const traceId = await newTrace(house, person, [said('Begun')])
  const { code } = (await offer(traceId)).body
  const keys = await Promise.all(Array.from({ length: 20 }, () => house.newKey(person)))
  const answers = await Promise.all(
    keys.map(({ secret }, i) => pickUp(code, { key: secret }, i % 2 ? house : second)),
  )
  const counts = Object.groupBy(answers, ({ status }) => status)
  expect([counts[200]?.length, counts[409]?.length]).toEqual([1, 19])
  const winner = keys[answers.findIndex(({ status }) => status === 200)]
  const { holder } = await callsOf(house, person)('GET', `/traces/${traceId}`)
  expect(holder.apiKeyId).toBe(winner?.id)
  expect(await turnsOf(traceId)).toHaveLength(3)
})

test('a code ends by time, by being taken back, and for strangers never was', async () => {
  const traceId = await newTrace(house, person)
  const late = (await offer(traceId, { expiresInSeconds: 60 })).body
  const back = (await offer(traceId)).body
  const revoke = (id: string) =>
    house.call('DELETE', path(traceId, `handovers/${id}`), { token: person.token })
  expect((await revoke(back.handoverId)).body).toEqual({ success: true })
  expect((await revoke(back.handoverId)).status).toBe(200)
  const refused = await pickUp(back.code, { token: person.token })
  expect([refused.status, refused.body.error.details.status]).toEqual([409, 'revoked'])
  const stranger = await house.newPerson()
  const unknown = await pickUp(late.code, { token: stranger.token })
  const never = await pickUp('ZZZZ-ZZZZ', { token: stranger.token })
  expect([unknown.status, unknown.body.error]).toEqual([404, never.body.error])
  await shiftClock(house.deps.config.databaseUrl, 61)
  const expired = await pickUp(late.code, { token: person.token })
  expect([expired.status, expired.body.error.details.status]).toEqual([409, 'expired'])
  expect((await revoke(late.handoverId)).status).toBe(409)
  await shiftClock(house.deps.config.databaseUrl, 0)
})

test('wrong codes are counted with those of pairing', async () => {
  const limited = await openHouse({
    DATABASE_URL: house.deps.config.databaseUrl,
    LIMITS: 'codeMisses=10/600',
  })
  try {
    const guesser = await house.newPerson()
    const { token } = guesser
    for (let i = 0; i < 5; i++)
      expect((await pickUp(`AAAA-AAA${i + 2}`, { token }, limited)).status).toBe(404)
    const lookUp = (code: string) => limited.call('GET', `/api/v1/activate/lookup?code=${code}`, { token })
    for (let i = 0; i < 5; i++) expect((await lookUp(`AAAA-AAA${i + 2}`)).status).toBe(404)
    expect((await pickUp('AAAA-AAAA', { token }, limited)).status).toBe(429)
    expect((await lookUp('AAAA-AAAA')).status).toBe(429)
  } finally {
    await limited.close()
  }
})

test('a code is not in the database', async () => {
  const traceId = await newTrace(house, person)
  const { code, handoverId } = (await offer(traceId)).body
  const { db } = house.deps.database
  const row = await db
    .selectFrom('handovers')
    .selectAll()
    .where('id', '=', handoverId)
    .executeTakeFirstOrThrow()
  expect(JSON.stringify(row)).not.toContain(code)
  expect(row.code_hash).toHaveLength(32)
})

test('another workspace of the same person gets a redacted copy, if a person says so', async () => {
  const secret = planted.find(({ what }) => what === 'GitLab')?.text ?? ''
  const traceId = await newTrace(house, person, [said('Plan'), said(`It is ${secret}`)])
  const team = await house.newTeam(person)
  const key = await house.newKey(person)
  const byKey = await offer(traceId, { reach: 'person' }, { key: key.secret })
  expect([byKey.status, byKey.body.error.code]).toEqual([403, 'FORBIDDEN'])
  const narrow = (await offer(traceId)).body
  const inTeam = { token: person.token, headers: { 'x-workspace-id': team } }
  expect((await pickUp(narrow.code, inTeam)).status).toBe(404)
  const wide = (await offer(traceId, { reach: 'person' })).body
  const taken = await pickUp(wide.code, inTeam)
  expect(taken.status, taken.text).toBe(200)
  expect(taken.body).toMatchObject({ copied: true, title: expect.stringMatching(/^Copy of: /), lastSeq: 2 })
  expect(taken.body.traceId).not.toBe(traceId)
  const copied = await house.call('GET', path(taken.body.traceId, 'events'), inTeam)
  expect(copied.body.items.map(({ origin }: { origin: string }) => origin)).toEqual(['appended', 'appended'])
  expect(copied.text).toContain('[redacted: provider_key]')
  expect(copied.text).not.toContain(secret)
  const source = await callsOf(house, person)('GET', `/traces/${traceId}`)
  const copy = await house.call('GET', `/api/v1/traces/${taken.body.traceId}`, inTeam)
  expect(copy.body.traceKey).not.toBe(source.traceKey)
  expect(copy.body.parentTraceId).toBeNull()
  expect(source.holder).toBeNull()
  expect((await turnsOf(traceId)).at(-1).payload.output).toContain('copy')
})

test('a trace has at most twenty codes at a time, and a repeated request no second one', async () => {
  const traceId = await newTrace(house, person)
  const headers = { 'idempotency-key': 'once' }
  const made = await offer(traceId, {}, { token: person.token, headers })
  const repeat = await offer(traceId, {}, { token: person.token, headers })
  expect([repeat.status, JSON.stringify(repeat.body).includes(made.body.handoverId)]).toEqual([409, true])
  for (let i = 1; i < 20; i++) expect((await offer(traceId)).status).toBe(201)
  expect((await offer(traceId)).status).toBe(409)
})

test('a key takes back its own codes, and those of others with the scope to hand on their work', async () => {
  const traceId = await newTrace(house, person)
  const { handoverId } = (await offer(traceId)).body
  const revokeBy = async (scopes: string[]) => {
    const { secret } = await house.newKey(person, { access: 'declared', scopes })
    return house.call('DELETE', path(traceId, `handovers/${handoverId}`), { key: secret })
  }
  const refused = await revokeBy(['tool:execute'])
  expect([refused.status, refused.body.error.details.missing_scopes]).toEqual([403, ['trace:write']])
  expect((await revokeBy(['trace:write'])).body).toEqual({ success: true })
})
