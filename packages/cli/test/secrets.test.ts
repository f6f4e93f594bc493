import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commands } from '../src/commands.ts'
import { globalFlags } from '../src/flags.ts'
import { app, baseUrl, newHome, newUser, type Ran, run, start, until } from './support/guild.ts'

type User = Awaited<ReturnType<typeof newUser>>

/** A user whose key is stored, as after a login. */
async function signedIn(): Promise<User> {
  const user = await newUser()
  await run(user.home, ['login', baseUrl, '--with-key'], { stdin: user.key.secret })
  return user
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

describe('a secret', () => {
  test('is no argument: no flag takes one', () => {
    const flags = [globalFlags, ...commands.map((command) => command.flags ?? {})]
    const names = flags
      .flatMap((each) => Object.entries(each).filter(([, { value }]) => value))
      .map(([name]) => name)
    expect(names.filter((name) => /token|secret|password|api-?key|credential/.test(name))).toEqual([])
  })

  test('stands in the arguments of no process while it is used', async () => {
    const user = await signedIn()
    const listening = start(user.home, ['listen'], {})
    await until(() => listening.stderr().includes('connected'))
    const { pid } = listening.child
    const own = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
    listening.child.kill('SIGTERM')
    await listening.ended
    expect(own).not.toContain(user.key.secret)
    expect(environment).not.toContain(user.key.secret)
  })

  test('does not reach programs that guild starts', async () => {
    const user = await newUser()
    const bin = mkdtempSync(join(tmpdir(), 'guild-bin-'))
    const note = (name: string, answer: string) => {
      writeFileSync(
        join(bin, name),
        `#!/bin/sh\n{ env; printf '%s\\n' "$@"; } > ${bin}/${name}.out.new\nmv ${bin}/${name}.out.new ${bin}/${name}.out\necho '${answer}'\n`,
      )
      chmodSync(join(bin, name), 0o755)
    }
    note('browser', '')
    note('npm', '"9.9.9"')
    const env = {
      ...user.env,
      GUILD_AUTH_TOKEN: user.person.token,
      GUILD_LISTEN_SECRET: 'listen-secret-of-mine',
      GUILD_BROWSER: join(bin, 'browser'),
      PATH: `${bin}:${process.env['PATH']}`,
    }
    expect((await run(user.home, ['open', 'exec_none', '--json'], { env })).json).toMatchObject({
      opened: true,
    })
    expect((await run(user.home, ['upgrade', '--check', '--json'], { env })).json).toMatchObject({
      latest: '9.9.9',
      newer: true,
    })
    for (const name of ['browser.out', 'npm.out']) {
      const said = await until(() => readdirSync(bin).includes(name) && readFileSync(join(bin, name), 'utf8'))
      expect(said).toContain('PATH=')
      for (const secret of [user.key.secret, user.person.token, 'listen-secret-of-mine']) {
        expect(said).not.toContain(secret)
      }
    }
  })

  test('stands in no output but that of auth token, however much is told', async () => {
    const user = await signedIn()
    const ran: Ran[] = []
    for (const words of [
      'whoami',
      'auth status',
      'perms list',
      'doctor --bundle report.json',
      'config list',
      'exec show exec_none',
      'mcp config claude',
    ]) {
      ran.push(
        await run(user.home, [...words.split(' '), '-v'], { env: { GUILD_DEBUG: '1', NODE_DEBUG: '' } }),
      )
      ran.push(await run(user.home, [...words.split(' '), '--json'], { env: user.env }))
    }
    for (const { stdout, stderr } of ran) expect(stdout + stderr).not.toContain(user.key.secret)
    const kept = filesBelow(user.home).filter((path) => readFileSync(path, 'utf8').includes(user.key.secret))
    expect(kept).toEqual([join(user.home, '.config', 'guild', 'credentials.json')])
  })

  test('stands in no report that Node writes of a program that is looked at', async () => {
    const user = await newUser()
    const folder = mkdtempSync(join(tmpdir(), 'guild-report-'))
    mkdirSync(join(folder, 'reports'))
    const env = { ...user.env, NODE_OPTIONS: `--report-on-signal --report-directory=${folder}/reports` }
    const listening = start(user.home, ['listen'], { env })
    await until(() => listening.stderr().includes('connected'))
    listening.child.kill('SIGUSR2')
    const report = await until(() => {
      const [name] = readdirSync(join(folder, 'reports'))
      const text = name && readFileSync(join(folder, 'reports', name), 'utf8')
      return text?.trimEnd().endsWith('}') ? text : undefined
    })
    listening.child.kill('SIGTERM')
    await listening.ended
    expect(report).toContain('"header"')
    expect(report).not.toContain(user.key.secret)
  })
})

describe('a server that gives back what it was sent', () => {
  let server: Server
  let address: string
  beforeAll(async () => {
    server = createServer((request, response) => {
      const said = JSON.stringify(request.headers)
      response.writeHead(500, { 'content-type': 'application/json', 'x-request-id': said.slice(0, 2000) })
      response.end(JSON.stringify({ error: { code: 'BROKEN', message: said, details: { said } } }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.close()
  })

  test.each([['--json'], ['-v'], ['--timeout=30s']])(
    'has no secret told by its errors, with %s',
    async (flag) => {
      const { secret } = await app.newKey(await app.newPerson())
      const env = { GUILD_BASE_URL: address, GUILD_API_KEY: secret }
      const ran = await run(newHome(), ['api', 'POST', '/api/v1/agents/ask', flag], { env })
      expect(ran.code).toBe(1)
      expect(ran.stderr).toContain('[hidden]')
      expect(ran.stdout + ran.stderr).not.toContain(secret)
    },
  )
})
