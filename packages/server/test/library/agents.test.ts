import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { changeCredits, reserve } from '#accounts/billing/billing.ts'
import { type AgentRow, askAgent, findAgent, releaseLostAsks } from '#library/agents/agents.ts'
import { createModels, type Models } from '#machinery/models/models.ts'
import { type ModelEndpoint, openModelEndpoint } from '../../../../stack/model-endpoint/server.ts'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'

let house: House
let person: Person
let endpoint: ModelEndpoint
let models: Models
let databaseUrl: string

beforeAll(async () => {
  endpoint = await openModelEndpoint({ port: 0 })
  databaseUrl = await createDatabase()
  const price = { inputPricePerMillion: 1000, outputPricePerMillion: 1000 }
  const scripted = { id: 'scripted', provider: 'anthropic', baseUrl: endpoint.url, apiKey: 'k', ...price }
  house = await openHouse({
    DATABASE_URL: databaseUrl,
    STARTING_CREDITS: '1000',
    MODELS: JSON.stringify([scripted]),
  })
  models = createModels(house.deps.config.models, {
    retries: { attempts: 2, firstDelayMs: 10, maxDelayMs: 20 },
  })
  person = await house.newPerson()
})

afterAll(async () => {
  await house.close()
  await endpoint.close()
})

const by = (who: Person) => (method: string, path: string, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { token: who.token, ...(body === undefined ? {} : { body }) })

test('a workspace has a primary agent from the first look on, however many look at once', async () => {
  const call = by(await house.newPerson())
  const lists = await Promise.all(Array.from({ length: 8 }, () => call('GET', '/agents')))
  for (const { status, body } of lists) {
    expect(status).toBe(200)
    expect(body).toHaveLength(1)
    expect(body[0]).toMatchObject({ slug: 'assistant', primary: true, versionNumber: 1, status: 'active' })
  }
})

test('an agent is made, found under all its names, changed and removed', async () => {
  const call = by(person)
  const made = await call('POST', '/agents', { slug: 'writer', instructions: 'Write.', tools: ['ask-human'] })
  expect(made.status).toBe(201)
  const id = `${person.workspaceId}:writer`
  expect(made.body).toMatchObject({ id, name: 'writer', model: null, primary: false, tools: ['ask-human'] })
  const twice = encodeURIComponent(encodeURIComponent(id))
  for (const name of ['writer', id, encodeURIComponent(id), twice]) {
    expect((await call('GET', `/agents/${name}`)).body).toEqual(made.body)
  }
  expect((await call('PATCH', '/agents/writer', { name: 'writer' })).body.versionNumber).toBe(1)
  const changed = await call('PATCH', '/agents/writer', {
    name: 'Writer',
    model: 'scripted',
    skills: ['tidy'],
  })
  expect(changed.body).toMatchObject({
    name: 'Writer',
    model: 'scripted',
    skills: ['tidy'],
    versionNumber: 2,
  })
  expect((await call('DELETE', '/agents/writer')).body).toEqual({ success: true })
  expect((await call('GET', '/agents/writer')).status).toBe(404)
  const told = (await call('GET', '/activity')).body.items.map(({ type }: { type: string }) => type)
  expect(told.filter((type: string) => type.startsWith('agent.'))).toEqual([
    'agent.deleted',
    'agent.updated',
    'agent.created',
  ])
})

test('what is wrong is refused', async () => {
  const call = by(await house.newPerson())
  for (const slug of ['me', 'connect', 'request-permission', 'Upper', '-x', '']) {
    expect((await call('POST', '/agents', { slug })).status, slug).toBe(400)
  }
  const model = await call('POST', '/agents', { slug: 'a', model: 'nobody' })
  expect(model.body.error).toMatchObject({ code: 'INVALID_INPUT', details: { models: ['scripted'] } })
  expect((await call('POST', '/agents', { slug: 'assistant' })).status).toBe(409)
  const removal = await call('DELETE', '/agents/assistant')
  expect([removal.status, removal.body.error.message]).toEqual([409, expect.stringContaining('primary')])
  expect((await call('PATCH', '/agents/assistant', { primary: false })).status).toBe(409)
})

