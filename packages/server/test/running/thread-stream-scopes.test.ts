import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { patienceFor } from '../../../../test/support/sizes.ts'
import { giveGrant } from '../support/busy-keys.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

/** An agent may listen to a thread as long as it may read it: with the right ends the stream, as a long poll does. */
let house: ChatHouse
let person: Person

beforeAll(async () => {
  house = await openChatHouse()
  person = await house.newPerson({ mode: 'basedmode' })
})
afterAll(() => house?.close())

/** More than the two seconds in which what ended is closed. */
const closedWithinMs = patienceFor(4000)
const as = (method: string, path: string, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { token: person.token, ...(body === undefined ? {} : { body }) })

const ways = {
  'its scope was taken away': {
    scopes: ['agent:list', 'agent:message'],
    seconds: 0,
    end: (keyId: number) => as('DELETE', `/agents/${keyId}/scopes/agent:message`),
  },
  'its grant was ended': {
    scopes: ['agent:list'],
    seconds: 600,
    end: (keyId: number, grantId: number) => as('DELETE', `/keys/${keyId}/grants/${grantId}`),
  },
  'its grant is over': {
    scopes: ['agent:list'],
    seconds: 1,
    end: () => new Promise((later) => setTimeout(later, 1000)).then(() => as('GET', '/keys')),
  },
}

test.each(Object.entries(ways))('a key hears no more of a thread when %s', async (_name, way) => {
  const { scopes, seconds, end } = way
  const threadId = (await as('POST', '/threads', { agentId: 'assistant', title: 'Plans' })).body.id
  const key = await house.newKey(person, { scopes })
  const grantId =
    seconds > 0 ? await giveGrant(house, key.id, person, { scope: 'agent:message', seconds }) : 0
  const giveUp = new AbortController()
  const response = await fetch(`${house.url}/api/v1/agents/assistant/subscribe-thread`, {
    method: 'POST',
    headers: { 'x-api-key': key.secret, 'content-type': 'application/json' },
    body: JSON.stringify({ resourceId: person.workspaceId, threadId }),
    signal: giveUp.signal,
  })
  expect(response.status).toBe(200)
  let heard = ''
  const reading = (async () => {
    for await (const chunk of response.body ?? []) heard += Buffer.from(chunk).toString()
    return 'ended'
  })()
  try {
    const done = await end(key.id, grantId)
    expect(done.status, done.text).toBe(200)
    const read = await house.call('GET', `/api/v1/threads/${threadId}/messages`, { key: key.secret })
    expect(read.status).toBe(403)
    const later = new Promise((late) => setTimeout(late, closedWithinMs, 'still open'))
    const state = await Promise.race([reading, later])
    const message = scripted({ say: 'Secret.' })
    await as('POST', '/agents/assistant/send-message', { resourceId: person.workspaceId, threadId, message })
    await new Promise((later) => setTimeout(later, 1000))
    expect([state, heard.includes('Secret')]).toEqual(['ended', false])
  } finally {
    giveUp.abort()
    await reading.catch(() => {})
  }
})
