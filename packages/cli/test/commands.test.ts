import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bash, installErrand, script } from '../../../test/support/executions.ts'
import { app, baseUrl, newHome, newUser, run, start, until } from './support/guild.ts'

const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('guild chat', () => {
  test('gives every event as it comes, then the result, and goes on in the thread', async () => {
    const user = await newUser()
    const slowly = script({ say: 'One two three four five. '.repeat(8), chunkDelayMs: 200 })
    const chatting = start(user.home, ['chat', 'assistant', slowly, '--json'], { env: user.env })
    await until(() => chatting.stdout().includes('run.started'))
    expect(chatting.child.exitCode).toBeNull()
    const { code, stdout } = await chatting.ended
    expect(code).toBe(0)
    const events = lines(stdout)
    const result = events.at(-1)
    expect(result).toMatchObject({
      type: 'guild.result',
      status: 'completed',
      stopReason: 'end_turn',
      exitCode: 0,
    })
    expect(events.at(-2)).toMatchObject({ type: 'run.finished' })
    const again = await run(user.home, ['chat', 'assistant', '-', '--thread', result.threadId], {
      env: user.env,
      stdin: script({ say: 'Here again.' }),
    })
    expect(again).toMatchObject({ code: 0, stdout: 'Here again.\n' })
    expect(again.stderr).toContain(`thread ${result.threadId}`)
  })

  test('shows the words while they come, each once', async () => {
    const user = await newUser()
    const said = 'Seven small words that come one by one.'
    const ran = await run(user.home, ['chat', 'assistant', script({ say: said, chunkDelayMs: 20 })], {
      env: { ...user.env, GUILD_FORCE_TTY: '80', NO_COLOR: '1' },
    })
    expect(ran).toMatchObject({ code: 0, stdout: `${said}\n` })
  })
})

describe('guild trace', () => {
  test('goes on with a trace, on the same trace, and follows one to its end', async () => {
    const user = await newUser()
    await installErrand(app, user.person)
    const first = await run(user.home, ['run', 'errand', script({ say: 'First.' }), '--json'], {
      env: user.env,
    })
    const { traceId } = lines(first.stdout).at(-1)
    const next = await run(user.home, ['trace', 'continue', traceId, script({ say: 'Second.' }), '--json'], {
      env: user.env,
    })
    expect(next.code, next.stderr).toBe(0)
    expect(lines(next.stdout).at(-1)).toMatchObject({ traceId, status: 'completed' })
    const followed = await run(user.home, ['trace', 'show', traceId, '--follow', '--json'], { env: user.env })
    expect(followed.code).toBe(0)
    const turns = lines(followed.stdout)
    expect(turns.at(-1)).toMatchObject({ type: 'guild.result', traceId, lastSeq: turns.at(-2).seq })
    expect(followed.stdout).toContain('Second.')
  })
})

describe('what an account has', () => {
  test('the profile, changed and read', async () => {
    const user = await newUser()
    const changed = await run(
      user.home,
      ['profile', 'set', 'timezone=Europe/Vienna', 'tea=green', '--json'],
      { env: user.env },
    )
    expect(changed).toMatchObject({ code: 0, json: { timezone: 'Europe/Vienna', facts: { tea: 'green' } } })
    await run(user.home, ['profile', 'set', 'tea='], { env: user.env })
    expect((await run(user.home, ['profile', 'get', '--json'], { env: user.env })).json).toMatchObject({
      timezone: 'Europe/Vienna',
      facts: {},
    })
  })

  test('uploads, listed, looked at, fetched and removed', async () => {
    const user = await newUser()
    const options = { env: user.env }
    await run(user.home, ['skills', 'init', 'mine'])
    mkdirSync(join(user.home, 'mine', 'notes'))
    writeFileSync(join(user.home, 'mine', 'notes', 'a.txt'), 'hello')
    const { stdout } = await run(user.home, ['skills', 'upload', './mine', '--get', 'id'], options)
    const id = stdout.trim()
    expect(
      (await run(user.home, ['artifacts', 'list', '--type', 'skill', '--json'], options)).json.items,
    ).toMatchObject([{ id }])
    const shown = await run(user.home, ['artifacts', 'get', id, '--json'], options)
    expect(shown.json.files.map(({ path }: { path: string }) => path)).toContain('notes/a.txt')
    const one = await run(
      user.home,
      ['artifacts', 'download', id, 'notes/a.txt', '-o', 'copy', '--json'],
      options,
    )
    expect(one.code, one.stderr).toBe(0)
    expect(readFileSync(join(user.home, 'copy', 'notes', 'a.txt'), 'utf8')).toBe('hello')
    expect(
      (await run(user.home, ['artifacts', 'download', id, '../mine/SKILL.md', '-o', 'copy'], options)).code,
    ).toBe(1)
    expect((await run(user.home, ['artifacts', 'rm', id], options)).code).toBe(0)
    expect((await run(user.home, ['artifacts', 'get', id], options)).code).toBe(3)
  })

  test('workspaces: one is made, and the key that is stored for one is used', async () => {
    const { person, home } = { person: await app.newPerson(), home: newHome() }
    const env = { GUILD_BASE_URL: baseUrl, GUILD_AUTH_TOKEN: person.token }
    const made = await run(home, ['workspace', 'create', 'Builds', '--json'], { env })
    expect(made).toMatchObject({ code: 0, json: { name: 'Builds', kind: 'team' } })
    expect((await run(home, ['workspace', 'use', 'Builds'])).code).toBe(3)
    const { secret } = await app.newKey(person)
    await run(home, ['login', baseUrl, '--with-key'], { stdin: secret })
    const there = await app.call('POST', '/api/v1/keys', {
      token: person.token,
      headers: { 'x-workspace-id': made.json.id },
      body: { label: 'there' },
    })
    await run(home, ['login', baseUrl, '--with-key', '--profile', 'builds'], {
      stdin: there.body.api_key,
    })
    expect((await run(home, ['workspace', 'use', 'Builds', '--json'])).json).toMatchObject({
      profile: 'builds',
    })
    expect((await run(home, ['whoami', '--get', 'workspace.id'])).stdout).toBe(`${made.json.id}\n`)
  })

  test('a logout ends the key, unless it shall live', async () => {
    const person = await app.newPerson()
    const home = newHome()
    const { secret } = await app.newKey(person)
    await run(home, ['login', baseUrl, '--with-key'], { stdin: secret })
    expect(await run(home, ['logout', '--keep-key', '--json'])).toMatchObject({
      json: { removed: ['default'], revoked: [] },
    })
    expect((await app.call('GET', '/api/v1/agents/me', { key: secret })).status).toBe(200)
    await run(home, ['login', baseUrl, '--with-key'], { stdin: secret })
    expect(await run(home, ['logout', '--json'])).toMatchObject({ code: 0, json: { revoked: ['default'] } })
    expect((await app.call('GET', '/api/v1/agents/me', { key: secret })).status).toBe(401)
  })
})