test('of agents that become primary at the same time one is', async () => {
  const call = by(await house.newPerson())
  const slugs = ['a', 'b', 'c', 'd']
  for (const slug of slugs) await call('POST', '/agents', { slug })
  await Promise.all(slugs.map((slug) => call('PATCH', `/agents/${slug}`, { primary: true })))
  const agents = (await call('GET', '/agents')).body as { slug: string; primary: boolean }[]
  expect(agents.map(({ primary }) => primary)).toEqual([true, false, false, false, false])
  expect((await call('DELETE', '/agents/assistant')).status).toBe(200)
  const made = await call('POST', '/agents', { slug: 'e', primary: true })
  expect(made.body.primary).toBe(true)
  expect((await call('GET', '/agents')).body[0].slug).toBe('e')
  // The first one was removed on purpose and does not come back.
  expect((await call('GET', '/agents/assistant')).status).toBe(404)
})

test('a workspace has room for 200', async () => {
  const full = await house.newPerson()
  const call = by(full)
  await call('GET', '/agents')
  await house.deps.database.db
    .insertInto('agents')
    .values(
      Array.from({ length: 198 }, (_, n) => ({
        workspace_id: full.workspaceId,
        slug: `a${n}`,
        name: 'a',
        description: '',
        instructions: '',
      })),
    )
    .execute()
  const both = await Promise.all(['x', 'y'].map((slug) => call('POST', '/agents', { slug })))
  expect(both.map(({ status }) => status).sort()).toEqual([201, 400])
  expect(both.find(({ status }) => status === 400)?.body.error.details).toEqual({ limit: 200 })
})

