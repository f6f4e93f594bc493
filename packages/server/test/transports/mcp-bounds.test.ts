import { request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { modernMessage } from '../../../../test/support/mcp.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { models, newExecution, newThread, stageIn } from '../support/writing-stage.ts'

/** What one credential can make the service keep, do or believe. */
let house: House
let person: Person

beforeAll(async () => {
  const settings = { RUNS_PER_WORKSPACE: '0', STARTING_CREDITS: '1000', MODELS: JSON.stringify(models) }
  house = await openHouse({ DATABASE_URL: await createDatabase(), ...settings })
  person = await house.newPerson()
})
afterAll(() => house.close())

const newKey = async (fields: object = {}, of = person) => (await house.newKey(of, { ...fields })).secret
const callTool = (key: string, name: string, args: object) =>
  house.call('POST', '/mcp/', { key, ...modernMessage('tools/call', { name, arguments: args }) })
const waiting = async (of: Person) =>
  (await house.call('GET', '/api/v1/approvals?status=pending', { token: of.token })).body.items

/** Each on a connection of its own, which goes with it. */
async function listen(key: string, notifications: object) {
  const { headers, body } = modernMessage('subscriptions/listen', { notifications })
  const sent = request(`${house.url}/mcp/`, {
    method: 'POST',
    agent: false,
    headers: { ...headers, 'content-type': 'application/json', 'x-api-key': key },
  })
  sent.on('error', () => undefined)
  sent.end(JSON.stringify(body))
  const frames: { method?: string; params: { notifications?: object } }[] = []
  const heard = { frames, hasEnded: false, stop: () => sent.destroy() }
  const first = Promise.withResolvers<void>()
  sent.on('response', (response) => {
    response.setEncoding('utf8')
    response.on('error', () => undefined)
    response.on('data', (text: string) => {
      for (const line of text.split('\n'))
        if (line.startsWith('data: {')) frames.push(JSON.parse(line.slice(6)))
      if (frames.length > 0) first.resolve()
    })
    response.on('end', () => {
      heard.hasEnded = true
    })
  })
  await first.promise
  return heard
}

describe('listeners', () => {
  test('of more than twenty of a credential the oldest ends', async () => {
    const key = await newKey()
    const heard: Awaited<ReturnType<typeof listen>>[] = []
    for (let made = 0; made < 21; made++) heard.push(await listen(key, { resourcesListChanged: true }))
    await expect.poll(() => heard.map(({ hasEnded }) => hasEnded).indexOf(true)).toBe(0)
    expect(heard.filter(({ hasEnded }) => hasEnded)).toHaveLength(1)
    for (const { stop } of heard) stop()
  })

  test('hear how a task stands when they begin, since it may be over by then', async () => {
    const id = await newExecution(stageIn(house, 'begun', 'begun'), person)
    const heard = await listen(await newKey(), { taskIds: [`execution.${id}`] })
    await expect.poll(() => heard.frames.map(({ method }) => method)).toContain('notifications/tasks')
    heard.stop()
  })

  test('hear what happens often in few words, and of a task only when its state is another', async () => {
    const id = await newExecution(stageIn(house, 'heard', 'heard'), person)
    const [uri, task] = [`guildhall://executions/${id}`, `execution.${id}`]
    const heard = await listen(await newKey(), {
      resourcesListChanged: true,
      resourceSubscriptions: [uri, uri, 'guildhall://executions/exec_none'],
      taskIds: [task, task, 'run.none'],
    })
    expect(heard.frames[0]?.params.notifications).toEqual({
      resourcesListChanged: true,
      resourceSubscriptions: [uri],
      taskIds: [task],
    })
    const { workspaceId } = person
    for (let round = 0; round < 40; round++) {
      house.bus.publish({ type: 'cache-invalidate', workspaceId, keys: ['skills'], ids: ['x'] })
      house.bus.publish({
        type: 'execution-progress',
        workspaceId,
        executionId: id,
        skillSlug: 'writer',
        cost: 1,
      })
      await wait(20)
    }
    await wait(700)
    heard.stop()
    const count = (name: string) => heard.frames.filter(({ method }) => method === name).length
    for (const name of ['notifications/resources/list_changed', 'notifications/resources/updated']) {
      expect(count(name)).toBeGreaterThan(0)
      expect(count(name)).toBeLessThan(8)
    }
    expect(count('notifications/tasks')).toBe(1)
  })
})

describe('a permission prompt', () => {
  const prompt = { tool_name: 'Bash', input: { command: 'rm -rf build' }, wait_seconds: 20 }

  test('is asked for each call, so that one yes lets one call through', async () => {
    const someone = await house.newPerson()
    const key = await newKey({ scopes: ['profile:read'] }, someone)
    const calls = [
      callTool(key, 'ask_person', { ...prompt, tool_use_id: 'toolu_1' }),
      callTool(key, 'ask_person', { ...prompt, tool_use_id: 'toolu_2' }),
      callTool(key, 'ask_person', prompt),
      callTool(key, 'ask_person', prompt),
    ]
    await expect.poll(() => waiting(someone), { timeout: 10_000 }).toHaveLength(4)
    const items: { id: string }[] = await waiting(someone)
    for (const [index, { id }] of items.entries()) {
      const body = index === 0 ? { choice: 'allow' } : { choice: 'deny' }
      await house.call('POST', `/api/v1/approvals/${id}/approve`, { token: someone.token, body })
    }
    const answers = (await Promise.all(calls)).map(({ body }) => JSON.parse(body.result.content[0].text))
    expect(answers.map(({ behavior }) => behavior).sort()).toEqual(['allow', 'deny', 'deny', 'deny'])
  })

  test('is a no when the input was made something else than an input', async () => {
    const someone = await house.newPerson()
    const key = await newKey({ scopes: ['profile:read'] }, someone)
    for (const edited of [null, 'rm -rf /']) {
      const call = callTool(key, 'ask_person', prompt)
      await expect.poll(() => waiting(someone), { timeout: 10_000 }).toHaveLength(1)
      const body = { choice: 'allow', edited_args: edited }
      const [{ id }] = await waiting(someone)
      await house.call('POST', `/api/v1/approvals/${id}/approve`, { token: someone.token, body })
      expect(JSON.parse((await call).body.result.content[0].text)).toMatchObject({ behavior: 'deny' })
    }
  })

  test('takes no answer that was given to something else', async () => {
    const key = await newKey({ scopes: ['profile:read'] }, await house.newPerson())
    const { body } = await callTool(key, 'ask_person', { question: 'Is it late?', wait_seconds: 0 })
    const { ask_id } = body.result.structuredContent
    const both = await callTool(key, 'ask_person', { ...prompt, ask_id })
    expect(both.body.result).toMatchObject({ isError: true })
  })
})

describe('a message to an agent', () => {
  test('is waited for again with the key that the answer names', async () => {
    const key = await newKey()
    const args = { message: 'Hello', wait_seconds: 0 }
    const first = (await callTool(key, 'message_agent', args)).body.result.structuredContent
    const idempotency_key = /idempotency_key "([^"]+)"/.exec(first.next)?.[1]
    expect(first.next).not.toContain('thread_id')
    const again = await callTool(key, 'message_agent', { ...args, idempotency_key })
    expect(again.body.result.structuredContent).toMatchObject({ runId: first.runId })
  })

  test('tells a key without the right nothing of threads, and makes no agent for it', async () => {
    const someone = await house.newPerson()
    const key = await newKey({ scopes: ['profile:read'] }, someone)
    const { body: none } = await callTool(key, 'message_agent', { message: 'x', wait_seconds: 0 })
    expect(none.result.resultType).toBe('input_required')
    const made = await house.deps.database.db
      .selectFrom('agents')
      .select('slug')
      .where('workspace_id', '=', someone.workspaceId)
      .execute()
    expect(made).toEqual([])
    await newThread(stageIn(house, 'there', 'there'), someone)
    for (const thread_id of ['case', 'never-was']) {
      const { body } = await callTool(key, 'message_agent', { message: 'x', thread_id, wait_seconds: 0 })
      expect(body.result.resultType, thread_id).toBe('input_required')
    }
  })

  test('is not answered to a key that was revoked while it waited', async () => {
    const { id, secret } = await house.newKey(person, {})
    const answer = house.call('POST', '/api/v1/chat/assistant', {
      key: secret,
      body: { message: 'Hello', waitSeconds: 3 },
    })
    await wait(700)
    await house.call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
    expect((await answer).status).toBe(401)
  })
})
