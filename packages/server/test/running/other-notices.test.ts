import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { Step } from '../../../../stack/model-endpoint/step.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { reconcileOnce } from '../support/reconcile.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

let house: ChatHouse
let person: Person

beforeAll(async () => {
  house = await openChatHouse()
})

afterAll(() => house?.close())

beforeEach(async () => {
  person = await house.newPerson()
  await call('PATCH', '/agents/assistant', { tools: ['skills', 'http-request'] })
})

const call = (method: string, path: string, body?: object, key?: string) =>
  house.call(method, `/api/v1${path}`, {
    ...(key === undefined ? { token: person.token } : { key }),
    ...(body && { body }),
  })
const reconcile = (name: string, processes = 1) => {
  const reconcilers = house.reconcilers.filter((one) => one.name === name)
  expect(reconcilers).toHaveLength(1)
  return Promise.all(Array.from({ length: processes }, () => reconcileOnce(reconcilers)))
}
const use = (name: string, input: unknown): Step => ({ tools: [{ name, input }] })
const say = async (threadId: string, ...steps: Step[]) => {
  const sent = await house.send(person, threadId, scripted(...steps))
  expect(sent.status, sent.text).toBe(202)
}
/** What the thread waits for, once it does. */
const waitsFor = (threadId: string) =>
  vi.waitFor(
    async () => {
      const { body } = await call('GET', `/threads/${threadId}/runs`)
      expect(body.items[0].status).toBe('waiting')
      return body.items[0].waitsFor as { kind: string; id: string }
    },
    { timeout: 60_000, interval: 50 },
  )
const ended = (threadId: string) =>
  vi.waitFor(
    async () => {
      await reconcile('waits of chats')
      const { body } = await call('GET', `/threads/${threadId}`)
      expect(body.activeRunId).toBeNull()
    },
    { timeout: 60_000, interval: 50 },
  )
/** As three processes at once look, twice. */
const told = async (threadId: string) => {
  for (const processes of [3, 1]) await reconcile('other word to threads', processes)
  return (await call('GET', `/threads/${threadId}/notifications`)).body.items
}

const outside = use('http-request', { url: 'https://nowhere.example/' })

test.each(['approve', 'deny'] as const)(
  'a thread hears once that somebody did %s what it asked for',
  async (verb) => {
    await say('asking', outside, { say: 'So be it.' })
    const { id } = await waitsFor('asking')
    expect(await told('asking')).toEqual([])
    await call('POST', `/approvals/${id}/${verb}`, {})
    await ended('asking')
    const status = verb === 'approve' ? 'granted' : 'denied'
    expect(await told('asking')).toMatchObject([
      {
        kind: 'approval.resolved',
        source: 'approval',
        dedupeKey: `${id}:${status}`,
        payload: { approvalId: id, kind: 'tool', status },
      },
    ])
  },
)

test('a thread hears of the end of a skill only if it no longer waited for it, and not before that', async () => {
  const files = [{ path: 'SKILL.md', content: '---\nname: writer\ndescription: Writes.\n---\nWrite.\n' }]
  const artifact = await call('POST', '/artifacts', { type: 'skill', files })
  await call('POST', '/skills/writer/install', { artifactId: artifact.body.id })
  const run = use('run_skill', { slug: 'writer', input: 'Write' })
  await say('left', run, { say: 'Written.' })
  const { id } = await waitsFor('left')
  await call('POST', '/threads/left/interrupt', {})
  expect(await told('left')).toEqual([])
  await call('POST', `/executions/${id}/cancel`)
  expect(await told('left')).toMatchObject([
    {
      kind: 'execution.failed',
      source: 'execution',
      dedupeKey: `${id}:failed`,
      payload: { executionId: id, skillSlug: 'writer', status: 'failed' },
    },
  ])

  await say('patient', run, { say: 'Not written.' })
  const waited = await waitsFor('patient')
  await call('POST', `/executions/${waited.id}/cancel`)
  await ended('patient')
  expect(await told('patient')).toEqual([])
})

test('a thread hears that another agent has picked up its work', async () => {
  await say('handed', { say: 'Half of it is done.' })
  await ended('handed')
  const { traceId } = (await call('GET', '/threads/handed')).body
  const { code } = (await call('POST', `/traces/${traceId}/handover`, {})).body
  expect(await told('handed')).toEqual([])
  const key = (await call('POST', '/keys', { label: 'closer' })).body.api_key
  const picked = await call('POST', '/traces/pickup', { code }, key)
  expect(picked.status, picked.text).toBe(200)
  expect(await told('handed')).toMatchObject([
    { kind: 'trace.picked_up', source: 'handover', payload: { traceId } },
  ])
})
