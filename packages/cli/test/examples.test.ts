import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { until } from '../../../test/support/processes.ts'
import { isProof } from '../../../test/support/sizes.ts'
import { newSkillArtifact, skillText } from '../../../test/support/skills.ts'
import { definitionOf, runsOf } from '../../../test/support/workflows.ts'
import { commands } from '../src/commands.ts'
import { topics } from '../src/topics.ts'
import { app, baseUrl, environmentOf, newUser, program, run } from './support/guild.ts'

/** Every example of every page, as it stands there, in a house that has what they name. */

type User = Awaited<ReturnType<typeof newUser>>
let user: User
/** What the names of the pages are here. */
let named: ReadonlyMap<string, string>

const ofCommands = commands.flatMap(({ name, examples: lines }) => lines.map((line) => ({ name, line })))
/** The pages of `guild help` tell an agent, or a pipeline, what to type. */
const ofTopics = Object.values(topics).flatMap(({ text }) =>
  text()
    .split('\n')
    .filter((line) => /^ +guild [a-z]+ .*/.test(line) && !line.includes(' is the whole surface'))
    .map((line) => ({ name: nameIn(line.trim()), line: line.trim() })),
)
/** The gate plays some of them, and none that needs what another one has left. */
const needsOthers = 'guild wf cancel run_7c2'
const examples = [...ofCommands, ...ofTopics].filter(
  ({ line }, nth) => isProof || (nth % 6 === 0 && line !== needsOthers),
)

function nameIn(line: string): string {
  const words = line.split(' ')
  const [name] = [`${words[1]} ${words[2]}`, words[1]].filter((each) =>
    commands.some((known) => known.name === each),
  )
  if (name === undefined) throw new Error(`There is no command as in: ${line}`)
  return name
}

/** Those that wait for a person or for ever are told to end after a while. */
const mayWait = ({ name, line }: (typeof examples)[number]) =>
  ['login', 'ask', 'perms ask', 'listen', 'approvals watch', 'trace show'].includes(name) ||
  /--(wait|through|otherwise)\b/.test(line)

/** Where nobody is at a terminal, or the house is another than that of the page. */
const otherwise: Readonly<Record<string, number>> = {
  'guild login --person --keep': 4,
  'guild logout --keep-key': 4,
  'guild wf resume run_7c2 --approve': 4,
  'guild approvals approve req_51c --mode once': 4,
  'guild keys create --label ci --scopes tool:execute --expires 90d': 4,
  'guild keys rotate 12': 4,
  // Of another key.
  'guild perms wait req_51c --wait=30m': 3,
  'guild workspace use Builds': 3,
  'guild config get maxCost': 3,
  // It waits for an answer, and has one by then.
  'guild wf launch pay-order -i customer=Ada -i items:=[1,2] --watch': 6,
  'guild wf launch pay-order -i customer=Ada --watch --json': 6,
  [needsOthers]: 12,
}

beforeAll(async () => {
  user = await newUser()
  const { person, home, env } = user
  for (const slug of ['weekly-report', 'csv-report']) {
    const artifact = await newSkillArtifact(app, person, { 'SKILL.md': skillText(slug, 'Report.') })
    await app.call('POST', `/api/v1/skills/${slug}/install`, {
      token: person.token,
      body: { artifactId: artifact.id },
    })
  }
  prepareFolder(home)
  /** The last line that it says, as JSON. */
  const guild = async (...words: string[]) => {
    const ran = await run(home, [...words, '--json'], { env })
    if (ran.stdout === '') throw new Error(`guild ${words.join(' ')}: ${ran.stderr}`)
    return JSON.parse(ran.stdout.trim().split('\n').at(-1) ?? '')
  }
  const ended = await guild('run', 'weekly-report', 'last 7 days')
  const held = await guild('run', 'weekly-report', '--hold', 'x')
  await guild('skills', 'init', 'my-skill')
  await guild('wf', 'install', 'pay-order.workflow.json')
  const launched = await guild('wf', 'launch', 'pay-order', '--watch')
  const other = await app.newKey(person, { label: 'other', scopes: ['agent:list'] })
  const asked = await app.call('POST', '/api/v1/agents/request-permission', {
    key: other.secret,
    body: { scope: 'profile:read', reason: 'to see' },
  })
  const handed = await guild('trace', 'handover', ended.traceId)
  const stored = (await app.newKey(person, { label: 'stored' })).secret
  writeFileSync(join(home, 'key.txt'), stored)
  await run(home, ['login', baseUrl, '--with-key', '--profile', 'ci'], { stdin: stored })
  const uploaded = await guild('skills', 'upload', './csv-report')
  named = new Map([
    ['https://guild.example', baseUrl],
    ['exec_8fk2', ended.executionId],
    ['exec_8fk3', ended.executionId],
    ['exec_8fk4', held.executionId],
    ['run_7c2', launched.runId],
    [' RUN ', ` ${launched.runId} `],
    ['trace_4e', ended.traceId],
    ['req_51c', asked.body.request_id],
    ['H4QW-22TM', handed.code],
    [' 12', ` ${other.id}`],
    ['artifact_2d', uploaded.id],
  ])
  expect(await runsOf(app, person).get(launched.runId)).toMatchObject({ status: 200 })
}, 120_000)

