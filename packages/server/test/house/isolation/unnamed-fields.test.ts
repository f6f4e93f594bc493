import { type Route, weightOf } from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer } from '../../../../../test/support/caller.ts'
import { isProof } from '../../../../../test/support/sizes.ts'
import { listOptionNames } from '../../support/option-names.ts'
import { type Planted, plant, plantedFields } from '../../support/planting.ts'
import { openTwins, type Twins } from '../../support/twin-stages.ts'
import { send, writingCase, writingRoutes } from '../../support/writing-cases.ts'

/**
 * Every writing route is played on two stages that begin with the same records: on the one as the contract has it, on
 * the other with every column of every table and every option of the server's functions added, wherever the contract
 * says which fields there are. The records are the same afterwards, but for what is drawn by lot.
 */
let twins: Twins
let plain: Twins['first']
let grown: Twins['second']
let planted: Planted

beforeAll(async () => {
  twins = await openTwins()
  plain = twins.first
  grown = twins.second
  planted = plantedFields(twins.columns, listOptionNames(), twins.strangers)
})

afterAll(() => twins?.close())

/** How many fields the answer says were left out. */
function ignoredIn(answer: Answer): number {
  const names = answer.headers.get('x-ignored-fields')?.split(', ') ?? []
  return names.reduce((sum, name) => sum + (name.startsWith('+') ? Number(name.slice(1)) : 1), 0)
}

test('there is much to plant, and the strangers are in it', () => {
  expect(planted.size).toBeGreaterThan(500)
  for (const name of ['workspace_id', 'is_primary', 'step', 'parent', 'traceId', 'apiKeyId', 'admit']) {
    expect([...planted.keys()]).toContain(name)
  }
  expect([...planted.values()]).toContain(twins.strangers.workspaceId)
})

test('the comparison sees a difference', async () => {
  expect(await twins.differences()).toEqual([])
  await grown.client.query("update users set name = 'planted' where id = $1", [twins.strangers.userId])
  expect(await twins.differences()).toEqual([
    expect.stringMatching(/^- users /),
    expect.stringMatching(/^\+ users .*planted/),
  ])
  await grown.client.query('update users set name = null where id = $1', [twins.strangers.userId])
  expect(await twins.differences()).toEqual([])
})

/** Their bodies are the author's own, whatever they hold. */
const openBodies = ['validateWorkflow', 'installWorkflow']
const plantedSomewhere = new Set<string>()

/** All that is planted, in as many parts as a body of the route has no room for together. */
function partsFor(route: Route, body: unknown): Planted[] {
  const all = [...planted]
  const { bytes, values } = weightOf(route)
  for (let parts = 1; ; parts++) {
    const cut = Array.from(
      { length: parts },
      (_, nth) => new Map(all.filter((_one, at) => at % parts === nth)),
    )
    const texts = cut.map((part) => JSON.stringify(plant(route.body, body, part).value))
    if (texts.every((text) => text.length <= bytes && (text.match(/[,[{]/g)?.length ?? 0) < values))
      return cut
  }
}

describe.each(writingRoutes.map((one, index) => ({ ...one, index })))('$name', ({ name, route, index }) => {
  test('changes nothing but what the contract names', async () => {
    const make = writingCase(name)
    const parts = partsFor(route, (await make(plain)).body)
    await make(grown)
    const chosen = isProof ? parts : parts.filter((_part, nth) => nth === index % parts.length)
    for (const part of chosen) await attackWith(make, part)
  })

  async function attackWith(make: ReturnType<typeof writingCase>, part: Planted): Promise<void> {
    const before = await twins.lastDifferences()
    const call = await make(plain)
    const control = await send(plain, route, call)
    if (call.refusedWith === undefined) expect(control.status, control.text).toBeLessThan(300)
    else expect(control.status, control.text).toBe(call.refusedWith)
    expect(control.headers.has('x-ignored-fields')).toBe(false)

    const again = await make(grown)
    const { value: body, count } = plant(route.body, again.body, part)
    const inQuery = [...planted.keys()].filter(
      (field) => /id$/i.test(field) && !route.query?.properties[field],
    )
    const query = inQuery.map((field) => `${field}=${twins.strangers.workspaceId}`).join('&')
    const attack = await send(grown, route, { ...again, body }, `?${query}`)
    expect(attack.status, attack.text).toBe(control.status)
    await twins.expectNoneBut(before)
    if (!openBodies.includes(name)) expect(count).toBeGreaterThan(20)
    expect(ignoredIn(attack)).toBe(count + inQuery.length)
    for (const field of part.keys()) plantedSomewhere.add(field)
  }
})

test('each of them was planted', () => {
  expect([...planted.keys()].filter((field) => !plantedSomewhere.has(field))).toEqual([])
})