describe('asking', () => {
  let asked = 0
  const script = (...steps: Step[]) => `Please.\n\`\`\`script\n${JSON.stringify({ steps })}\n\`\`\``
  const agentOf = async (who: Person): Promise<AgentRow> => {
    const agent = await findAgent(house.deps.database.db, who.workspaceId, 'assistant')
    if (!agent) throw new Error('no agent')
    return agent
  }
  const ask = async (who: Person, prompt: string, more: Partial<Parameters<typeof askAgent>[2]> = {}) =>
    askAgent({ ...house.deps, models }, await agentOf(who), {
      prompt,
      workspaceId: who.workspaceId,
      userId: who.userId,
      apiKeyId: null,
      oauthGrantId: null,
      idempotencyKey: `run_${++asked}:ask:0:0:0`,
      signal: new AbortController().signal,
      ...more,
    })
  const account = async (who: Person) =>
    (await house.call('GET', '/api/v1/billing', { token: who.token })).body as {
      balance: number
      availableBalance: number
      reserved: number
    }
  /** 10 Ds at the price of these tests. */
  const usage = { input: 4000, output: 6000 }

  test('gives the text and charges what it took', async () => {
    const who = await house.newPerson()
    expect(await ask(who, script({ say: 'Hello.', usage }))).toEqual({ text: 'Hello.' })
    expect(await account(who)).toMatchObject({ balance: 990, availableBalance: 990, reserved: 0 })
  })

  test('an object that does not fit is asked for once more, and paid both times', async () => {
    const who = await house.newPerson()
    const outputSchema = {
      type: 'array',
      items: { $ref: '#/$defs/word' },
      minItems: 1,
      $defs: { word: { type: 'string' } },
    }
    expect(await ask(who, script({ say: 'no object', usage }), { outputSchema })).toEqual(['text'])
    expect((await account(who)).balance).toBeLessThan(990)
    const never = {
      type: 'object',
      properties: { a: { type: 'string', pattern: '^never said$' } },
      required: ['a'],
    }
    const refused = ask(who, script({ say: '{}' }), { outputSchema: never })
    await expect(refused).rejects.toMatchObject({ code: 'AGENT_OUTPUT_INVALID' })
    expect((await account(who)).reserved).toBe(0)
  })

  test('what newer schemas say holds too', async () => {
    const outputSchema = { type: 'array', prefixItems: [{ const: 'yes' }] }
    const asking = ask(await house.newPerson(), script({ object: { answer: ['no'] } }), { outputSchema })
    // Not what was said first, but what was said when it was asked for again.
    expect(await asking).toEqual([])
  })

  test('a provider that fails, too few credits and an abort each end the question, and nothing stays set aside', async () => {
    const who = await house.newPerson()
    const failed = ask(who, script({ fail: { status: 400, times: 9 } }))
    await expect(failed).rejects.toMatchObject({ code: 'AGENT_FAILED', details: { reason: 'bad_request' } })
    expect(await account(who)).toMatchObject({ balance: 1000, reserved: 0 })
    const leaving = new AbortController()
    const before = endpoint.stats().requests
    const aborted = ask(who, script({ say: 'late', delayMs: 20_000 }), { signal: leaving.signal })
    const refused = expect(aborted).rejects.toThrow('canceled')
    await expect.poll(() => endpoint.stats().requests).toBe(before + 1)
    leaving.abort(new Error('canceled'))
    await refused
    // The provider was asked, and bills it.
    const { balance, reserved } = await account(who)
    expect([balance < 1000, reserved]).toEqual([true, 0])
    await house.deps.database.db.transaction().execute(async (tx) => {
      const amountMilliDs = Math.round((40 - balance) * 1000)
      await changeCredits(tx, { userId: who.userId, kind: 'adjust', amountMilliDs, note: null })
    })
    const poor = ask(who, script({ say: 'x' }))
    await expect(poor).rejects.toMatchObject({
      code: 'AGENT_FAILED',
      details: { reason: 'credits', availableBalance: 40, minimumRequired: 50 },
    })
  })

  test('asked again after its worker died, it uses what is set aside, or pays anew when that was settled', async () => {
    const who = await house.newPerson()
    const idempotencyKey = 'run_again:ask:0:0:0'
    await ask(who, script({ say: 'One.', usage }), { idempotencyKey })
    await ask(who, script({ say: 'Two.', usage }), { idempotencyKey })
    expect(await account(who)).toMatchObject({ balance: 980, reserved: 0 })
    const rows = await house.deps.database.db
      .selectFrom('reservations')
      .select('execution_id')
      .where('user_id', '=', who.userId)
      .orderBy('execution_id')
      .execute()
    expect(rows.map(({ execution_id }) => execution_id)).toEqual([idempotencyKey, `${idempotencyKey}#2`])
  })

  const setAside = (who: Person, executionId: string, kind: 'execution' | 'step') =>
    house.deps.database.transaction((tx) =>
      reserve(tx, {
        userId: who.userId,
        workspaceId: who.workspaceId,
        executionId,
        kind,
        keyId: null,
        maxCostMilliDs: 100_000,
        defaultMaxCostMilliDs: 500_000,
      }),
    )

  test('what a lost question set aside comes back after two hours', async () => {
    const who = await house.newPerson()
    await setAside(who, 'run_lost:ask:0:0:0', 'step')
    await setAside(who, 'exec_of-its-own', 'execution')
    await setAside(who, 'exec:with a colon', 'execution')
    expect(await releaseLostAsks(house.deps)).toBe(0)
    await shiftClock(databaseUrl, 7201)
    expect(await releaseLostAsks(house.deps)).toBe(1)
    await shiftClock(databaseUrl, 0)
    expect(await account(who)).toMatchObject({ reserved: 200, availableBalance: 800 })
  })

  test('what the version before set aside has the kind that its name tells', async () => {
    const who = await house.newPerson()
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    const { rows } = await client.query(
      `insert into reservations (execution_id, user_id, workspace_id, amount_milli_ds, limited_by)
       values ('run_before:ask:0:0:0', $1, $2, 1, 'balance'), ('exec_before', $1, $2, 1, 'balance') returning kind`,
      [who.userId, who.workspaceId],
    )
    await client.end()
    expect(rows.map(({ kind }) => kind)).toEqual(['step', 'execution'])
  })
})
