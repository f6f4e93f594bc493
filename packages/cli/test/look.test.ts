import { beforeAll, describe, expect, test } from 'vitest'
import { installErrand, script } from '../../../test/support/executions.ts'
import { app, newUser, run } from './support/guild.ts'

let user: Awaited<ReturnType<typeof newUser>>
let executionId: string

beforeAll(async () => {
  user = await newUser()
  await installErrand(app, user.person)
  const input = script({ say: 'Grüße an Ada — “fein”. 你好' })
  const ran = await run(user.home, ['run', 'errand', input, '--get', 'executionId'], { env: user.env })
  executionId = ran.stdout.trim()
})

const samples = (): string[][] => [
  ['whoami'],
  ['exec', 'list'],
  ['exec', 'show', executionId],
  ['exec', 'watch', executionId],
  ['skills', 'list'],
  ['perms', 'list'],
  ['agents', 'list'],
  ['billing'],
  ['help', 'wf'],
  ['exec', 'show', 'exec_none'],
]

const esc = '\u001b'
/** What is shown of every sample with these variables. */
async function shownWith(env: Record<string, string>) {
  return Promise.all(
    samples().map(async (args) => ({
      args,
      ...(await run(user.home, args, { env: { ...user.env, ...env } })),
    })),
  )
}

describe('on a terminal', () => {
  test('there are colours, and none with NO_COLOR, --color never or TERM=dumb', async () => {
    const coloured = await shownWith({ GUILD_FORCE_TTY: '80' })
    expect(coloured.some(({ stdout }) => stdout.includes(`${esc}[1m`))).toBe(true)
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      for (const { args, stdout, stderr } of await shownWith({ GUILD_FORCE_TTY: '80', ...env })) {
        // The live line is redrawn, which is no colour.
        expect(`${args} ${stdout}${stderr.replaceAll(`\r${esc}[K`, '')}`).not.toContain(esc)
      }
    }
    const never = await run(user.home, ['whoami', '--color', 'never'], {
      env: { ...user.env, GUILD_FORCE_TTY: '80' },
    })
    expect(never.stdout).not.toContain(esc)
  })

  test('TERM=dumb is sent no sequence at all', async () => {
    for (const { stdout, stderr } of await shownWith({ GUILD_FORCE_TTY: '80', TERM: 'dumb' })) {
      expect([esc, '\r'].filter((sign) => (stdout + stderr).includes(sign))).toEqual([])
    }
  })

  test('of 40 columns an id is whole, and each of the values stands by its name', async () => {
    const env = { ...user.env, GUILD_FORCE_TTY: '40', NO_COLOR: '1' }
    const { stdout } = await run(user.home, ['exec', 'list'], { env })
    expect(stdout).toContain(`ID       ${executionId}\n`)
    expect(stdout).toMatch(/^SKILL {4}errand v1$/m)
    expect(stdout).toMatch(/^STATE {4}completed$/m)
    const wide = await run(user.home, ['exec', 'list'], { env: { ...env, GUILD_FORCE_TTY: '160' } })
    expect(wide.stdout).toMatch(/^ID +SKILL +STATE +COST +STARTED +BY\n/)
    const narrow = await run(user.home, ['skills', 'list'], { env })
    for (const line of narrow.stdout.trimEnd().split('\n')) expect(line.length, line).toBeLessThanOrEqual(40)
  })

  test('that does not read UTF-8 is sent ASCII alone, and JSON that means the same', async () => {
    for (const { args, stdout, stderr } of await shownWith({
      GUILD_FORCE_TTY: '80',
      LANG: 'C',
      NO_COLOR: '1',
    })) {
      expect(
        [...(stdout + stderr)].filter((character) => character > '~'),
        args.join(' '),
      ).toEqual([])
    }
    const env = { ...user.env, GUILD_FORCE_TTY: '80', LANG: 'C' }
    const json = await run(user.home, ['exec', 'show', executionId, '--json'], { env })
    const exact = await run(user.home, ['exec', 'show', executionId, '--json'], { env: user.env })
    expect([...json.stdout].filter((character) => character > '~')).toEqual([])
    expect(json.json).toEqual(exact.json)
    expect(exact.stdout).toContain('Grüße')
  })
})
