import { type Route, routes } from '@guildhall/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Interfere, openProxy } from '../../../../test/support/cutting-proxy.ts'
import { atSize } from '../../../../test/support/sizes.ts'
import * as table from '../../../sdk/src/generated/table.ts'
import { type AnyCall, Guildhall, type Operation, SecretLostError } from '../../../sdk/src/index.ts'
import { openTwins, type Twins } from '../support/twin-stages.ts'
import { type Stage, writingCase } from '../support/writing-cases.ts'

/**
 * Every operation that makes something, with an answer that gets lost: on one stage all is well, on another that began
 * with the same records the connection breaks. What is left behind is the same on both.
 */
const rounds = atSize(1, 100)

let twins: Twins
let proxy: Awaited<ReturnType<typeof openProxy>>
/** Where the next answer breaks off: before it, or within it. */
let breaksAt: number | undefined

const breakOnce: Interfere = (piece, line) => {
  if (breaksAt === undefined) return line.pass(piece)
  line.pass(piece.subarray(0, Math.floor(piece.length * breaksAt)))
  breaksAt = undefined
  setImmediate(line.cut)
}

beforeAll(async () => {
  twins = await openTwins()
  proxy = await openProxy(twins.second.house.url, breakOnce)
})

afterAll(async () => {
  await proxy?.close()
  await twins?.close()
})

const creating = Object.values<Operation<never, unknown>>(
  table as unknown as Record<string, Operation<never, unknown>>,
).filter(({ creates }) => creates)

test('it is known of every operation whether it makes something', () => {
  const names = Object.entries<Route>(routes).flatMap(([name, { creates }]) => (creates ? [name] : []))
  expect(creating.map(({ name }) => name).sort()).toEqual(names.sort())
})

async function play(operation: Operation<never, unknown>, stage: Stage, fetch?: typeof globalThis.fetch) {
  const { params = {}, body, headers = {}, key, token = '' } = await writingCase(operation.name)(stage)
  const guild = new Guildhall({
    baseUrl: stage.house.url,
    ...(key ? { apiKey: key } : { authToken: token }),
    ...(fetch && { fetch }),
  })
  if (fetch) breaksAt = Math.random() < 0.5 ? 0 : Math.random()
  const call = guild.call(operation as Operation<AnyCall, unknown>, { params, body }, { headers })
  return call.then(
    () => 'answered',
    (error: unknown) => (SecretLostError.is(error) ? 'its secret is lost' : String(error)),
  )
}

test.each(creating)(
  `$name is done once when its answer gets lost (${rounds} times)`,
  async (operation: Operation<never, unknown>) => {
    const before = await twins.lastDifferences()
    for (let round = 0; round < rounds; round++) {
      const outcomes = await Promise.all([
        play(operation, twins.first),
        play(operation, twins.second, proxy.fetch),
      ])
      expect(breaksAt).toBeUndefined()
      expect(outcomes).toEqual(['answered', operation.secret ? 'its secret is lost' : 'answered'])
    }
    // Whatever one round made twice is still there after the last.
    await twins.expectNoneBut(before)
  },
  30_000 + rounds * 1000,
)
