import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { openExecutions } from '../support/event-streams.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** Lists of executions: page after page while new ones come, by status and by skill, each by an index. */
let house: House
let rows: Awaited<ReturnType<typeof openExecutions>>
let person: Person

beforeAll(async () => {
  const databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  rows = await openExecutions(databaseUrl)
  person = await house.newPerson()
  const statuses = ['idle', 'completed', 'failed']
  for (let index = 0; index < 40; index++) {
    // One at most works in a workspace.
    const status = index === 20 ? 'working' : (statuses[index % 3] ?? 'idle')
    const { id } = await rows.insert({ workspaceId: person.workspaceId, status })
    if (index % 2) await rows.client.query(`update executions set skill_slug = 'odd' where id = $1`, [id])
  }
  await rows.insert({ status: 'failed' })
})

afterAll(async () => {
  await rows?.close()
  await house?.close()
})

const list = async (query: string, token = person.token) => {
  const answer = await house.call('GET', `/api/v1/executions?${query}`, { token })
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

interface Item {
  id: number
  status: string
  skillSlug: string
}

async function walk(query: string, between: () => Promise<unknown> = async () => {}): Promise<Item[]> {
  const items: Item[] = []
  for (let cursor = ''; ; ) {
    const page = await list(`${query}&limit=7${cursor && `&cursor=${cursor}`}`)
    items.push(...page.items)
    expect(page.hasMore).toBe(page.nextCursor !== null)
    if (page.nextCursor === null) return items
    cursor = page.nextCursor
    await between()
  }
}

test('a cursor goes on where the page before ended, also while new ones come', async () => {
  const before = (await list('limit=200')).items.map(({ id }: Item) => id)
  const seen = await walk('', () => rows.insert({ workspaceId: person.workspaceId, status: 'completed' }))
  expect(seen.map(({ id }) => id)).toEqual(before)
})

test('offset stays as it was', async () => {
  const all = (await list('limit=200')).items
  const page = await list('limit=5&offset=3')
  expect(page.items).toEqual(all.slice(3, 8))
  expect(page).toMatchObject({ hasMore: true, offset: 3, limit: 5 })
})

test('lists by status and by skill, page after page', async () => {
  const all: Item[] = (await list('limit=200')).items
  for (const status of ['idle', 'working', 'completed', 'failed']) {
    expect(await walk(`status=${status}`)).toEqual(all.filter((item) => item.status === status))
  }
  expect(await walk('skill=odd')).toEqual(all.filter(({ skillSlug }) => skillSlug === 'odd'))
  expect(await walk('skill=odd&status=failed')).toEqual(
    all.filter(({ skillSlug, status }) => skillSlug === 'odd' && status === 'failed'),
  )
  expect(await walk('skill=never-was')).toEqual([])
})

test('a cursor of somebody else shows nothing of theirs, and junk is refused', async () => {
  const { nextCursor } = await list('limit=1')
  const stranger = await house.newPerson()
  expect((await list(`cursor=${nextCursor}`, stranger.token)).items).toEqual([])
  for (const query of [
    'cursor=junk',
    'status=done',
    `cursor=${Buffer.from('["x"]').toString('base64url')}`,
  ]) {
    const answer = await house.call('GET', `/api/v1/executions?${query}`, { token: person.token })
    expect(answer.status, query).toBe(400)
  }
})

test('each list has an index', async () => {
  for (const [filter, index] of [
    [`status = 'failed'`, 'executions_by_status'],
    [`skill_slug = 'odd'`, 'executions_by_skill'],
  ]) {
    await rows.client.query('set enable_seqscan = off')
    const { rows: plan } = await rows.client.query(
      `explain select id from executions where workspace_id = $1 and ${filter} and id < 1000000
       order by id desc limit 8`,
      [person.workspaceId],
    )
    const text = plan.map((line: Record<string, string>) => line['QUERY PLAN']).join('\n')
    expect(text).toContain(index)
    expect(text).not.toContain('Sort')
  }
})
