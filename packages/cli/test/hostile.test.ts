import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { withDatabase } from '../../../test/support/database.ts'
import { installErrand, script } from '../../../test/support/executions.ts'
import { placeFor, saveFile } from '../src/commands/files.ts'
import { app, newHome, newUser, run } from './support/guild.ts'
import { corpus, esc, obeyedIn } from './support/hostile-text.ts'

const terminal = { GUILD_FORCE_TTY: '80', NO_COLOR: '1' }
function writtenAt(path: string): string {
  writeFileSync(path, '')
  return path
}

describe('hostile text', () => {
  test('of a run is shown and not obeyed, in every list and view', async () => {
    const user = await newUser({ label: 'bot' })
    // As a key could be called before names were looked at.
    await withDatabase(inject('guildStack').databaseUrl, (database) =>
      database.query('update api_keys set label = $2 where id = $1', [
        user.key.id,
        `bot ${esc}]0;owned\u0007`,
      ]),
    )
    await installErrand(app, user.person)
    const said = corpus.join(' ')
    const ran = await run(user.home, ['run', 'errand', '-'], {
      env: { ...user.env, ...terminal },
      stdin: script({ say: said }),
    })
    expect(ran.code, ran.stderr.slice(-500)).toBe(0)
    const id = /exec_[\w-]+/.exec(ran.stderr)?.[0] ?? ''
    // The live line is redrawn with a return and one sequence of ours.
    expect(obeyedIn(ran.stderr.replaceAll(`\r${esc}[K`, ''))).toBeUndefined()
    expect(obeyedIn(ran.stdout)).toBeUndefined()
    expect(ran.stdout).toContain('\\x1b]52;c;aGFja2Vk\\x07')
    for (const args of [['exec', 'show', id], ['exec', 'list'], ['whoami'], ['exec', 'watch', id]]) {
      const shown = await run(user.home, args, { env: { ...user.env, ...terminal } })
      expect(obeyedIn(shown.stdout + shown.stderr.replaceAll(`\r${esc}[K`, ''))).toBeUndefined()
    }
    const json = await run(user.home, ['exec', 'show', id, '--json'], { env: user.env })
    expect(json.json.outputBlocks.find((part: { type: string }) => part.type === 'text').text).toBe(said)
    const onTerminal = await run(user.home, ['exec', 'show', id, '--json'], {
      env: { ...user.env, ...terminal },
    })
    expect(obeyedIn(onTerminal.stdout)).toBeUndefined()
    expect(onTerminal.json).toEqual(json.json)
  })
})

