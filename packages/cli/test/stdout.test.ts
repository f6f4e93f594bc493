import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { installErrand, script } from '../../../test/support/executions.ts'
import { commands } from '../src/commands.ts'
import { app, baseUrl, newHome, newUser, type Ran, run } from './support/guild.ts'

type User = Awaited<ReturnType<typeof newUser>>
let user: User
let executionId: string

/** What each command is tried with; one that is missing here fails the test. */
const words: Readonly<Record<string, readonly string[]>> = {
  login: [baseUrl, '--no-wait'],
  logout: [],
  whoami: [],
  'auth status': [],
  'auth token': [],
  'auth switch': ['none'],
  ask: ['Go on?', '--no-wait'],
  'hook claude-code': ['--print-settings'],
  'hook generic': ['--print-settings'],
  'perms list': [],
  'perms ask': ['profile:read', '--reason', 'to see'],
  'perms declare': ['profile:read'],
  'perms wait': ['req_none'],
  'perms revoke': ['profile:read', '--key', '1'],
  run: ['errand', script({ say: 'Done.' })],
  'exec list': [],
  'exec show': ['EXECUTION'],
  'exec watch': ['EXECUTION'],
  'exec message': ['exec_none', 'go'],
  'exec cancel': ['exec_none'],
  'exec rerun': ['EXECUTION', script({ say: 'Again.' })],
  'exec files': ['EXECUTION'],
  'skills search': ['report'],
  'skills list': [],
  'skills show': ['errand'],
  'skills install': ['./none-such'],
  'skills upload': ['./none-such'],
  'skills pull': ['errand', '-o', 'pulled'],
  'skills versions': ['errand'],
  'skills diff': ['errand'],
  'skills restore': ['errand', '1'],
  'skills uninstall': ['none-such'],
  'skills init': ['begun'],
  'skills lint': ['.'],
  'wf init': ['begun'],
  'wf validate': ['definition.json'],
  'wf graph': ['definition.json'],
  'wf install': ['definition.json'],
  'wf list': [],
  'wf show': ['none-such'],
  'wf uninstall': ['none-such'],
  'wf launch': ['plain', '--watch'],
  'wf runs': [],
  'wf run': ['run_none'],
  'wf watch': ['run_none'],
  'wf resume': ['run_none', '--answer', 'x'],
  'wf cancel': ['run_none'],
  'wf rerun': ['run_none'],
  'wf queue': [],
  'trace list': [],
  'trace show': ['trace_none'],
  'trace export': ['trace_none'],
  'trace brief': ['trace_none'],
  'trace append': ['trace_none'],
  'trace handover': ['trace_none'],
  'trace pickup': ['AAAA-BBBB'],
  'trace continue': ['trace_none', 'go on'],
  chat: ['assistant', script({ say: 'Hello.' })],
  'agents list': [],
  'agents show': ['assistant'],
  listen: ['--timeout', '2s'],
  billing: [],
  'billing ledger': [],
  activity: [],
  'workspace list': [],
  'workspace use': ['none'],
  'workspace create': ['Builds'],
  'profile get': [],
  'profile set': ['tea=green'],
  'artifacts list': [],
  'artifacts get': ['artifact_none'],
  'artifacts download': ['artifact_none'],
  'artifacts rm': ['artifact_none'],
  'approvals list': [],
  'approvals show': ['none'],
  'approvals deny': ['none'],
  'approvals approve': ['none'],
  'approvals watch': ['--timeout', '2s'],
  'keys list': [],
  'keys create': ['--label', 'made', '--scopes', 'agent:list'],
  'keys rotate': ['0'],
  'keys revoke': ['0'],
  'keys report-leak': [],
  api: ['GET', '/api/v1/agents/me'],
  open: ['exec_none'],
  'mcp config': ['claude'],
  upgrade: ['--check'],
  doctor: [],
  'config list': [],
  'config get': ['maxCost'],
  'config set': ['maxCost', '5'],
  'config unset': ['maxCost'],
  'config path': [],
  completion: ['bash'],
  version: [],
  help: [],
}

beforeAll(async () => {
  user = await newUser()
  await installErrand(app, user.person)
  const ran = await run(user.home, ['run', 'errand', script({ say: 'Hi.' }), '--json'], { env: user.env })
  executionId = JSON.parse(ran.stdout.trim().split('\n').at(-1) ?? '{}').executionId
  // The registry is nothing of ours, and may not answer here.
  mkdirSync(join(user.home, 'bin'))
  writeFileSync(join(user.home, 'bin', 'npm'), `#!/bin/sh\necho '"9.9.9"'\n`)
  chmodSync(join(user.home, 'bin', 'npm'), 0o755)
  const graph = [{ type: 'mapping', id: 'say', mapConfig: { said: { value: 'hi' } } }]
  writeFileSync(
    join(user.home, 'definition.json'),
    JSON.stringify({ id: 'plain', inputSchema: {}, outputSchema: {}, graph }),
  )
})

/** With --json stdout is JSON from its first byte to its last, or empty; an error is one line of JSON on stderr. */
function expectPure(ran: Ran, streams: boolean): void {
  for (const line of streams
    ? ran.stdout.trim().split('\n').filter(Boolean)
    : [ran.stdout.trim()].filter(Boolean)) {
    expect(() => JSON.parse(line), line).not.toThrow()
  }
  if (streams && ran.code === 0) {
    expect(JSON.parse(ran.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
      type: 'guild.result',
      exitCode: 0,
    })
  }
  expect(ran.code, ran.stderr).not.toBe(70)
  const last = ran.stderr.trim().split('\n').at(-1) ?? ''
  if (ran.stdout === '' && ran.code !== 0)
    expect(JSON.parse(last)).toMatchObject({ error: { exitCode: ran.code } })
}

describe('with --json', () => {
  test.each(commands.map((command) => [command.name, command] as const))(
    'guild %s',
    async (name, command) => {
      const typed = words[name]?.map((word) => (word === 'EXECUTION' ? executionId : word))
      expect(typed, `${name} has no words in this test`).toBeDefined()
      const person = { GUILD_BASE_URL: baseUrl, GUILD_AUTH_TOKEN: user.person.token }
      const env = {
        ...(command.needs === 'person' ? person : user.env),
        PATH: `${user.home}/bin:${process.env['PATH']}`,
      }
      // Only one of a workspace runs at a time, and these would stand in each other's way.
      const ran = await run(
        name === 'login' ? newHome() : user.home,
        [...name.split(' '), ...(typed ?? []), '--json'],
        { env },
      )
      const streamed = command.streams === true && !ran.stdout.startsWith('{"runId"') && name !== 'trace show'
      expectPure(ran, streamed)
    },
  )

  test('wrong usage of any command leaves stdout empty', async () => {
    const some = commands.filter((_, index) => index % 9 === 0)
    const all = await Promise.all(
      some.map(({ name }) => run(user.home, [...name.split(' '), '--wat', '--json'])),
    )
    for (const ran of all) expect(ran).toMatchObject({ code: 2, stdout: '', error: { code: 'USAGE' } })
  })
})
