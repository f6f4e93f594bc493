import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { bash, installErrand, script } from '../../../../test/support/executions.ts'
import { freePort } from '../../../../test/support/free-port.ts'
import { until } from '../../../../test/support/processes.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { app, baseUrl } from '../support/stack.ts'
import { bundle, installPackage, runtimeAt } from './installed.ts'

let folder: string

beforeAll(() => {
  folder = installPackage().folder
}, 240_000)

/** How each runtime starts a program that may use the network and its folder. */
const runtimes: Record<string, readonly string[]> = {
  'Node 20.19': [runtimeAt('node-20/bin/node')],
  'Node 22.12': [runtimeAt('node-22/bin/node')],
  'Node 24': [process.execPath],
  Bun: [runtimeAt('@oven/bun-linux-x64/bin/bun')],
  Deno: [
    runtimeAt('@deno/linux-x64-glibc/deno'),
    ...['run', '--no-lock', '--node-modules-dir=manual', '--cached-only'],
    ...['--allow-net=127.0.0.1', '--allow-env', '--allow-read', '--allow-write=saved'],
  ],
}

interface Program {
  readonly command: readonly string[]
  readonly example: string
  readonly args?: readonly string[]
  readonly key?: string
  /** What a person does about what the program says. */
  readonly onLine?: (line: string) => void
}

/** Runs a program to its end and gives the lines it said. */
async function say({ command, example, args = [], key, onLine }: Program): Promise<string[]> {
  const [program = '', ...flags] = command
  const env = {
    PATH: '/usr/bin:/bin',
    HOME: folder,
    GUILD_BASE_URL: baseUrl,
    ...(key && { GUILD_API_KEY: key }),
  }
  // One that waits for ever is ended, and what it said is told.
  const child = spawn(program, [...flags, example, ...args], { cwd: folder, env, timeout: 25_000 })
  const lines: string[] = []
  let faults = ''
  child.stderr.on('data', (text) => {
    faults += text
  })
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    onLine?.(line)
  })
  await once(child, 'close')
  if (child.exitCode !== 0)
    throw new Error(`${example} ended with ${child.exitCode}\n${lines.join('\n')}\n${faults}`)
  return lines
}

async function newWorker(scopes?: string[]): Promise<{ person: Person; key: string }> {
  const person = await app.newPerson()
  await installErrand(app, person)
  const { secret } = await app.newKey(person, scopes ? { scopes } : {})
  return { person, key: secret }
}

const decide = ({ token }: Person, path: string, body: object = {}) =>
  app.call('POST', `/api/v1${path}`, { token, body })

const short = script({ say: 'Looking.' }, { say: 'Done.' })

