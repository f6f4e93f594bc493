import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { freePort } from '../../../../test/support/free-port.ts'
import type { Heavy } from '../../../../test/support/heaviest.ts'
import { expectWithin, tell } from '../../../../test/support/proof.ts'
import { readSteadily } from '../../../../test/support/steady-reads.ts'
import { openStorm, type Storm } from '../../../../test/support/storm.ts'
import { heavyRoutes, playHeavy } from '../support/heavy-calls.ts'
import { createDatabase, type House, openHouse, testEnv } from '../support/house.ts'
import { type Ingress, openIngress } from '../support/ingress.ts'
import { models, operatorToken } from '../support/writing-cases.ts'

/** What sixty of the heaviest requests of a route may cost a stranger who reads from the same process. */
const strangerMs = 250
const times = 60

let ingress: Ingress
let storage: string
/** Where everything is made ready; what is measured is a process of its own beside it. */
let house: House
let api: ChildProcess
let apiUrl: string
let storm: Storm
let strangersKey: string

beforeAll(async () => {
  ingress = await openIngress()
  storage = await mkdtemp(join(tmpdir(), 'guildhall-heaviest-'))
  const env = {
    DATABASE_URL: await createDatabase(),
    RESTATE_INGRESS_URL: ingress.url,
    STARTING_CREDITS: '1000000',
    OPERATOR_TOKEN: operatorToken,
    MODELS: JSON.stringify(models),
    STORAGE: `directory:${storage}`,
  }
  house = await openHouse(env)
  const port = await freePort()
  apiUrl = `http://127.0.0.1:${port}`
  api = fork(fileURLToPath(new URL('../../src/main.ts', import.meta.url)), {
    env: { ...process.env, ...testEnv(env), PORT: String(port), LOG_LEVEL: 'warn' },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await vi.waitFor(async () => expect((await fetch(`${apiUrl}/healthz`)).status).toBe(200), 60_000)
  storm = openStorm()
  strangersKey = (await house.newKey(await house.newPerson())).secret
})

afterAll(async () => {
  storm?.close()
  api?.kill()
  await house?.close()
  await ingress?.close()
  await rm(storage, { recursive: true, force: true })
})

/** In time of that process: others use the machine too. */
function cpuMs(): number {
  const fields = readFileSync(`/proc/${api.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

describe.each(heavyRoutes)('$name', (each) => {
  const { method } = each.route
  const send = ({ path, headers, body }: Heavy, count: number) =>
    storm.send({ method, url: apiUrl + path, headers, ...(body === undefined ? {} : { body }) }, count)

  /** Eight of them, because the kernel counts in hundredths of a second. */
  async function costOf(heavy: Heavy) {
    const before = cpuMs()
    const statuses = await send(heavy, 8)
    return {
      heavy,
      costMs: (cpuMs() - before) / 8,
      isDone: Object.keys(statuses).some((one) => Number(one) < 400),
    }
  }

  /** Of all the ways to make it heavy the one that costs most. */
  async function heaviest() {
    let { heavy } = await playHeavy(house, each)
    let most: Awaited<ReturnType<typeof costOf>> | undefined
    let isDone = false
    for (let tried = 0; ; tried++) {
      let next = heavy.next().value
      if (next?.isKnown && isDone) {
        ;({ heavy } = await playHeavy(house, each))
        for (let before = 0; before <= tried; before++) next = heavy.next().value
      }
      if (!next) break
      const one = await costOf(next)
      isDone = one.isDone
      if (!most || one.costMs > most.costMs) most = one
    }
    if (!most) throw new Error('There is nothing to send')
    return most
  }

  async function strangerWaits(heavy: Heavy) {
    const reads = await readSteadily(`${apiUrl}/api/v1/agents/me`, strangersKey)
    const statuses = await send(heavy, times)
    return { statuses, ...(await reads()) }
  }

  test('sixty of the heaviest while a stranger reads', { timeout: 600_000 }, async () => {
    const { heavy, costMs } = await heaviest()
    // Of so few reads the slowest is as often the machine's: what is too slow once is looked at twice more.
    const rounds = [await strangerWaits(heavy)]
    if ((rounds[0]?.p99Ms ?? 0) > strangerMs)
      rounds.push(await strangerWaits(heavy), await strangerWaits(heavy))
    const [first, middle = first] = rounds.map(({ p99Ms }) => p99Ms).sort((a, b) => a - b)
    const size = heavy.path.length + JSON.stringify(heavy.headers).length + (heavy.body?.length ?? 0)
    tell(
      `${each.name}, ${heavy.about} (${size} bytes, ${costMs.toFixed(1)} ms of CPU): ` +
        rounds
          .map(
            ({ statuses, count, p99Ms }) => `${JSON.stringify(statuses)}, p99 of ${count} reads ${p99Ms} ms`,
          )
          .join('; '),
    )
    expectWithin(middle ?? Number.POSITIVE_INFINITY, strangerMs)
  })
})