describe('other programs', () => {
  test('are told how to reach the deployment over MCP, without a key in a file', async () => {
    const user = await newUser()
    for (const program of ['claude', 'cursor', 'json']) {
      const { stdout, code } = await run(user.home, ['mcp', 'config', program], { env: user.env })
      expect(code).toBe(0)
      expect(JSON.stringify(JSON.parse(stdout))).toContain(`${baseUrl}/mcp/`)
      expect(stdout).not.toContain(user.key.secret)
    }
    const codex = await run(user.home, ['mcp', 'config', 'codex'], { env: user.env })
    expect(codex.stdout).toContain(`url = "${baseUrl}/mcp/"`)
    expect((await run(user.home, ['mcp', 'config', 'other'], { env: user.env })).code).toBe(2)
  })

  test('open what has a page in the app; the address is told where there is no browser', async () => {
    const user = await newUser()
    const { appUrl } = (await app.call('GET', '/api/v1/meta')).body
    const opened = await run(user.home, ['open', 'exec_1', '--json'], { env: user.env })
    expect(opened).toMatchObject({ code: 0, json: { url: `${appUrl}/executions/exec_1`, opened: false } })
    expect((await run(user.home, ['open', '../x'], { env: user.env })).stdout).toBe(
      `${appUrl}/approvals/..%2Fx\n`,
    )
  })

  test('npm says which guild is the newest, as it is set up here; nothing else asks', async () => {
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(request.url ?? '')
      response.writeHead(200, { 'content-type': 'application/json' })
      const versions = { '9.8.7': { name: '@guildhall/cli', version: '9.8.7' } }
      response.end(JSON.stringify({ name: '@guildhall/cli', 'dist-tags': { latest: '9.8.7' }, versions }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const env = { npm_config_registry: registry, npm_config_cache: join(newHome(), 'cache') }
    const user = await newUser()
    await run(user.home, ['whoami'], { env: { ...user.env, ...env } })
    await run(user.home, ['doctor'], { env: { ...user.env, ...env } })
    expect(asked).toEqual([])
    const ran = await run(user.home, ['upgrade', '--check', '--json'], { env })
    server.close()
    expect(ran).toMatchObject({ code: 0, json: { latest: '9.8.7', newer: true } })
    expect(asked).not.toEqual([])
    expect((await run(user.home, ['upgrade'])).code).toBe(2)
  })
})

describe('guild listen', () => {
  test('tells what happens, as a program and as somebody reads it, and ends with the signal', async () => {
    const user = await newUser()
    await installErrand(app, user.person)
    const listening = start(
      user.home,
      ['listen', '--json', '--type', 'execution-started,execution-completed'],
      { env: user.env },
    )
    await until(() => listening.stderr().includes('connected'))
    const ran = await run(
      user.home,
      ['run', 'errand', script({ tools: [bash('true')] }, { say: 'Done.' }), '--get', 'executionId'],
      { env: user.env },
    )
    await until(() => listening.stdout().includes('execution-completed'))
    listening.child.kill('SIGTERM')
    const { code, stdout } = await listening.ended
    expect(code).toBe(143)
    const executionId = ran.stdout.trim()
    expect(lines(stdout)).toMatchObject([
      { type: 'execution-started', executionId },
      { type: 'execution-completed', executionId },
      { type: 'guild.result', exitCode: 143 },
    ])
  })
})
