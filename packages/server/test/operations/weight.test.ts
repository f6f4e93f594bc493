import { type Route, routes, weightOf } from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** What one request can cost before it is understood: for every route, a body of one byte or one value too many. */
let house: House
const operator = 'operator-'.repeat(8)

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase(), OPERATOR_TOKEN: operator })
})

afterAll(() => house.close())

const all = Object.entries(routes as Readonly<Record<string, Route>>)
const writing = all.filter(([, { method }]) => method !== 'GET')
const kibibyte = 1024

/** New for each: some of the routes end what they are called with. */
async function credentialFor({ audience }: Route) {
  if (audience === 'public') return {}
  if (audience === 'operator') return { headers: { authorization: `Bearer ${operator}` } }
  const person = await house.newPerson()
  if (audience !== 'key' && audience !== 'agent') return { token: person.token }
  return { key: (await house.newKey(person, { access: 'full' })).secret }
}

async function sender(route: Route) {
  const credential = await credentialFor(route)
  const path = route.path.replace(/:\w+/g, '1')
  return (body: string) => house.call(route.method, path, { ...credential, body })
}

/** Some routes write their refusals flat. */
const limitIn = ({ body }: Answer) => body?.error?.details?.limit ?? body?.limit

/** So many values: itself, its list, and what is in it. */
const valued = (values: number) => `{"x":[${'1,'.repeat(values - 3)}1]}`

test.each(writing)('%s reads so many bytes and values, and says how many', async (_name, route) => {
  const { bytes, values } = weightOf(route)
  const send = await sender(route)
  const tooLong = await send(`{"x":"${'x'.repeat(bytes)}"}`)
  expect([tooLong.status, limitIn(tooLong)], tooLong.text).toEqual([400, bytes])
  const tooMany = valued(values + 1)
  // Of the smallest bodies none can hold so many.
  if (tooMany.length > bytes) return
  const refused = await send(tooMany)
  expect([refused.status, limitIn(refused)], refused.text).toEqual([400, values])
  const fits = await send(valued(values))
  expect(limitIn(fits), fits.text).not.toBe(values)
})

describe('the weights themselves', () => {
  test('are small where anybody may come', () => {
    const strangers = writing.filter(([, { audience }]) => audience === 'public')
    expect(strangers.length).toBeGreaterThan(3)
    for (const [name, route] of strangers) expect(weightOf(route).bytes, name).toBe(8 * kibibyte)
  })

  test('are the usual ones but for what the contract leaves open', () => {
    const heavy = writing.filter(([, { weight }]) => weight !== undefined).map(([name]) => name)
    expect(heavy.sort()).toEqual([
      'appendTraceEvents',
      'approveApproval',
      'askPerson',
      'chat',
      'createAgent',
      'createArtifact',
      'createExecution',
      'installWorkflow',
      'launchWorkflow',
      'postExecutionEvents',
      'requestPermission',
      'rerunExecution',
      'rerunWorkflowRun',
      'resumeWorkflowRun',
      'runSkill',
      'sendMessage',
      'updateAgent',
      'validateSkill',
      'validateWorkflow',
    ])
    for (const [name, route] of writing) {
      if (route.audience === 'public' || route.weight) continue
      expect(weightOf(route), name).toEqual({ bytes: 256 * kibibyte, values: 5000 })
    }
  })

  test('hold also at addresses that are none, and for calls that come by no HTTP', async () => {
    const nowhere = await house.call('POST', '/api/v1/nowhere', { body: `"${'x'.repeat(9000)}"` })
    expect([nowhere.status, nowhere.body.error.code]).toEqual([404, 'NOT_FOUND'])
    const { secret: key } = await house.newKey(await house.newPerson(), { access: 'full' })
    const principal = await house.authenticators.key(key, '127.0.0.1')
    const call = house.perform('createAgent', {
      principal,
      client: { address: '127.0.0.1', via: 'mcp', userAgent: undefined, agentSlug: undefined } as never,
      body: JSON.parse(valued(5001)),
      signal: AbortSignal.timeout(10_000),
      requestId: 'weight',
    })
    await expect(call).rejects.toMatchObject({ code: 'INVALID_INPUT', details: { limit: 5000 } })
  })
})
