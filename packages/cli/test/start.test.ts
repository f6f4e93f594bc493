import { spawnSync } from 'node:child_process'
import { beforeAll, describe, test } from 'vitest'
import { expectRatio, tell } from '../../../test/support/proof.ts'
import { atSize } from '../../../test/support/sizes.ts'
import { newUser, program } from './support/guild.ts'

/** More of them give a truer minimum. */
const rounds = atSize(2, 101)
const mostRounds = atSize(1, 3) * rounds
const everything = rounds > 21

let user: Awaited<ReturnType<typeof newUser>>
beforeAll(async () => {
  user = await newUser()
})

function milliseconds(args: readonly string[], env: Readonly<Record<string, string>>): number {
  const began = process.hrtime.bigint()
  const { status, stderr } = spawnSync(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const took = Number(process.hrtime.bigint() - began) / 1e6
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`)
  return took
}

/**
 * How many times as long one takes as the other: the least of each, in turns. What else the machine does only ever
 * adds, so where the bound is not met the search for the least goes on for a while.
 */
function ratioOf(args: readonly string[], bare: readonly string[], bound: number): number {
  const env = { PATH: process.env['PATH'] ?? '', HOME: user.home, ...user.env }
  let [least, leastBare] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  milliseconds(args, env)
  for (let round = 0; round < mostRounds; round++) {
    leastBare = Math.min(leastBare, milliseconds(bare, env))
    least = Math.min(least, milliseconds(args, env))
    if (round + 1 >= rounds && least / leastBare <= bound) break
  }
  if (everything) {
    tell(
      `guild ${args.slice(1).join(' ')}: ${least.toFixed(1)} ms, bare ${leastBare.toFixed(1)} ms, ${(least / leastBare).toFixed(2)} times`,
    )
  }
  return least / leastBare
}

const nothing = ['-e', '0']
const fetching = `fetch(process.env.GUILD_BASE_URL + '/api/v1/agents/me', { headers: { 'x-api-key': process.env.GUILD_API_KEY } })
  .then((response) => response.json()).then((self) => console.log(JSON.stringify(self)))`

describe('the program is there at once', () => {
  test.each([
    [['--help'], 1.25],
    [['--version'], 1.25],
    [['help', 'wf'], 1.4],
    [['run', '--help'], 1.4],
  ])('guild %j takes at most %d times as long as nothing', (args, bound) => {
    expectRatio(ratioOf([program, ...args], nothing, bound), bound, `guild ${args.join(' ')}`)
  })

  test('guild whoami takes at most 1.5 times as long as a program that only fetches the same', () => {
    expectRatio(ratioOf([program, 'whoami', '--json'], ['-e', fetching], 1.5), 1.5, 'guild whoami')
  })
})
