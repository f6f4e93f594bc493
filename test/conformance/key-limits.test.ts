import { describe, expect, test } from 'vitest'
import {
  confirm,
  inWorkspace,
  listKeys,
  type Mode,
  newKey,
  newPerson,
  newWorkspace,
  type Person,
  pair,
  startPairing,
} from './support/actors.ts'
import type { Answer } from './support/client.ts'
import { expectRefusal } from './support/shapes.ts'
import { verifies } from './verifies.ts'

const byHand = (person: Person): Promise<Answer> => person.post('/keys', { label: 'One more' })

async function byPairing(person: Person): Promise<Answer> {
  const { userCode } = await startPairing()
  return confirm(person, userCode)
}

async function personWithKeys(mode: Mode, count: number): Promise<Person> {
  const person = await newPerson({ mode })
  for (let made = 0; made < count; made++) await newKey(person)
  return person
}

describe('how many keys a person may hold', () => {
  test('in byokmode one', async () => {
    verifies('keys:limit:byokmode-1')
    const person = await personWithKeys('byokmode', 1)
    expectRefusal(await byHand(person), 403, 'FORBIDDEN')
    expectRefusal(await byPairing(person), 403, 'FORBIDDEN')
    expect(await listKeys(person)).toHaveLength(1)
  })

  test('in byokmode one, also when it was paired', async () => {
    verifies('keys:limit:byokmode-1')
    const person = await newPerson({ mode: 'byokmode' })
    await pair(person)
    expectRefusal(await byHand(person), 403, 'FORBIDDEN')
    expect(await listKeys(person)).toHaveLength(1)
  })

  test('in paygmode ten', async () => {
    verifies('keys:limit:paygmode-10')
    const person = await personWithKeys('paygmode', 10)
    expectRefusal(await byHand(person), 403, 'FORBIDDEN')
    expect(await listKeys(person)).toHaveLength(10)
  })

  test('in basedmode as many as they like', async () => {
    verifies('keys:limit:basedmode-unlimited')
    const person = await newPerson({ mode: 'basedmode' })
    const statuses: number[] = []
    for (let made = 0; made < 12; made++) statuses.push((await byHand(person)).status)
    expect(statuses).toEqual(Array(12).fill(201))
    expect(await listKeys(person)).toHaveLength(12)
  })

  test('counted over all workspaces and both ways of making them', async () => {
    verifies('keys:limit:per-user-not-per-workspace')
    const person = await newPerson({ mode: 'paygmode' })
    const second = inWorkspace((await newWorkspace(person)).id)
    for (let made = 0; made < 3; made++) {
      await newKey(person)
      await newKey(person, {}, second)
    }
    for (let paired = 0; paired < 2; paired++) {
      await pair(person)
      await pair(person, { confirm: second })
    }
    expect(await listKeys(person)).toHaveLength(10)
    expectRefusal(await byHand(person), 403, 'FORBIDDEN')
    expectRefusal(await byPairing(person), 403, 'FORBIDDEN')
    expectRefusal(await person.post('/keys', { label: 'There' }, second), 403, 'FORBIDDEN')
    expect(await listKeys(person)).toHaveLength(10)
  })

  test.each<[mode: Mode, limit: number]>([
    ['byokmode', 1],
    ['paygmode', 10],
  ])('the refusal in %s tells the limit of %i', async (mode, limit) => {
    verifies('keys:limit:refusal-shape')
    const person = await personWithKeys(mode, limit)
    for (const refused of [await byHand(person), await byPairing(person)]) {
      const { details } = expectRefusal(refused, 403, 'FORBIDDEN')
      expect(details).toEqual({ reason: 'KEY_LIMIT', limit, mode })
    }
  })

  test('and not one more when twenty are made at once', async () => {
    verifies('keys:limit:race')
    const person = await newPerson({ mode: 'byokmode' })
    const pairings = await Promise.all(Array.from({ length: 10 }, () => startPairing()))
    const answers = await Promise.all(
      pairings.flatMap(({ userCode }) => [byHand(person), confirm(person, userCode)]),
    )
    const refused = answers.filter(({ status }) => status >= 400)
    expect(answers.length - refused.length).toBe(1)
    expect(refused).toHaveLength(19)
    for (const answer of refused) {
      const { details } = expectRefusal(answer, 403, 'FORBIDDEN')
      expect(details).toEqual({ reason: 'KEY_LIMIT', limit: 1, mode: 'byokmode' })
    }
    expect(await listKeys(person)).toHaveLength(1)
  })
})
