import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { app, baseUrl, newHome, newUser, run, until } from './support/guild.ts'
import { type Installed, installGuild } from './support/package.ts'

let installed: Installed
beforeAll(() => {
  installed = installGuild()
})

const readme = readFileSync(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8')

describe('the package', () => {
  test('stands alone: nothing beside it is installed, and nothing in it is a source', () => {
    const modules = join(installed.folder, 'node_modules')
    expect(readdirSync(modules).filter((name) => !name.startsWith('.'))).toEqual(['@guildhall'])
    expect(readdirSync(join(modules, '@guildhall'))).toEqual(['cli'])
    const files = readdirSync(installed.package, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    )
    expect(files.filter(({ name }) => name.endsWith('.ts'))).toEqual([])
    expect(
      JSON.parse(readFileSync(join(installed.package, 'package.json'), 'utf8')).dependencies,
    ).toBeUndefined()
    const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
    expect(bytes).toBeLessThan(700_000)
  })

  test('says what the source says: every page of help, the version, a wrong word', async () => {
    const home = newHome()
    const env = { PATH: process.env['PATH'] ?? '', HOME: home, LANG: 'C.UTF-8' }
    for (const line of [
      '--help',
      'help',
      '--version',
      'help wf',
      'wf --help',
      'help wf launch',
      'run --help',
      'help agents',
      'help nothing-such',
      'help ../package',
      'nothing-such --help',
      'help wf --json',
    ]) {
      const said = spawnSync(installed.program, line.split(' '), { env, encoding: 'utf8' })
      const expected = await run(home, line.split(' '), { fromSource: true })
      expect({ line, code: said.status, stdout: said.stdout, stderr: said.stderr }).toEqual({
        line,
        code: expected.code,
        stdout: expected.stdout,
        stderr: expected.stderr,
      })
    }
  })

  test('runs: a call, and a stored key without a keyring', async () => {
    const user = await newUser()
    const env = { PATH: process.env['PATH'] ?? '', HOME: user.home, ...user.env }
    const said = (args: string[], input = '') =>
      spawnSync(installed.program, args, { env, encoding: 'utf8', input })
    expect(JSON.parse(said(['whoami', '--json']).stdout)).toMatchObject({ activated: true })
    const kept = said(['login', baseUrl, '--with-key', '--json'], user.key.secret)
    expect(JSON.parse(kept.stdout)).toMatchObject({ status: 'approved', storage: 'file' })
  })

  test('has a README of sixty lines, and what it says to type from the install to a first run works', async () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(60)
    const parts = readme.split('\n## ').filter((part) => /^(Install|Sign in|A first run)\n/.test(part))
    expect(parts).toHaveLength(3)
    const lines = parts.flatMap((part) =>
      [...part.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text ?? ''),
    )
    const typed = lines.join('').replaceAll('https://guild.example', baseUrl)
    expect(typed).toContain('npm install --global @guildhall/cli')
    const script = typed.replace('npm install --global @guildhall/cli', '')
    const person = await app.newPerson()
    const home = newHome()
    const env = {
      PATH: `${dirname(installed.program)}:${dirname(process.execPath)}:${process.env['PATH']}`,
      HOME: home,
      LANG: 'C.UTF-8',
      GUILD_STORAGE: 'file',
    }
    const shell = spawn('bash', ['-euc', script], { env, cwd: home, stdio: ['ignore', 'pipe', 'pipe'] })
    let [stdout, stderr] = ['', '']
    shell.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    shell.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    const ended = once(shell, 'close')
    const code = await until(() => /Code {3}(\S+)/.exec(stderr)?.[1])
    const confirmed = await app.call('POST', '/api/v1/activate/confirm', {
      token: person.token,
      body: { code, access: 'full' },
    })
    expect(confirmed.status).toBe(200)
    await ended
    expect(shell.exitCode, stderr).toBe(0)
    expect(stderr).toContain('Paired as')
    expect(stdout).toMatch(/exec_\S+\thello v1\tcompleted/)
    expect(stdout).toContain('{"greeting":"Ada"}')
  })
})
