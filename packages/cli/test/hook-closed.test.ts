import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { expectWithin } from '../../../test/support/proof.ts'
import { app, environmentOf, newHome, newUser, program, run, start, until } from './support/guild.ts'

/** What an attacker, a full disk or a silent server could turn into a yes. */

const recorded = (name: string) => readFileSync(new URL(`recordings/${name}.json`, import.meta.url), 'utf8')
const call = JSON.stringify({ tool: 'bash', args: { command: 'git push' }, cwd: '/srv' })
type User = Awaited<ReturnType<typeof newUser>>

const asks = async ({ person }: User) =>
  (await app.call('GET', '/api/v1/approvals?kind=ask&status=pending', { token: person.token })).body.items
const approve = ({ person }: User, id: string, body: object) =>
  app.call('POST', `/api/v1/approvals/${id}/approve`, { token: person.token, body })
const decisionOf = (ran: { json: { hookSpecificOutput?: { permissionDecision?: string } } }) =>
  ran.json?.hookSpecificOutput?.permissionDecision

/** A call that is refused, as there is no key, and whose answer goes where it cannot be read. */
async function unread(words: readonly string[], stdin: string, stdout: 'pipe' | number): Promise<unknown> {
  const child = spawn(process.execPath, [program, ...words], {
    env: environmentOf(newHome()),
    stdio: ['pipe', stdout, 'ignore'],
  })
  child.stdout?.destroy()
  child.stdin?.on('error', () => {})
  child.stdin?.end(stdin)
  const [code] = await once(child, 'exit')
  return code
}

describe('an answer that cannot be written is no yes', () => {
  test.each([
    ['generic', call],
    ['claude-code', recorded('bash')],
  ])('of hook %s, to a pipe that is closed or a disk that is full', async (name, stdin) => {
    expect(await unread(['hook', name], stdin, 'pipe')).toBe(2)
    expect(await unread(['--no-input', 'hook', name], stdin, 'pipe')).toBe(2)
    const full = openSync('/dev/full', 'w')
    try {
      expect(await unread(['hook', name], stdin, full)).toBe(2)
    } finally {
      closeSync(full)
    }
  })

  test('while other commands end quietly when their reader has gone', async () => {
    expect(await unread(['version'], '', 'pipe')).toBe(0)
  })

  test('and a hook without its kind is no yes either', async () => {
    expect((await run(newHome(), ['hook'], { stdin: call })).code).toBe(2)
    expect((await run(newHome(), ['hook', '--json'], { stdin: call })).code).toBe(2)
    expect((await run(newHome(), ['help', 'hook'])).code).toBe(0)
  })
})

describe('one yes is for one call', () => {
  test('though another just like it waits', async () => {
    const user = await newUser()
    const calls = [1, 2].map(() =>
      start(user.home, ['hook', 'generic', '--wait=20s'], { env: user.env, stdin: call }),
    )
    const [first] = await until(async () => {
      const items = await asks(user)
      return items.length === 2 ? items : undefined
    })
    await approve(user, first.id, { choice: 'allow' })
    await Promise.race(calls.map(({ ended }) => ended))
    const [second] = await asks(user)
    await app.call('POST', `/api/v1/approvals/${second.id}/deny`, { token: user.person.token, body: {} })
    const codes = await Promise.all(calls.map(async ({ ended }) => (await ended).code))
    expect(codes.sort()).toEqual([0, 5])
  })

  test.each([
    ['null', null],
    ['a list', ['git push origin review']],
    ['words', 'git push origin review'],
  ])('and not when it was changed into what is no input: %s', async (_, edited) => {
    const user = await newUser()
    const asking = start(user.home, ['hook', 'claude-code'], { env: user.env, stdin: recorded('bash') })
    const [item] = await until(async () => {
      const items = await asks(user)
      return items.length > 0 ? items : undefined
    })
    expect((await approve(user, item.id, { choice: 'allow', edited_args: edited })).status).toBe(200)
    const ran = await asking.ended
    expect([ran.code, decisionOf(ran)]).toEqual([0, 'deny'])
  })
})

test('a server that takes the question and says nothing is a no, before the agent gives up on us', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const env = { GUILD_BASE_URL: `http://127.0.0.1:${port}`, GUILD_API_KEY: 'guild_live_none' }
  const began = Date.now()
  const ran = await run(newHome(), ['hook', 'claude-code', '--wait=1s'], { env, stdin: recorded('bash') })
  silent.close()
  expect([ran.code, decisionOf(ran)]).toEqual([0, 'deny'])
  expect(ran.stdout).toContain('no answer in time')
  expectWithin(Date.now() - began, 20_000)
})
