import { afterEach, describe, expect, test } from 'vitest'
import { app, baseUrl, environmentOf, newHome, program, run, start, until } from './support/guild.ts'
import { browserOf, newBrowsingPerson } from './support/person.ts'
import { openTerminal, type Terminal } from './support/terminal.ts'

let terminal: Terminal | undefined
afterEach(() => {
  terminal?.close()
  terminal = undefined
})

const guild = (words: string) => `${process.execPath} ${program} ${words}; echo "exit:$?"`
type Person = Awaited<ReturnType<typeof newBrowsingPerson>>

/** A terminal of somebody who can sign in, and a key of theirs that asks for things. */
async function atTheTerminal() {
  const person = await newBrowsingPerson()
  const home = newHome()
  const { secret } = await app.newKey(person, { label: 'the bot', scopes: ['agent:list'] })
  terminal = openTerminal(
    environmentOf(home, { GUILD_BASE_URL: baseUrl, GUILD_BROWSER: browserOf(home, person) }),
  )
  return { person, home, terminal, env: { GUILD_BASE_URL: baseUrl, GUILD_API_KEY: secret } }
}

const sessionsOf = async ({ token }: Person) =>
  (await app.call('GET', '/api/v1/auth/sessions', { token })).body.length

const ask = async (home: string, env: Record<string, string>, scope: string, ...more: string[]) =>
  (await run(home, ['perms', 'ask', scope, '--reason', `for ${scope}`, ...more, '--json'], { env })).json
    .request_id as string
const stateOf = async ({ token }: Person, id: string) =>
  (await app.call('GET', `/api/v1/approvals/${id}`, { token })).body.status

describe('a command for people', () => {
  test('signs in with the browser, acts as the person and leaves no session behind', async () => {
    const { person, terminal } = await atTheTerminal()
    const before = await sessionsOf(person)
    terminal.type(guild('keys list'), 'Enter')
    expect(await terminal.shows(/exit:\d/)).toMatch(/the bot[\s\S]*exit:0/)
    expect(await sessionsOf(person)).toBe(before)
    await terminal.clear()
    terminal.type(guild('login --person'), 'Enter')
    expect(await terminal.shows(/exit:\d/)).toContain(`You can sign in as ${person.name}`)
    expect(await sessionsOf(person)).toBe(before)
  })

  test('approves what needs no passkey when the word is typed, and nothing else', async () => {
    const { person, home, env, terminal } = await atTheTerminal()
    const id = await ask(home, env, 'profile:read', '--mode', 'once')
    terminal.type(guild(`approvals approve ${id}`), 'Enter')
    expect(await terminal.shows('Type allow')).toContain('Claim     for profile:read')
    terminal.type('yes', 'Enter')
    await terminal.shows('exit:2')
    expect(await stateOf(person, id)).toBe('pending')
    await terminal.clear()
    terminal.type(guild(`approvals approve ${id}`), 'Enter')
    await terminal.shows('Type allow')
    terminal.type('allow', 'Enter')
    await terminal.shows('exit:0')
    expect(await stateOf(person, id)).toBe('granted')
    // As it was asked for, and no longer.
    const read = () => run(home, ['profile', 'get', '--json'], { env })
    expect([(await read()).code, (await read()).code]).toEqual([0, 5])
  })

  test('watches what comes, denies by a line, and allows where the word is typed', async () => {
    const { person, home, env, terminal } = await atTheTerminal()
    const first = await ask(home, env, 'profile:read')
    terminal.type(guild('approvals watch'), 'Enter')
    await terminal.shows(/1 {2}permission {2}profile:read {2}— says "the bot"/)
    const second = await ask(home, env, 'billing:read')
    await terminal.shows(/2 {2}permission {2}billing:read/)
    terminal.type('d 1 not now', 'Enter')
    await terminal.shows('1 is decided.')
    const denied = await app.call('GET', `/api/v1/approvals/${first}`, { token: person.token })
    expect(denied.body).toMatchObject({ status: 'denied', deny_reason: 'not now' })
    terminal.type('a 2', 'Enter')
    await terminal.shows('Type allow')
    terminal.type('allow', 'Enter')
    await terminal.shows('2 is decided.')
    expect(await stateOf(person, second)).toBe('granted')
    terminal.type('a 7', 'Enter')
    await terminal.shows('No card has the number 7.')
    terminal.type('q', 'Enter')
    await terminal.shows('exit:0')
  })

  test('watches without a terminal for a program, and approves nothing there', async () => {
    const person = await newBrowsingPerson()
    const home = newHome()
    const { secret } = await app.newKey(person, { scopes: ['agent:list'] })
    const env = { GUILD_BASE_URL: baseUrl, GUILD_AUTH_TOKEN: person.token }
    const watching = start(home, ['approvals', 'watch', '--json'], { env })
    await until(() => watching.stderr().includes('Nothing waits'))
    const id = await ask(home, { GUILD_BASE_URL: baseUrl, GUILD_API_KEY: secret }, 'profile:read')
    await until(() => watching.stdout().includes(id))
    watching.child.kill('SIGTERM')
    const { code, stdout } = await watching.ended
    expect(code).toBe(143)
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toMatchObject([
      { id, kind: 'permission' },
      { type: 'guild.result', exitCode: 143 },
    ])
  })

  test('keeps a session in the keyring and nowhere else: without one it is refused before anybody signs in', async () => {
    const { person, terminal } = await atTheTerminal()
    const before = await sessionsOf(person)
    terminal.type(guild('login --person --keep'), 'Enter')
    expect(await terminal.shows(/exit:\d/)).toMatch(/kept in the keyring and nowhere else[\s\S]*exit:4/)
    expect(await sessionsOf(person)).toBe(before)
  })
})