describe('a server that is not what it seems', () => {
  let server: Server
  let address: string
  beforeAll(async () => {
    server = createServer((_, response) => {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({
          error: {
            code: `X${esc}[31m`,
            message: `no nul\u0000byte ${corpus.join(' ')} ${'y'.repeat(1_000_000)}`,
          },
        }),
      )
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.close()
  })

  test('cannot speak to the terminal through its errors', async () => {
    const env = { GUILD_BASE_URL: address, GUILD_API_KEY: 'guild_live_x', ...terminal }
    const ran = await run(newHome(), ['exec', 'show', 'x'], { env })
    expect(ran.code).toBe(3)
    expect(obeyedIn(ran.stderr)).toBeUndefined()
    expect(ran.stderr).not.toContain('guild_live_x')
  })
})

describe('a hostile project', () => {
  test('cannot redirect a key', async () => {
    const user = await newUser()
    const folder = mkdtempSync(join(tmpdir(), 'guild-project-'))
    const file = {
      baseUrl: 'http://127.0.0.1:9',
      'base-url': 'http://127.0.0.1:9',
      apiKey: 'x',
      profile: 'default',
    }
    writeFileSync(join(folder, '.guild.json'), JSON.stringify(file))
    expect((await run(user.home, ['whoami'], { env: user.env, cwd: folder })).code).toBe(0)
    writeFileSync(join(folder, '.guild.json'), JSON.stringify({ profile: '../../etc/passwd' }))
    const { GUILD_BASE_URL } = user.env
    expect((await run(user.home, ['whoami'], { env: { GUILD_BASE_URL }, cwd: folder })).code).toBe(2)
  })

  test.each([
    ['a link to a device without an end', (path: string) => symlinkSync('/dev/zero', path)],
    ['a pipe that nobody writes to', (path: string) => void execFileSync('mkfifo', [path])],
    ['a file of a gigabyte', (path: string) => truncateSync(writtenAt(path), 1e9)],
  ])('cannot keep a command, or a TAB, by %s', async (_, make) => {
    const user = await newUser()
    const cwd = mkdtempSync(join(tmpdir(), 'guild-project-'))
    make(join(cwd, '.guild.json'))
    const ran = await run(user.home, ['whoami', '--json'], { env: user.env, cwd })
    expect(ran).toMatchObject({ code: 2, error: { message: expect.stringContaining('is not read') } })
    const tab = await run(user.home, ['__complete', 'skills', 'show', ''], { env: user.env, cwd })
    expect(tab).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  test('cannot have a skill written through its links', async () => {
    const user = await newUser()
    await installErrand(app, user.person)
    const outside = mkdtempSync(join(tmpdir(), 'guild-outside-'))
    const pull = ['skills', 'pull', 'errand', '-o', 'copy', '--json']
    expect((await run(user.home, pull, { env: user.env })).code).toBe(0)
    const [folder = ''] = readdirSync(join(user.home, 'copy'))
    const planted = join(user.home, 'copy', folder)
    rmSync(planted, { recursive: true })
    symlinkSync(folder === 'SKILL.md' ? join(outside, 'SKILL.md') : outside, planted)
    expect((await run(user.home, [...pull, '--yes'], { env: user.env })).code).not.toBe(0)
    expect(readdirSync(outside)).toEqual([])
  })

  test('cannot bring its links along into a bundle', async () => {
    const user = await newUser()
    await run(user.home, ['skills', 'init', 'linked'])
    symlinkSync('/etc/passwd', join(user.home, 'linked', 'notes.txt'))
    const ran = await run(user.home, ['skills', 'install', './linked', '--json'], { env: user.env })
    expect(ran).toMatchObject({ code: 13, stdout: '' })
  })

  test.each(['../x', '/etc/x', 'a/../../x', '..\\x', 'C:\\x', '', '.', 'a//b', 'nul\0'])(
    'cannot have a file named %j written outside',
    (name) => {
      expect(placeFor('/tmp/out', name)).toBeUndefined()
    },
  )

  test('cannot have a file written through a link', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'guild-out-'))
    const outside = mkdtempSync(join(tmpdir(), 'guild-outside-'))
    symlinkSync(outside, join(folder, 'sub'))
    symlinkSync(join(outside, 'target'), join(folder, 'file'))
    mkdirSync(join(folder, 'fine'))
    const file = (name: string) => ({ name, download: async () => new Response('x') })
    await expect(saveFile(folder, file('sub/x'))).rejects.toThrow('outside')
    await expect(saveFile(folder, file('file'))).rejects.toThrow()
    await expect(saveFile(folder, file('../x'))).rejects.toThrow('outside')
    expect(readdirSync(outside)).toEqual([])
    await saveFile(folder, file('fine/x'))
    expect(existsSync(join(folder, 'fine', 'x'))).toBe(true)
  })

  test.each([
    ['longer', 4],
    ['shorter', 6],
  ])('cannot have a file kept that is %s than it was said to be', async (_, sizeBytes) => {
    const folder = mkdtempSync(join(tmpdir(), 'guild-out-'))
    writeFileSync(join(folder, 'report'), 'what was there')
    const file = { name: 'report', sizeBytes, download: async () => new Response('12345') }
    await expect(saveFile(folder, file)).rejects.toThrow('bytes')
    expect(readdirSync(folder)).toEqual(['report'])
    expect(readFileSync(join(folder, 'report'), 'utf8')).toBe('what was there')
    await saveFile(folder, { ...file, sizeBytes: 5 })
    expect(readFileSync(join(folder, 'report'), 'utf8')).toBe('12345')
    await expect(saveFile(folder, { ...file, sizeBytes: 5 }, false)).rejects.toThrow('EEXIST')
  })

  test('leaves nothing of a file that breaks off', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'guild-out-'))
    const broken = () =>
      new ReadableStream({
        start: (controller) => controller.enqueue(new Uint8Array(70_000)),
        pull: (controller) => controller.error(new Error('cut')),
      })
    const file = { name: 'report', download: async () => new Response(broken()) }
    await expect(saveFile(folder, file)).rejects.toThrow('cut')
    expect(readdirSync(folder)).toEqual([])
  })
})