const payOrder = definitionOf('pay-order', [
  {
    ...{ type: 'mapping', id: 'words' },
    mapConfig: { question: { value: 'Pay?' }, answerableBy: { value: 'agent' } },
  },
  { type: 'tool', id: 'approval', toolId: 'ask-human' },
])

function prepareFolder(home: string): void {
  const files = {
    'orders.csv': 'a,b\n1,2\n',
    'question.txt': 'What now?',
    'call.json': readFileSync(new URL('recordings/bash.json', import.meta.url), 'utf8'),
    'found.txt': 'guild_live_nobodys',
    'notes.ndjson': '{"type":"agent.text","payload":{"text":"x"}}\n',
    'pay-order.workflow.json': JSON.stringify(payOrder),
    'csv-report/SKILL.md': skillText('csv-report', 'Report.'),
    '.local/share/bash-completion/completions/x': '',
    '.zfunc/x': '',
    '.config/fish/completions/x': '',
  }
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(home, dirname(name)), { recursive: true })
    writeFileSync(join(home, name), content)
  }
  const bin = join(home, 'bin')
  mkdirSync(bin)
  const programs = {
    guild: `exec ${process.execPath} ${program} "$@"`,
    npm: `echo '"9.9.9"'`,
    docker: 'cat > /dev/null',
    xdg: 'true',
  }
  for (const [name, does] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${does}\n`)
    chmodSync(join(bin, name), 0o755)
  }
}

interface Played {
  code: number | null
  said: string
}

/** A workspace has one place to run in, and a command that was ended after its seconds may have left something there. */
const nothingRuns = async () => {
  const { body } = await app.call('GET', '/api/v1/executions?status=working', { token: user.person.token })
  return body.items.length === 0
}

async function play({ name, line }: (typeof examples)[number]): Promise<Played> {
  if (starts.test(name)) await until(nothingRuns, 30_000)
  const needsPerson = commands.find((command) => command.name === name)?.needs === 'person'
  const typed = [...named].reduce((text, [there, here]) => text.replaceAll(there, here), line)
  const env = environmentOf(user.home, {
    ...(needsPerson ? { GUILD_BASE_URL: baseUrl, GUILD_AUTH_TOKEN: user.person.token } : user.env),
    PATH: `${user.home}/bin:${process.env['PATH']}`,
    GUILD_BROWSER: join(user.home, 'bin', 'xdg'),
    // As a pipeline has it.
    GITHUB_RUN_ID: '17',
  })
  const seconds = mayWait({ name, line }) ? '3' : '40'
  const args = ['-s', 'TERM', '-k', '5', seconds, 'bash', '-o', 'pipefail', '-c', typed]
  // What begins something needs a folder in which it is not.
  const cwd = name.endsWith(' init') ? mkdtempSync(join(user.home, 'new-')) : user.home
  const child = spawn('timeout', args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      said += text
    })
  await once(child, 'close')
  return { code: child.exitCode, said }
}

/** What is gone, stopped or told away afterwards: the others need it. */
const ends = /^(logout|skills uninstall|wf uninstall|wf cancel|exec cancel|artifacts rm|keys revoke)$/
/** What starts something: a workspace has one place to run it in. */
const starts = /^(run|exec|api|trace|chat|skills|wf)\b/

test(`each of ${examples.length} examples does what its page says`, async () => {
  const played = new Map<string, Played>()
  const lane = async (some: typeof examples) => {
    for (const example of some) played.set(example.line, await play(example))
  }
  const lasting = examples.filter(({ name }) => !ends.test(name))
  await Promise.all([
    lane(lasting.filter(({ name }) => starts.test(name))),
    lane(lasting.filter(({ name }) => !starts.test(name))),
  ])
  await lane(examples.filter(({ name }) => ends.test(name)))
  const wrong = examples.filter(({ name, line }) => {
    const code = played.get(line)?.code
    return code !== (otherwise[line] ?? 0) && !(mayWait({ name, line }) && code === 124)
  })
  expect(wrong.map(({ line }) => ({ line, ...played.get(line) }))).toEqual([])
}, 300_000)
