import { mkdirSync, mkdtempSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { maxCostOf } from '../src/commands/run.ts'
import type { Context } from '../src/context.ts'
import { changingPrivate } from '../src/credentials/private-files.ts'
import { globalFlags } from '../src/flags.ts'
import { Input } from '../src/input.ts'
import { Settings } from '../src/settings.ts'
import { app, baseUrl, newHome, newUser, run } from './support/guild.ts'

/** What a cloned repository, an agent with a shell, or a command that was killed must not be able to do. */

const heard: string[] = []
const stranger = createServer((request, response) => {
  heard.push(String(request.headers['x-api-key'] ?? request.headers.authorization ?? ''))
  response.writeHead(404).end()
})
let elsewhere = ''
beforeAll(async () => {
  await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
  elsewhere = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
})
afterAll(() => {
  stranger.close()
})

/** A home with two profiles, and a folder whose project file names the one at the stranger's address. */
function withTwoProfiles() {
  const home = newHome()
  const profile = (address: string) => ({ baseUrl: address, workspace: null, storage: 'file' })
  const folder = join(home, '.config', 'guild')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const profiles = { default: profile(baseUrl), other: profile(elsewhere) }
  const config = { version: 1, current: 'default', profiles, settings: { maxCost: '5' } }
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 })
  const cwd = mkdtempSync(join(home, 'cloned-'))
  writeFileSync(join(cwd, '.guild.json'), JSON.stringify({ profile: 'other', defaults: { maxCost: 900 } }))
  return { home, cwd }
}

describe('a project file', () => {
  test('does not choose where a credential of the environment goes', async () => {
    const { home, cwd } = withTwoProfiles()
    const { key, person } = await newUser()
    const env = { GUILD_API_KEY: key.secret }
    expect((await run(home, ['whoami'], { env, cwd })).code).toBe(0)
    await run(home, ['__complete', 'exec', 'show', ''], { env, cwd })
    expect((await run(home, ['keys', 'list'], { env: { GUILD_AUTH_TOKEN: person.token }, cwd })).code).toBe(0)
    expect(heard).toEqual([])
    // Its person may still mean it.
    await run(home, ['whoami', '--profile', 'other'], { env, cwd })
    expect(heard.length).toBeGreaterThan(0)
  })

  test('lowers what a run may cost, and does not raise it', () => {
    const { home, cwd } = withTwoProfiles()
    const most = (flags: Map<string, string[]>) => {
      const input = new Input({ ...globalFlags, 'max-cost': { value: 'DS', words: '' } }, flags, new Map())
      return maxCostOf({ input, settings: new Settings(input, { HOME: home }, cwd) } as Context)
    }
    expect(most(new Map())).toBe(5)
    expect(most(new Map([['max-cost', ['50']]]))).toBe(50)
    writeFileSync(join(cwd, '.guild.json'), JSON.stringify({ defaults: { maxCost: 2 } }))
    expect(most(new Map())).toBe(2)
  })
})

describe('what speaks for the person', () => {
  test.each([
    ['keys create', ['--label', 'mine', '--scopes', 'agent:list']],
    ['keys rotate', ['1']],
    ['wf resume', ['run_none', '--approve']],
  ])('%s needs them at a terminal, not a token', async (name, words) => {
    const person = await app.newPerson()
    const env = { GUILD_BASE_URL: baseUrl, GUILD_AUTH_TOKEN: person.token }
    const ran = await run(newHome(), [...name.split(' '), ...words, '--json'], { env })
    expect(ran).toMatchObject({
      code: 4,
      stdout: '',
      error: { message: expect.stringContaining('a person at a terminal') },
    })
  })
})

test('a lock whose holder was killed is taken over, and one that another took is left', () => {
  const path = join(newHome(), 'folder', 'config.json')
  mkdirSync(join(path, '..'), { mode: 0o700 })
  const lock = `${path}.lock`
  writeFileSync(lock, '1 dead')
  // Held since a moment that is old enough only while we wait.
  const since = (Date.now() - 1000) / 1000
  utimesSync(lock, since, since)
  expect(changingPrivate(path, () => 'done')).toBe('done')
  expect(() => changingPrivate(path, () => writeFileSync(lock, '2 another'))).not.toThrow()
  const old = (Date.now() - 60_000) / 1000
  utimesSync(lock, old, old)
  expect(changingPrivate(path, () => 'again')).toBe('again')
})

test('a forwarded event goes to https, or to this machine', async () => {
  const user = await newUser()
  const to = 'http://events.example/hook'
  const ran = await run(user.home, ['listen', '--forward-to', to, '--timeout', '2s'], { env: user.env })
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('is not https')])
})
