import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newHome, type Ran, run } from './support/guild.ts'
import { esc, obeyedIn } from './support/hostile-text.ts'
import { answerTo, type Impostor, openImpostor } from './support/impostor.ts'

/** A server whose every answer has the contract's shape, and in whose every text stands something a terminal obeys. */
const evil = `${esc}]52;c;aGFja2Vk\u0007${esc}[2J\u009b31m\u202egnp.exe\rforged\u0000`

let server: Impostor
beforeAll(async () => {
  server = await openImpostor((method, path) => answerTo(method, path, evil))
})
afterAll(() => server?.close())

const commands = [
  'whoami',
  'auth status',
  'perms list',
  'exec list',
  'exec show exec_x',
  'skills search x',
  'skills list',
  'skills show x',
  'skills versions x',
  'skills diff x',
  'wf list',
  'wf show x',
  'wf graph x',
  'wf runs',
  'wf run x',
  'wf queue',
  'trace list',
  'trace show x',
  'trace handover x',
  'agents list',
  'agents show x',
  'billing',
  'billing ledger',
  'activity',
  'workspace list',
  'profile get',
  'artifacts list',
  'artifacts get x',
  'approvals list',
  'approvals show x',
  'keys list',
  'ask why? --no-wait',
  'perms ask profile:read --reason x',
  'perms declare profile:read',
  'exec cancel x',
  'wf cancel x',
  'doctor',
  'login --no-wait',
]

describe('what a hostile server says', () => {
  test('is shown by every command, and obeyed by no terminal', async () => {
    const waiting = [...commands]
    const bad: string[] = []
    let shown = 0
    const work = async () => {
      for (let words = waiting.shift(); words; words = waiting.shift()) {
        const credential = /^(approvals|keys)/.test(words) ? 'GUILD_AUTH_TOKEN' : 'GUILD_API_KEY'
        const env = {
          GUILD_BASE_URL: server.url,
          [credential]: 'guild_live_x',
          GUILD_FORCE_TTY: '200',
          NO_COLOR: '1',
        }
        const ran: Ran = await run(newHome(), [...words.split(' '), '--timeout', '20s'], { env })
        const said = ran.stdout + ran.stderr.replaceAll(`\r${esc}[K`, '')
        const obeyed = obeyedIn(said)
        if (obeyed) bad.push(`${words}: ${obeyed}`)
        if (said.includes('\\x1b]52;c;aGFja2Vk')) shown++
      }
    }
    await Promise.all([work(), work(), work()])
    expect(bad).toEqual([])
    // Most of them have something to show.
    expect(shown).toBeGreaterThan(commands.length / 2)
  }, 120_000)
})
