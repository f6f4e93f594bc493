import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/**
 * A page is a hundred requests, and each may show 64 KiB of arguments. The thread that makes one answers everybody: on a
 * stack one such page held it for two seconds, and six sessions within their windows had others wait for ten.
 */
let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson({ mode: 'basedmode' })
  const args = { list: Array(15_000).fill('x') }
  const { secret: key } = await house.newKey(person, { scopes: ['agent:list'] })
  for (let asked = 0; asked < 100; asked++) {
    const body = { question: `${asked}?`, action: { summary: 'x', tool: 'bash', args } }
    const answer = await house.call('POST', '/api/v1/agents/ask', { key, body })
    expect(answer.status, answer.text).toBe(202)
    await house.call('POST', `/api/v1/agents/ask/${answer.body.ask_id}/withdraw`, { key })
  }
})
afterAll(() => house?.close())

const mostCpuMs = 300

/** On the thread that answers requests, which here also receives the bytes and does not read them. */
async function cpuMsOf(path: string): Promise<number> {
  const before = process.threadCpuUsage()
  const answer = await fetch(house.url + path, { headers: { 'x-auth-token': person.token } })
  expect(answer.status).toBe(200)
  await answer.arrayBuffer()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

test.each(['?limit=100&view=card', '?limit=100'])('a page of the inbox is little work: %s', async (query) => {
  const tries = []
  for (let again = 0; again < 3; again++) tries.push(await cpuMsOf(`/api/v1/approvals${query}`))
  expectWithin(Math.min(...tries), mostCpuMs)
})
