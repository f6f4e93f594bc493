import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Holder, newHolder } from '../support/credentials.ts'
import { type App, type OAuthHouse, openOAuthHouse, registerApp } from '../support/oauth.ts'
import { newToolRun, type Sender, toolsetParts } from '../support/tool-runs.ts'

/** Who must say yes before a tool is used: every tool, by every kind of credential, before and after reading from outside. */
let set: OAuthHouse
let app: App
let holder: Holder
let grantId: number
let sessionId: number

const definition = {
  id: 'asking',
  inputSchema: {},
  outputSchema: {},
  graph: [{ type: 'mapping', id: 'out', mapConfig: '{}' }],
}
const reaching = {
  ...definition,
  id: 'reaching',
  graph: [
    { type: 'mapping', id: 'm', mapConfig: '{"url":{"value":"https://a.example/"}}' },
    { type: 'tool', id: 't', toolId: 'http-request' },
  ],
}

beforeAll(async () => {
  set = await openOAuthHouse()
  app = await registerApp(set.house, set.owner)
  holder = await newHolder(set, app, 'matrix')
  const call = (method: string, path: string, body?: unknown) =>
    holder.call(holder.session, method, path, body)
  const files = [{ path: 'SKILL.md', content: '---\nname: writer\ndescription: Writes.\n---\nWrite.\n' }]
  const { body: artifact } = await call('POST', '/artifacts', { type: 'skill', files })
  await call('POST', '/skills/writer/install', { artifactId: artifact.id })
  await call('POST', '/workflows/asking/install', { definition })
  await call('POST', '/workflows/reaching/install', { definition: reaching })
  const [grant] = await set.query(
    "select id from oauth_records where model = 'Grant' and user_id = $1 and workspace_id = $2 order by id desc limit 1",
    [holder.userId, holder.workspaceId],
  )
  grantId = Number(grant.id)
  const [session] = await set.query('select id from sessions where user_id = $1 order by id desc limit 1', [
    holder.userId,
  ])
  sessionId = Number(session.id)
})

afterAll(() => set.close())

const senders = ['key with only agent:message', 'key with the scope', 'session', 'oauth'] as const
type SenderName = (typeof senders)[number]

async function senderOf(name: SenderName): Promise<Sender> {
  const { workspaceId, userId } = holder
  const by = (kind: Sender['credential']['kind'], id: number) => ({
    workspaceId,
    userId,
    credential: { kind, id },
  })
  if (name === 'session') return by('session', sessionId)
  if (name === 'oauth') return by('oauth', grantId)
  // One for each case: five requests of a key wait at most.
  const more = name === 'key with the scope' ? ['tool:execute', 'workspace:files:write'] : []
  const key = await holder.newKey({ access: 'declared', scopes: ['agent:message', ...more] })
  return by('key', key.id)
}

/** What each is called with, and its class, which the table speaks of: of one that launches, what it launches decides. */
const tools = {
  search_skills: ['look', {}],
  get_execution: ['look', { executionId: 'exec_none' }],
  run_skill: ['spend', { slug: 'writer', input: 'Write' }],
  workflow_guide: ['look', {}],
  list_workflows: ['look', {}],
  get_workflow: ['look', { slug: 'asking' }],
  validate_workflow: ['look', { definition }],
  install_workflow: ['make', { slug: 'another', definition: { ...definition, id: 'another' } }],
  launch_workflow: ['spend', { slug: 'asking' }],
  'launch_workflow that reaches outside': ['launch', { slug: 'reaching' }],
  get_workflow_run: ['look', { runId: 'run_none' }],
  cancel_workflow_run: ['spend', { runId: 'run_none' }],
  'http-request': ['outside', { url: 'https://nowhere.example/' }],
  'transform-json': ['look', { expression: '1 + 1' }],
} as const

/** Section by section as it was decided, and not read from the code. */
const table: Record<SenderName, Record<string, [clean: string, tainted: string]>> = {
  'key with only agent:message': {
    look: ['yes', 'yes'],
    make: ['permission', 'permission'],
    spend: ['permission', 'permission'],
    outside: ['permission', 'permission'],
    launch: ['permission', 'tool'],
  },
  'key with the scope': {
    look: ['yes', 'yes'],
    make: ['yes', 'yes'],
    spend: ['yes', 'yes'],
    outside: ['yes', 'tool'],
    launch: ['yes', 'tool'],
  },
  session: {
    look: ['yes', 'yes'],
    make: ['yes', 'yes'],
    spend: ['yes', 'yes'],
    outside: ['tool', 'tool with passkey'],
    launch: ['tool', 'tool with passkey'],
  },
  oauth: {
    look: ['yes', 'yes'],
    make: ['yes', 'yes'],
    spend: ['yes', 'yes'],
    outside: ['yes', 'no'],
    launch: ['yes', 'no'],
  },
}

async function outcome(sender: Sender, name: string, input: unknown, tainted: boolean): Promise<string> {
  const { toolset } = newToolRun(toolsetParts(set.house), sender, { tainted })
  const [tool = ''] = name.split(' ')
  const used = await toolset.use({ id: `call_${randomUUID()}`, name: tool, input })
  if (!('pause' in used)) return /an app can ask nobody|lacks the scope/.test(used.output) ? 'no' : 'yes'
  const { kind, ref, frame } = used.pause
  if (kind !== 'approval') return 'yes'
  const { kind: asked } = { kind: 'nothing', ...frame?.payload }
  if (asked !== 'tool') return asked
  const [row] = await set.query('select question from approval_requests where id = $1', [ref])
  const isSession = sender.credential.kind === 'session'
  return isSession && row.question.needsPasskey ? 'tool with passkey' : 'tool'
}

test('the matrix has every tool that an agent with all groups has', () => {
  const sender = {
    workspaceId: holder.workspaceId,
    userId: holder.userId,
    credential: { kind: 'session', id: 1 },
  } as const
  const { toolset } = newToolRun(toolsetParts(set.house), sender)
  const named = Object.keys(tools).filter((name) => !name.includes(' '))
  expect(toolset.schemas.map(({ name }) => name).sort()).toEqual(named.sort())
})

/** What others wrote, a narrower key as much as a stranger, is in all other results: also in names and descriptions. */
const ours = [
  'workflow_guide',
  'validate_workflow',
  'install_workflow',
  'launch_workflow',
  'cancel_workflow_run',
  'transform-json',
]

test.each(Object.entries(tools))(
  'after %s a run has read from outside, unless the answer is all ours',
  async (name, [, input]) => {
    const sender = await senderOf('key with the scope')
    const { toolset, taints } = newToolRun(toolsetParts(set.house), sender)
    const [tool = ''] = name.split(' ')
    const used = await toolset.use({ id: `call_${randomUUID()}`, name: tool, input })
    // What was refused, or is still under way, has told nothing.
    const hasRead = !('pause' in used) && !used.output.startsWith('{"error"') && !ours.includes(tool)
    expect(taints).toEqual(hasRead ? [tool] : [])
  },
)

describe.each(senders)('%s', (name) => {
  describe.each([
    ['clean', 0],
    ['tainted', 1],
  ] as const)('%s', (_state, column) => {
    test.each(Object.entries(tools))('%s', async (tool, [does, input]) => {
      const sender = await senderOf(name)
      expect(await outcome(sender, tool, input, column === 1)).toBe(table[name][does]?.[column])
    })
  })
})
