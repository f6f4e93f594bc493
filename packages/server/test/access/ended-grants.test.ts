import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { giveGrant } from '../support/busy-keys.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/**
 * "Works at once, in every process": an agent that always has a request open whose body is on its way has no use of a
 * permission left after the person was told that it ended.
 */
let house: House
let second: House
let person: Person

beforeAll(async () => {
  const env = { DATABASE_URL: await createDatabase() }
  house = await openHouse(env)
  second = await openHouse(env)
  person = await house.newPerson({ mode: 'basedmode' })
})
afterAll(() => Promise.all([house, second].map((one) => one?.close())))

/** Answered with 100 once its head was admitted. */
async function begin(path: string, key: string, body: string) {
  const length = { 'content-type': 'application/json', 'content-length': body.length, expect: '100-continue' }
  const sent = request(house.url + path, {
    method: 'POST',
    headers: { 'x-api-key': key, ...length },
    agent: false,
  })
  const answered = new Promise<number>((resolve, reject) => {
    sent.on('response', (response) => resolve(response.resume().statusCode ?? 0))
    sent.on('error', reject)
  })
  await new Promise((resolve) => {
    sent.once('continue', resolve)
    sent.flushHeaders()
  })
  sent.write(body.slice(0, 5))
  return () => {
    sent.end(body.slice(5))
    return answered
  }
}

test.each(['session', 'one_time'] as const)(
  'a %s grant is not used after its end was answered',
  async (mode) => {
    const key = await house.newKey(person, { scopes: ['agent:list'] })
    const grantId = await giveGrant(house, key.id, person, { scope: 'workspace:files:write', mode })
    const slug = `late-${mode.replace('_', '-')}`
    const finish = await begin(
      '/api/v1/agents',
      key.secret,
      JSON.stringify({ slug, name: slug, instructions: 'x' }),
    )
    // The head is admitted, with the grant.
    await new Promise((later) => setTimeout(later, 200))
    const path = `/api/v1/keys/${key.id}/grants/${grantId}`
    expect((await second.call('DELETE', path, { token: person.token })).status).toBe(200)
    expect(await finish()).toBe(403)
    const made = await house.call('GET', `/api/v1/agents/${slug}`, { token: person.token })
    expect(made.status).toBe(404)
  },
)
