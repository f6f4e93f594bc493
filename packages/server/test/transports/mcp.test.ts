import { mcpTools } from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { modernMessage } from '../../../../test/support/mcp.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { clientKinds, connect } from '../support/mcp-clients.ts'
import { newSkill, stageIn } from '../support/writing-stage.ts'

/** Two processes' worth of server on one database: every second request reaches the other one. */
let houses: [House, House]
let person: Person

beforeAll(async () => {
  const settings = { DATABASE_URL: await createDatabase(), APP_URL: 'https://app.test' }
  houses = [await openHouse(settings), await openHouse(settings)]
  person = await houses[0].newPerson()
})
afterAll(() => Promise.all(houses.map((house) => house.close())))

const newKey = async (fields: object = {}, of = person) => houses[0].newKey(of, { ...fields })
const modern = '2026-07-28'

describe.each(clientKinds)('a client that is %s', (kind) => {
  test('lists, calls, reads and is prompted, each time by another process', async () => {
    const { secret } = await newKey()
    const client = await connect(kind, houses, secret)
    expect(await client.listTools()).toEqual(Object.keys(mcpTools))
    const { structuredContent } = await client.call('whoami')
    expect(structuredContent).toMatchObject({ mode: 'basedmode', workspace: { id: person.workspaceId } })
    expect((await client.call('list_workflows')).structuredContent).toEqual({ items: [], nextCursor: null })
    expect(await client.listPrompts()).toEqual(['run-skill', 'launch-workflow', 'go-on-with'])
    await expect(client.readResource('guildhall://runs/none')).rejects.toThrow('Resource not found')
    const refused = await client.call('get_execution', { execution_id: 'exec_none' })
    expect([refused.isError, refused._meta?.['dev.guildhall/error']]).toEqual([
      true,
      expect.objectContaining({ code: 'NOT_FOUND' }),
    ])
    await client.close()
  })
})

test("keep their credential: another's session word and event are as none", async () => {
  const [mine, theirs] = [await newKey(), await newKey({}, await houses[0].newPerson())]
  const initialize = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'x', version: '1' },
  }
  const opened = await houses[0].call('POST', '/mcp/', {
    key: mine.secret,
    body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize },
  })
  const session = opened.headers.get('mcp-session-id') ?? ''
  expect(session).not.toBe('')
  const used = await houses[1].call('POST', '/mcp/', {
    key: theirs.secret,
    headers: { 'mcp-session-id': session },
    body: { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'whoami' } },
  })
  expect(used.body.result.structuredContent.workspace.id).not.toBe(person.workspaceId)
  const resumed = await houses[1].call('GET', '/mcp/', {
    key: theirs.secret,
    headers: { 'last-event-id': session },
  })
  expect(resumed.status).toBe(405)
})

describe('who may come in', () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

  test('a key as a bearer token too; no session; nobody who has ended', async () => {
    const { id, secret } = await newKey()
    const call = (headers: Record<string, string>) => houses[0].call('POST', '/mcp', { headers, body: list })
    expect((await call({ authorization: `Bearer ${secret}` })).status).toBe(200)
    const session = await call({ 'x-auth-token': person.token })
    expect([session.status, session.body.error.code]).toEqual([403, 'FORBIDDEN'])
    // Nowhere else: REST reads a bearer token as an app's.
    const rest = await houses[0].call('GET', '/api/v1/workspaces', {
      headers: { authorization: `Bearer ${secret}` },
    })
    expect(rest.status).toBe(401)
    await houses[0].call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
    expect((await call({ 'x-api-key': secret })).status).toBe(401)
  })
})

test('what is called is counted by names of ours alone', async () => {
  const { secret } = await newKey()
  const say = (method: string, params: object = {}) =>
    houses[0].call('POST', '/mcp/', { key: secret, body: { jsonrpc: '2.0', id: 1, method, params } })
  await say('tools/list')
  await say('tools/call', { name: 'whoami' })
  await say('tools/call', { name: 'made-up-tool' })
  await say('made-up-method')
  const text = await houses[0].deps.metrics.registry.metrics()
  expect(text).toMatch(/guildhall_mcp_requests_total\{method="tools\/list",era="legacy",outcome="ok"\} \d/)
  expect(text).toMatch(/guildhall_mcp_tool_calls_total\{tool="whoami",outcome="ok"\} \d/)
  expect(text).not.toContain('made-up')
})