/** What each example does, with a person beside it. */
const examples: Record<string, (command: readonly string[]) => Promise<void>> = {
  async 'pair-and-run.mjs'(command) {
    const { person } = await newWorker()
    const lines = await say({
      command,
      example: 'pair-and-run.mjs',
      args: ['errand', short],
      onLine: (line) => {
        const [, code] = /^Confirm (\S+) at/.exec(line) ?? []
        if (code) void decide(person, '/activate/confirm', { code, access: 'full' })
      },
    })
    expect(lines.at(-1)).toMatch(/^Ended with end_turn for [\d.]+ Ds: Looking\.$/)
  },

  async 'ask-for-permission.mjs'(command) {
    const { person, key } = await newWorker(['agent:list'])
    const lines = await say({
      command,
      example: 'ask-for-permission.mjs',
      key,
      onLine: (line) => {
        if (!line.startsWith('Asked')) return
        void (async () => {
          const { body } = await app.call('GET', '/api/v1/approvals', { token: person.token })
          const { id, kind } = body.items[0]
          const answer =
            kind === 'ask'
              ? await decide(person, `/approvals/${id}/approve`, { choice: 'send' })
              : await decide(person, `/agents/request-permission/${id}/approve`)
          if (answer.status !== 200) throw new Error(answer.text)
        })()
      },
    })
    expect(lines.filter((line) => !line.startsWith('Asked'))).toEqual([
      expect.stringMatching(/^Works for /),
      'The person said send',
    ])
  },

  async 'watch-many-runs.mjs'(command) {
    const { person, key } = await newWorker()
    const step = {
      type: 'mapping',
      id: 'note',
      mapConfig: JSON.stringify({ ok: { value: true } }),
    }
    await runsOf(app, person).install('nightly', definitionOf('nightly', [step]))
    const lines = await say({ command, example: 'watch-many-runs.mjs', key })
    expect(lines.filter((line) => line.endsWith('ended as success'))).toHaveLength(3)
  },

  async 'workflow-with-a-person.mjs'(command) {
    const { person, key } = await newWorker()
    const ask = { type: 'tool', id: 'ask', toolId: 'ask-human' }
    const runs = runsOf(app, person)
    await runs.install('release', {
      ...definitionOf('release', [
        {
          type: 'mapping',
          id: 'question',
          mapConfig: JSON.stringify({ question: { value: 'Go?' } }),
        },
        ask,
      ]),
    })
    const lines = await say({
      command,
      example: 'workflow-with-a-person.mjs',
      key,
      onLine: (line) => {
        const [, runId] = /^(\S+) waits for a person/.exec(line) ?? []
        if (runId) void runs.resume(runId, { resumeData: { answer: 'yes' }, stepId: 'ask' })
      },
    })
    expect(lines.at(-1)).toContain('yes')
  },

  async 'upload-a-skill.mjs'(command) {
    const { key } = await newWorker()
    const write = bash('mkdir -p output && echo Hello > output/hello.txt')
    const lines = await say({
      command,
      example: 'upload-a-skill.mjs',
      args: [script({ say: 'Writing.', tools: [write] }, { say: 'It is there.' })],
      key,
    })
    expect(lines[0]).toBe('Installed greeter, version 1')
    const saved = lines.at(-1)?.replace('Saved ', '') ?? ''
    expect(readFileSync(join(folder, saved.slice(saved.indexOf('saved/'))), 'utf8')).toBe('Hello\n')
  },
}

describe.each(Object.entries(runtimes))('on %s', (_, command) => {
  test.concurrent.each(Object.entries(examples))('%s', (_name, play) => play(command), 30_000)
})

test('in workerd a request runs a skill and streams what it says', async () => {
  const { key } = await newWorker()
  writeFileSync(
    join(folder, 'worker.bundle.mjs'),
    await bundle(folder, `export { default } from './worker.mjs'`),
  )
  const port = await freePort()
  writeFileSync(
    join(folder, 'worker.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker.mjs", esModule = embed "worker.bundle.mjs")],
      compatibilityDate = "2026-01-01",
      bindings = [(name = "GUILD_BASE_URL", text = "${baseUrl}"), (name = "GUILD_API_KEY", text = "${key}")],
      globalOutbound = "network")),
    (name = "network", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);`,
  )
  const child = spawn(runtimeAt('@cloudflare/workerd-linux-64/bin/workerd'), ['serve', 'worker.capnp'], {
    cwd: folder,
  })
  let faults = ''
  child.stderr.on('data', (text) => {
    faults += text
  })
  try {
    const address = `http://127.0.0.1:${port}`
    await until(
      () =>
        fetch(address).then(
          () => true,
          () => false,
        ),
      20_000,
    )
    const body = JSON.stringify({ slug: 'errand', input: short })
    const answer = await (await fetch(address, { method: 'POST', body })).text()
    const events = answer.split('\n').flatMap((line) => (line ? [JSON.parse(line)] : []))
    expect(events.at(-1), `${answer}\n${faults}`).toMatchObject({ type: 'session.status_idle', known: true })
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1))
  } finally {
    child.kill()
    await once(child, 'close')
  }
})

test('the lines of the README do what they say', async () => {
  const { person, key } = await newWorker()
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const blocks = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code)
  const code = blocks
    .join('\n')
    .replaceAll('https://guild.example', baseUrl)
    .replaceAll("'weekly-report'", "'errand'")
  writeFileSync(join(folder, 'readme.ts'), `${code}\nconsole.log('ended', stopReason)\n`)
  cpSync(new URL('../../README.md', import.meta.url), join(folder, 'README.md'))
  const lines = await say({
    command: [process.execPath],
    example: 'readme.ts',
    key,
    onLine: (line) => {
      const [, userCode] = /^Confirm (\S+):/.exec(line) ?? []
      if (userCode) void decide(person, '/activate/confirm', { code: userCode, access: 'full' })
    },
  })
  expect(lines.at(-1)).toBe('ended end_turn')
}, 60_000)
