import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPushStage, type PushStage } from '../support/pushes.ts'

let stage: PushStage

beforeAll(async () => {
  stage = await openPushStage()
})
afterAll(() => stage?.close())

/** How many can be under way at once. */
const places = 64

/**
 * Each of a person's keys may have five requests that wait, and each request is told to ten browsers. On a stack, 24 keys
 * with five requests each, asked within two seconds and within all windows, had another person wait half a minute.
 */
test('a person is told in turn, however much another one is due', async () => {
  const { house, service } = stage
  const [flood, person] = [await house.newPerson({ mode: 'basedmode' }), await house.newPerson()]
  for (let browser = 0; browser < 10; browser++) await stage.newBrowser(flood)
  const own = await stage.newBrowser(person)
  for (let key = 0; key < 8; key++) {
    const { secret } = await house.newKey(flood, { scopes: ['agent:list'] })
    for (let asked = 0; asked < 5; asked++) await stage.ask(secret)
  }
  const key = await house.newKey(person, { scopes: ['agent:list'] })
  await stage.ask(key.secret)
  const order: string[] = []
  service.reply(({ id }) => {
    order.push(id)
    return { afterMs: 20 }
  })
  await stage.send()
  // Of 401 that are due, the first that are taken.
  expect(order).toHaveLength(places)
  expect(order).toContain(own.id)
})
