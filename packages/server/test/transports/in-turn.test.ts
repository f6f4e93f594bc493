import { once } from 'node:events'
import { type ClientRequest, request } from 'node:http'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Answer } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

let house: House
let key: string
let strangersKey: string

beforeAll(async () => {
  house = await openHouse({
    DATABASE_URL: await createDatabase(),
    BODY_MS: '600000',
    REQUESTS_AT_A_TIME: '2',
    // No turn ends by time here: what is let in is let in because another one ended.
    TURN_MS: '600000',
  })
  key = (await house.newKey(await house.newPerson())).secret
  strangersKey = (await house.newKey(await house.newPerson())).secret
})

afterAll(() => house.close())

const read = (secret: string) => house.call('GET', '/api/v1/agents/me', { headers: { 'x-api-key': secret } })

/** That no place is left is seen by who comes after: a stranger who is answered before. */
async function isHeldUp(answer: Promise<Answer>): Promise<boolean> {
  let isAnswered = false
  void answer.then(() => {
    isAnswered = true
  })
  for (let turn = 0; turn < 5; turn++) expect((await read(strangersKey)).status).toBe(200)
  return !isAnswered
}

/** A body that is announced and does not come. */
async function sendNothingOf(
  size: Readonly<Record<string, string>>,
  path = '/agents',
  secret = key,
): Promise<ClientRequest> {
  const sent = request(`${house.url}/api/v1${path}`, {
    method: 'POST',
    agent: false,
    headers: { 'x-api-key': secret, 'content-type': 'application/json', ...size },
  })
  sent.on('error', () => {})
  // Also where the test fails: the house would wait for it.
  onTestFinished(() => void sent.destroy())
  sent.flushHeaders()
  await once(sent, 'socket')
  return sent
}

const small = { 'content-length': '100' }

const noPlaceIsLeft = (ask: () => Promise<Answer>) => until(() => isHeldUp(ask()), 30_000)

test('who has its places taken waits for itself, and a stranger for nobody', async () => {
  expect((await read(key)).status).toBe(200)
  const first = await sendNothingOf(small)
  expect((await read(key)).status).toBe(200)
  const second = await sendNothingOf(small)
  await noPlaceIsLeft(() => read(key))
  const third = read(key)
  const gone = await sendNothingOf(small)
  expect(await isHeldUp(third)).toBe(true)
  gone.destroy()
  first.destroy()
  expect((await third).status).toBe(200)
  second.destroy()
})

test('a large body, or one that does not say how large it is, takes all the places', async () => {
  for (const size of [{ 'content-length': '100000' }, { 'transfer-encoding': 'chunked' }]) {
    const large = await sendNothingOf(size)
    await noPlaceIsLeft(() => read(key))
    const waiting = read(key)
    large.destroy()
    expect((await waiting).status).toBe(200)
  }
})

test('the keys of one person have twice as many places together, and a stranger waits for none of them', async () => {
  const owner = await house.newPerson()
  const keys: string[] = []
  for (let made = 0; made < 3; made++) keys.push((await house.newKey(owner)).secret)
  const large = { 'content-length': '100000' }
  const sent = []
  for (const each of keys.slice(0, 2)) sent.push(await sendNothingOf(large, '/agents', each))
  await noPlaceIsLeft(() => read(keys[2] ?? ''))
  const waiting = read(keys[2] ?? '')
  for (const one of sent) one.destroy()
  expect((await waiting).status).toBe(200)
})

test('without a credential it is the address that waits, and who has one does not wait for it', async () => {
  const sent = [await sendNothingOf(small, '/activate/poll'), await sendNothingOf(small, '/activate/poll')]
  const anonymous = () => house.call('GET', '/api/v1/meta')
  expect((await read(key)).status).toBe(200)
  await noPlaceIsLeft(anonymous)
  const waiting = anonymous()
  expect((await read(key)).status).toBe(200)
  for (const one of sent) one.destroy()
  expect((await waiting).status).toBe(200)
})
