import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import { openConnectProxy } from '../../../test/support/connect-proxy.ts'
import { bash, installErrand, script } from '../../../test/support/executions.ts'
import { atSize } from '../../../test/support/sizes.ts'
import { openStreamCutter } from '../../../test/support/stream-cutter.ts'
import { app, baseUrl, environmentOf, newUser, program, run } from './support/guild.ts'
import { openTerminal, type Terminal } from './support/terminal.ts'

const rounds = atSize(1, 20)
const cuts = 20

let database: pg.Client
let terminal: Terminal | undefined

beforeAll(async () => {
  database = new pg.Client({ connectionString: inject('guildStack').databaseUrl })
  await database.connect()
})
afterAll(() => database?.end())
afterEach(() => {
  terminal?.close()
  terminal = undefined
})

/** Somebody whose guild reaches the stack through a proxy of the network, on which streams are cut. */
async function behindCuts() {
  const user = await newUser()
  await installErrand(app, user.person)
  const cutter = await openStreamCutter(baseUrl, { cuts })
  const proxy = await openConnectProxy(() => new URL(cutter.url).host)
  return {
    ...user,
    cutter,
    env: { ...user.env, HTTP_PROXY: proxy.url },
    close: async () => {
      await proxy.close()
      await cutter.close()
    },
  }
}

const steps = Array.from({ length: 12 }, (_, step) => ({
  say: `Step ${step} of twelve.`,
  tools: [bash('echo one; echo two')],
}))

async function ledgerOf(executionId: string): Promise<number> {
  const { rows } = await database.query(
    `select amount_milli_ds from ledger where kind = 'settle' and execution_id = $1`,
    [executionId],
  )
  return Number(rows[0].amount_milli_ds) / 1000
}

describe.each(Array.from({ length: rounds }, (_, index) => index + 1))('cut twenty times (%i)', () => {
  test('guild run --json gives every event once, in order, and ends as the run did', async () => {
    const user = await behindCuts()
    try {
      const input = script(...steps, { fail: { status: 400, times: 99 } })
      const ran = await run(user.home, ['run', 'errand', input, '--json'], { env: user.env })
      expect(ran.code, ran.stderr).toBe(1)
      const lines = ran.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const { executionId, ...result } = lines.at(-1)
      expect(result).toMatchObject({ type: 'guild.result', status: 'failed', exitCode: 1 })
      const { rows } = await database.query(
        `select e.sequence, e.type, e.payload from execution_events e join executions x on x.id = e.execution_id
         where x.execution_id = $1 order by e.sequence`,
        [executionId],
      )
      const events = lines.slice(0, -1).map(({ sequence, type, payload }) => ({
        ...{ sequence, type },
        payload: JSON.stringify(payload),
      }))
      expect(events).toEqual(rows)
      expect(user.cutter.done()).toBeGreaterThanOrEqual(cuts)
    } finally {
      await user.close()
    }
  })

  test('guild run in a terminal shows the whole text, and what the ledger says it took', async () => {
    const user = await behindCuts()
    try {
      const env = environmentOf(user.home, { ...user.env, ASK: script(...steps, { say: 'That is all.' }) })
      terminal = openTerminal(env, 110, 120)
      terminal.type(`clear; ${process.execPath} ${program} run errand "$ASK"; echo "exit:$?"`, 'Enter')
      const screen = await terminal.shows(/exit:\d/, 90_000)
      expect(screen).toContain('exit:0')
      for (const { say } of [...steps, { say: 'That is all.' }]) expect(screen).toContain(say)
      const [, id = ''] = /guild exec show (exec_\S+)/.exec(screen) ?? []
      const [, cost = ''] = /completed in .* · ([\d.,]+) Ds · 0 files/.exec(screen) ?? []
      expect(Number(cost)).toBe(await ledgerOf(id))
      expect(user.cutter.done()).toBeGreaterThanOrEqual(cuts)
    } finally {
      await user.close()
    }
  })
})