test('a search of the library finds what has every word, and nothing else', async () => {
  const owner = await houses[0].newPerson()
  await newSkill(stageIn(houses[0], 'searched', 'marigold'), owner)
  const client = await connect('v2', houses, (await newKey({}, owner)).secret)
  const search = async (query: string) => {
    const { structuredContent } = await client.call('search_skills', { query, where: 'library' })
    return (structuredContent as { items: { slug: string }[] }).items.map(({ slug }) => slug)
  }
  expect(await search('WRITER marigold')).toEqual(['writer'])
  expect(await search('writer tulip')).toEqual([])
  expect(await search('')).toEqual(['writer'])
  await client.close()
})

test('a skill of megabytes takes no other one away', async () => {
  const owner = await houses[0].newPerson()
  await newSkill(stageIn(houses[0], 'large', 'marigold'), owner)
  const grown = await houses[0].deps.database.db
    .updateTable('skill_versions')
    .set({ prompt: `---\nname: writer\ndescription: marigold\n---\n${'x'.repeat(5_000_000)}` })
    .where('workspace_id', '=', owner.workspaceId)
    .executeTakeFirst()
  expect(Number(grown.numUpdatedRows)).toBe(1)
  const { secret } = await newKey({}, owner)
  const say = async (method: string, params: Record<string, unknown>) =>
    (await houses[1].call('POST', '/mcp/', { key: secret, ...modernMessage(method, params) })).body.result
  const found = await say('tools/call', { name: 'search_skills', arguments: { where: 'library' } })
  expect(found.structuredContent.items).toMatchObject([{ slug: 'writer' }])
  expect((await say('resources/list', {})).resources).toMatchObject([{ name: 'writer' }])
  expect((await say('skills/list', {})).skills).toMatchObject([
    { uri: 'skill://writer/SKILL.md', frontmatter: { description: 'marigold' }, resources: 'dynamic' },
  ])
  expect((await say('skills/get', { uri: 'skill://writer/SKILL.md' })).skill).toMatchObject({
    frontmatter: { description: 'marigold' },
  })
  const argument = { name: 'skill', value: 'wri' }
  expect((await say('completion/complete', { argument })).completion.values).toEqual(['writer'])
})

test('a listener hears of its own workspace and of no other', async () => {
  const stranger = await houses[0].newPerson()
  const [mine, theirs] = [await newKey(), await newKey({}, stranger)]
  const heard = await Promise.all([listen(mine.secret), listen(theirs.secret)])
  houses[1].bus.publish({
    type: 'cache-invalidate',
    workspaceId: person.workspaceId,
    keys: ['skills'],
    ids: ['x'],
  })
  await new Promise((resolve) => setTimeout(resolve, 500))
  for (const { stop } of heard) stop()
  const methods = heard.map(({ frames }) => frames.map(({ method }) => method))
  expect(methods).toEqual([
    ['notifications/subscriptions/acknowledged', 'notifications/resources/list_changed'],
    ['notifications/subscriptions/acknowledged'],
  ])
})

async function listen(key: string) {
  const stop = new AbortController()
  const frames: { method?: string }[] = []
  const body = {
    jsonrpc: '2.0',
    id: 'sub',
    method: 'subscriptions/listen',
    params: {
      notifications: { resourcesListChanged: true },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': modern,
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  }
  const response = await fetch(`${houses[0].url}/mcp/`, {
    method: 'POST',
    signal: stop.signal,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'x-api-key': key,
      'mcp-protocol-version': modern,
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify(body),
  })
  const first = Promise.withResolvers<void>()
  void (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      for (const line of decoder.decode(chunk).split('\n')) {
        if (line.startsWith('data: {')) frames.push(JSON.parse(line.slice(6)))
      }
      if (frames.length > 0) first.resolve()
    }
  })().catch(() => undefined)
  await first.promise
  return { frames, stop: () => stop.abort() }
}
