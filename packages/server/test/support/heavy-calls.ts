import type { Route } from '@guildhall/contract'
import { type Heavy, heaviestOf, pathOf } from '../../../../test/support/heaviest.ts'
import type { House } from './house.ts'
import { readingCase, readingRoutes } from './reading-cases.ts'
import { stageIn, writingCase, writingRoutes } from './writing-cases.ts'
import type { Make, WritingCall } from './writing-stage.ts'

export interface HeavyRoute {
  readonly name: string
  readonly route: Route
  readonly make: Make
  readonly turn: number
}

/** All but those that stay open or tell of a process. */
export const heavyRoutes: readonly HeavyRoute[] = [
  ...writingRoutes.map((each) => ({ ...each, make: writingCase(each.name) })),
  ...readingRoutes.map((each) => ({ ...each, make: readingCase(each.name) })),
].map((each, turn) => ({ ...each, turn }))

export const heavyWrites = heavyRoutes.filter(({ route }) => route.method !== 'GET')

let played = 0

/**
 * A request that the route takes, and what makes it heavy. For one whose heavy part is known to the contract a new one has
 * to be played when it has been taken before: what is done once would be refused before it is looked into. One is made
 * after the other, because all of them may not have room.
 */
export async function playHeavy(house: House, { name, route, make, turn }: HeavyRoute) {
  const call = await make(stageIn(house, `${name.toLowerCase()}-${played++}`))
  const body = call.body === undefined ? {} : { body: JSON.stringify(call.body) }
  const light = { about: 'as usual', path: pathOf(route, call.params), headers: {}, ...body }
  return {
    light: withCredential(call, light),
    heavy: heavyCalls(route, call, turn),
  }
}

function* heavyCalls(route: Route, call: WritingCall, turn: number): Generator<Heavy, undefined> {
  for (const heavy of heaviestOf(route, call, turn)) yield withCredential(call, heavy)
}

function withCredential({ token, key, headers }: WritingCall, heavy: Heavy): Heavy {
  return {
    ...heavy,
    headers: {
      ...(heavy.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { 'x-auth-token': token }),
      ...(key === undefined ? {} : { 'x-api-key': key }),
      ...headers,
      ...heavy.headers,
    },
  }
}
