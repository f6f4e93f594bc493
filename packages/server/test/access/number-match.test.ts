import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
})
afterAll(() => house.close())

const start = async (body: object = { number_match: true }) =>
  (await house.call('POST', '/api/v1/activate', { body })).body
const lookUp = async (code: string, of = person) =>
  (await house.call('GET', `/api/v1/activate/lookup?code=${code}`, { token: of.token })).body
const confirm = (code: string, fields: object, of = person) =>
  house.call('POST', '/api/v1/activate/confirm', {
    token: of.token,
    body: { code, access: 'declared', ...fields },
  })
const poll = async (device_code: string) =>
  (await house.call('POST', '/api/v1/activate/poll', { body: { device_code } })).body
const otherThan = (choices: string[], match: string) => choices.find((choice) => choice !== match)

test('an agent that asks for it shows one of the three numbers that the person sees', async () => {
  const seen = new Set<number>()
  for (let turn = 0; turn < 40; turn++) {
    const { match, user_code } = await start()
    const { match_choices: choices } = await lookUp(user_code)
    expect(new Set(choices).size).toBe(3)
    expect(choices.every((choice: string) => /^[1-9]\d$/.test(choice))).toBe(true)
    // The same at every look: what changes from look to look would tell which one stays.
    expect((await lookUp(user_code)).match_choices).toEqual(choices)
    seen.add(choices.indexOf(match))
  }
  expect([...seen].sort()).toEqual([0, 1, 2])
})

test('the right number pairs', async () => {
  const { device_code, user_code, match } = await start()
  expect((await confirm(user_code, { match })).status).toBe(200)
  expect(await poll(device_code)).toMatchObject({ status: 'approved', api_key: expect.any(String) })
})

test('another number refuses the pairing for good, and is written down', async () => {
  const { device_code, user_code, match } = await start()
  const { match_choices } = await lookUp(user_code)
  const wrong = await confirm(user_code, { match: otherThan(match_choices, match) })
  expect([wrong.status, wrong.body.error.details]).toEqual([403, { reason: 'MATCH' }])
  expect((await confirm(user_code, { match })).status).toBe(409)
  expect(await poll(device_code)).toEqual({ status: 'denied' })
  const { body } = await house.call('GET', '/api/v1/activity?type=activation.denied', { token: person.token })
  expect(JSON.stringify(body)).toContain('"reason":"MATCH"')
  expect((await house.call('GET', '/api/v1/keys', { token: person.token })).text).not.toContain(user_code)
})

test('twenty guesses at once are one guess', async () => {
  const { device_code, user_code, match } = await start()
  const { match_choices } = await lookUp(user_code)
  const wrong = otherThan(match_choices, match)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, turn) => confirm(user_code, { match: turn % 2 === 0 ? wrong : match })),
  )
  const decided = answers.filter(({ status }) => status === 200 || status === 403)
  expect(decided).toHaveLength(1)
  const approved = decided[0]?.status === 200
  expect((await poll(device_code)).status).toBe(approved ? 'approved' : 'denied')
})

test('without a number nothing is decided', async () => {
  const { user_code, match } = await start()
  const missing = await confirm(user_code, {})
  expect([missing.status, missing.body.error.message]).toEqual([
    400,
    expect.stringContaining('match_choices'),
  ])
  expect((await lookUp(user_code)).status).toBe('pending')
  expect((await confirm(user_code, { match })).status).toBe(200)
})

test('an agent that does not ask for it pairs as before', async () => {
  for (const body of [{}, { number_match: false }]) {
    const { user_code, match } = await start(body)
    expect([match, (await lookUp(user_code)).match_choices]).toEqual([undefined, undefined])
    expect((await confirm(user_code, {})).status).toBe(200)
  }
})
