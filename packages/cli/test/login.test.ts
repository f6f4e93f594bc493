import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { app, baseUrl, newHome, run, start, until } from './support/guild.ts'

const confirm = (token: string, code: string, access = 'full') =>
  app.call('POST', '/api/v1/activate/confirm', { token, body: { code, access } })
const config = (home: string) => join(home, '.config', 'guild')
const mode = (path: string) => statSync(path).mode & 0o777

describe('a login in two steps, without a terminal', () => {
  test('says where the key will be, shows the code, and keeps the key in a file of the user’s own', async () => {
    const person = await app.newPerson()
    const home = newHome()
    const env = { SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' }
    const begun = await run(home, ['login', baseUrl, '--no-wait', '--json'], { env })
    expect(begun).toMatchObject({ code: 0, json: { status: 'pending', next: ['guild login --resume'] } })
    expect(begun.stderr.indexOf('(0600)')).toBeLessThan(begun.stderr.indexOf(begun.json.user_code))

    const resumed = start(home, ['login', '--resume', '--json'], { env })
    expect((await confirm(person.token, begun.json.user_code)).status).toBe(200)
    const done = await resumed.ended
    expect(done).toMatchObject({ code: 0, json: { status: 'approved', storage: 'file', activated: true } })

    expect(mode(config(home))).toBe(0o700)
    expect(mode(join(config(home), 'credentials.json'))).toBe(0o600)
    const secret = JSON.parse(readFileSync(join(config(home), 'credentials.json'), 'utf8')).keys.default
    expect(done.stdout + done.stderr + readFileSync(join(config(home), 'config.json'), 'utf8')).not.toContain(
      secret,
    )
    expect(existsSync(join(home, '.local', 'state', 'guild', 'pending-login.json'))).toBe(false)

    const self = await run(home, ['whoami', '--json'])
    expect(self).toMatchObject({ code: 0, stderr: '', json: { workspace: { id: person.workspaceId } } })
    const token = await run(home, ['auth', 'token'])
    expect(token.stdout).toBe(`${secret}\n`)
    const status = await run(home, ['auth', 'status', '--all'])
    expect(status.stdout.split('\t')).toEqual(expect.arrayContaining(['default', baseUrl, 'active\n']))

    expect(await run(home, ['logout', '--json'])).toMatchObject({ code: 0, json: { removed: ['default'] } })
    expect(existsSync(join(config(home), 'credentials.json'))).toBe(false)
    expect((await run(home, ['whoami'])).code).toBe(4)
  })

  test('asks for what the key needs when it was paired without any', async () => {
    const person = await app.newPerson()
    const home = newHome()
    const begun = await run(home, [
      'login',
      baseUrl,
      '--no-wait',
      '--json',
      '--scopes',
      'profile:read,agent:list',
    ])
    const resumed = start(home, ['login', '--resume', '--json'])
    await confirm(person.token, begun.json.user_code, 'declared')
    const consent = await until(async () => {
      const { body } = await app.call('GET', '/api/v1/approvals?kind=consent&status=pending', {
        token: person.token,
      })
      return body.items[0]
    })
    await app.call('POST', `/api/v1/agents/connect/${consent.id}/approve`, {
      token: person.token,
      body: { scopes: ['profile:read'] },
    })
    expect(await resumed.ended).toMatchObject({
      code: 0,
      json: { activated: true, scopes: ['profile:read'] },
    })
  })

  test('ends with 5 when it is denied', async () => {
    const person = await app.newPerson()
    const home = newHome()
    const begun = await run(home, ['login', baseUrl, '--no-wait', '--json'])
    await app.call('POST', '/api/v1/activate/deny', {
      token: person.token,
      body: { code: begun.json.user_code },
    })
    expect(await run(home, ['login', '--resume', '--json'])).toMatchObject({
      code: 5,
      error: { code: 'DENIED' },
    })
    expect((await run(home, ['login', '--resume'])).code).toBe(4)
  })

  test('does not wait when an agent runs it, and goes on after ^C', async () => {
    const person = await app.newPerson()
    const home = newHome()
    const begun = await run(home, ['login', baseUrl, '--json'], { env: { CLAUDECODE: '1' } })
    expect(begun).toMatchObject({ code: 0, json: { status: 'pending' } })
    const waiting = start(home, ['login', '--resume'])
    await until(() => waiting.stderr().includes('Waiting'))
    waiting.child.kill('SIGINT')
    expect((await waiting.ended).code).toBe(130)
    await confirm(person.token, begun.json.user_code)
    expect((await run(home, ['login', '--resume'])).code).toBe(0)
  })
})

describe('a key that cannot be kept', () => {
  test('is refused before anything is asked of the server', async () => {
    const home = newHome()
    writeFileSync(join(home, '.config'), 'not a folder')
    const ran = await run(home, ['login', 'http://127.0.0.1:9', '--no-wait', '--json'])
    expect(ran).toMatchObject({ code: 4, stdout: '' })
    expect(ran.error.message).toContain('.config')
  })

  test('is not read through a link, and a file that others can read is narrowed', async () => {
    const { person, home } = { person: await app.newPerson(), home: newHome() }
    const { secret } = await app.newKey(person)
    const kept = await run(home, ['login', baseUrl, '--with-key', '--json'], { stdin: `${secret}\n` })
    expect(kept).toMatchObject({ code: 0, json: { status: 'approved' } })
    const path = join(config(home), 'credentials.json')
    chmodSync(path, 0o644)
    const narrowed = await run(home, ['whoami'])
    expect(narrowed.stderr).toContain('narrowed to 0600')
    expect(mode(path)).toBe(0o600)

    const other = newHome()
    mkdirSync(config(other), { recursive: true, mode: 0o700 })
    writeFileSync(join(config(other), 'config.json'), readFileSync(join(config(home), 'config.json')), {
      mode: 0o600,
    })
    symlinkSync(path, join(config(other), 'credentials.json'))
    expect(await run(other, ['whoami', '--json'])).toMatchObject({ code: 4, stdout: '' })
  })

  test('is only sent to the address that it was paired at', async () => {
    const home = newHome()
    const { secret } = await app.newKey(await app.newPerson())
    await run(home, ['login', baseUrl, '--with-key'], { stdin: secret })
    const elsewhere = await run(home, ['whoami', '--base-url', 'http://127.0.0.1:9', '--json'])
    expect(elsewhere).toMatchObject({ code: 4 })
    writeFileSync(join(home, '.guild.json'), JSON.stringify({ baseUrl: 'http://127.0.0.1:9' }))
    expect((await run(home, ['whoami', '--json'])).code).toBe(0)
  })
})
