import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { tellThread } from '#running/notifications/notifications.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { until } from '../../../../test/support/processes.ts'
import { shiftClock } from '../support/house.ts'
import { notice } from '../support/notices.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

let house: ChatHouse
let person: Person

beforeAll(async () => {
  house = await openChatHouse()
})

afterAll(() => house?.close())

beforeEach(async () => {
  house.serve(true)
  person = await house.newPerson()
})

const db = () => house.deps.database.db
const parts = () => ({ ...house.deps, bus: house.bus })
const rowOf = (threadId: string) =>
  db()
    .selectFrom('threads')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('workspace_id', '=', person.workspaceId)
    .executeTakeFirstOrThrow()
const newThread = async (threadId: string, more: object = {}) => {
  const body = { threadId, ...more }
  const made = await house.call('POST', '/api/v1/threads', { token: person.token, body })
  expect(made.status, made.text).toBe(201)
  return rowOf(threadId)
}

describe('an agent that asked to be woken', () => {
  const runsOf = async (threadId: string) => {
    const { id } = await rowOf(threadId)
    return db().selectFrom('thread_runs').selectAll().where('thread_row_id', '=', id).orderBy('id').execute()
  }
  const ended = (threadId: string, count: number) =>
    until(async () => {
      const runs = await runsOf(threadId)
      return runs.length === count && runs.every(({ completed_at }) => completed_at !== null)
    }, 10_000)
  const later = (seconds: number) => shiftClock(house.deps.config.databaseUrl, seconds)

  test('is, for the owner, once a minute and three times without a person', async () => {
    const { id } = await newThread('awake', { onNotification: 'wake' })
    await tellThread(parts(), id, notice('before anybody spoke'))
    expect(await runsOf('awake')).toEqual([])
    await house.send(person, 'awake', scripted({ say: 'Ready.' }))
    await ended('awake', 1)
    try {
      await tellThread(parts(), id, notice('first'))
      await ended('awake', 2)
      const [spoke, woken] = await runsOf('awake')
      expect(woken).toMatchObject({
        user_id: person.userId,
        credential_kind: 'session',
        credential_id: spoke?.credential_id,
      })
      await tellThread(parts(), id, notice('within the minute'))
      expect(await runsOf('awake')).toHaveLength(2)
      for (const [at, count] of [
        [61, 3],
        [122, 4],
        [183, 4],
      ] as const) {
        await later(at)
        await tellThread(parts(), id, notice(`at ${at}`))
        await ended('awake', count)
      }
      await house.send(person, 'awake', scripted({ say: 'Again.' }))
      await ended('awake', 5)
      await later(244)
      await tellThread(parts(), id, notice('after the person'))
      await ended('awake', 6)
    } finally {
      await later(0)
    }
  })

  test('is not in a thread that only records, nor by the authority of who may not act any more', async () => {
    const { id } = await newThread('asleep')
    await house.send(person, 'asleep', scripted({ say: 'Ready.' }))
    await ended('asleep', 1)
    await tellThread(parts(), id, notice('x'))
    expect(await runsOf('asleep')).toHaveLength(1)
    const { id: keyId, secret: key } = await house.newKey(person)
    const body = { threadId: 'of-a-key', onNotification: 'wake' }
    await house.call('POST', '/api/v1/threads', { key, body })
    await house.call('POST', '/api/v1/agents/assistant/send-message', {
      key,
      body: {
        resourceId: person.workspaceId,
        threadId: 'of-a-key',
        message: scripted({ say: 'Ready.' }),
      },
    })
    await ended('of-a-key', 1)
    await house.call('DELETE', `/api/v1/keys/${keyId}`, { token: person.token })
    await tellThread(parts(), (await rowOf('of-a-key')).id, notice('x'))
    expect(await runsOf('of-a-key')).toHaveLength(1)
  })
})
