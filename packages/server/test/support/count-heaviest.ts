import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Heavy } from '../../../../test/support/heaviest.ts'
import { isProof } from '../../../../test/support/sizes.ts'
import { countWork, type WorkCounter } from './counted-work.ts'
import { type HeavyRoute, playHeavy } from './heavy-calls.ts'
import { createDatabase, type House, openHouse } from './house.ts'
import { type Ingress, openIngress } from './ingress.ts'
import { models, operatorToken } from './writing-cases.ts'

/**
 * For every route the heaviest requests that its contract lets in, in the ways that there are to make one heavy: what they
 * have the process do and make is counted, not timed, and is in proportion to what is sent.
 */
export const mostSteps = (lightest: number, bytes: number) => 50 * lightest + 8 * bytes
/** Of all of a route together. Five hundred files of a small body are the most that is made of one. */
export const mostBytes = 64 * 1024 * 1024
/** So many are counted together: counting takes longer than most requests. */
const together = 4

const bytesOf = ({ path, headers, body = '' }: Heavy) =>
  path.length + JSON.stringify(headers).length + Buffer.byteLength(body)

interface Played {
  readonly light: Heavy
  readonly heavy: readonly Heavy[]
}

/** Gives the counter that it counts with. */
export function countHeaviest(routes: readonly HeavyRoute[]): () => WorkCounter {
  let ingress: Ingress
  let house: House
  let work: WorkCounter
  const played = new Map<string, Played>()

  beforeAll(async () => {
    // What is compiled before is counted by calls alone: a walk within a function would be one step.
    work = await countWork()
    ingress = await openIngress()
    house = await openHouse({
      DATABASE_URL: await createDatabase(),
      RESTATE_INGRESS_URL: ingress.url,
      STARTING_CREDITS: '1000',
      OPERATOR_TOKEN: operatorToken,
      MODELS: JSON.stringify(models),
    })
    for (const each of routes) {
      const { light, heavy } = await playHeavy(house, each)
      // What is done once might be refused the second time before it is looked into.
      const another = each.route.method === 'GET' ? heavy : (await playHeavy(house, each)).heavy
      played.set(each.name, { light, heavy: [...another] })
    }
    await work.takeSteps()
  })

  afterAll(async () => {
    await work?.stop()
    await house?.close()
    await ingress?.close()
  })

  describe.each(routes)('$name', (each) => {
    const { method } = each.route
    const send = ({ path, ...request }: Heavy) => house.call(method, path, request)

    test('has no more done than is sent', async () => {
      const { light, heavy } = played.get(each.name) as Played
      await send(light)
      const lightest = await work.takeSteps()
      const sendAll = async () => {
        for (let next = 0; next < heavy.length; next += together) {
          const sent = heavy.slice(next, next + together)
          for (const one of sent) await send(one)
          const bytes = sent.reduce((sum, one) => sum + bytesOf(one), 0)
          const about = `${bytes} bytes: ${sent.map((one) => one.about).join('; ')}`
          expect.soft(await work.takeSteps(), about).toBeLessThan(mostSteps(lightest, bytes))
        }
      }
      // Nor more made; what a proof sends is more by itself.
      if (isProof) await sendAll()
      else expect(await work.bytesOf(sendAll)).toBeLessThan(mostBytes)
    })
  })

  return () => work
}
