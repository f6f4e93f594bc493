import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/**
 * An answer is whole in memory until its reader has taken it, and nobody makes a reader hurry: on a stack forty requests
 * for one list, whose answers nobody read, held 1.4 GB for as long as they liked; a session may send a hundred a minute.
 */
let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson({ mode: 'basedmode' })
})
afterAll(() => house?.close())

/** As pages of traces have it. */
const mostBytes = 4 * 1024 * 1024
const bytesOf = async (path: string) =>
  Buffer.byteLength((await house.call('GET', `/api/v1${path}`, { token: person.token })).text)

test('a list of agents has a size', async () => {
  const instructions = '\u4e2d'.repeat(50_000)
  let refused = 0
  for (let made = 0; made < 60; made++) {
    const body = { slug: `agent-${made}`, name: `Agent ${made}`, instructions }
    const answer = await house.call('POST', '/api/v1/agents', { token: person.token, body })
    if (answer.status === 201) continue
    expect([answer.status, answer.body.error.code]).toEqual([400, 'INVALID_INPUT'])
    expect(answer.text).toContain('shorten or delete')
    refused++
  }
  expect(refused).toBeGreaterThan(0)
  // Nor does one grow into it.
  const small = { slug: 'small', name: 'Small', instructions: 'x' }
  expect((await house.call('POST', '/api/v1/agents', { token: person.token, body: small })).status).toBe(201)
  const grown = await house.call('PATCH', '/api/v1/agents/small', {
    token: person.token,
    body: { instructions },
  })
  expect(grown.status).toBe(400)
  expect(await bytesOf('/agents')).toBeLessThan(mostBytes)
})

test('a page of the inbox has a size', async () => {
  const { secret: key } = await house.newKey(person, { scopes: ['agent:list'] })
  for (let asked = 0; asked < 100; asked++) {
    const body = { question: `${asked}?`, action: { summary: 'x', args: 'x'.repeat(65_000) } }
    const answer = await house.call('POST', '/api/v1/agents/ask', { key, body })
    expect(answer.status, answer.text).toBe(202)
    await house.call('POST', `/api/v1/agents/ask/${answer.body.ask_id}/withdraw`, { key })
  }
  expect(await bytesOf('/approvals?limit=100')).toBeLessThan(mostBytes)
})
