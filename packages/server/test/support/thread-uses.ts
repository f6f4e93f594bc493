import { randomUUID } from 'node:crypto'
import { tellThread } from '#running/notifications/notifications.ts'
import type { Person } from '../../../../test/support/caller.ts'
import type { House } from './house.ts'
import { notice } from './notices.ts'

const none = 'none-such'

/** How routes of threads and notifications are used, and refused for something else than a scope. */
export function threadUses(stage: () => { readonly house: House; readonly person: Person }) {
  const agent = { agentId: 'assistant' }

  async function newThread(): Promise<{ id: string; runId: string }> {
    const { house, person } = stage()
    const threadId = `thread-${randomUUID()}`
    const body = { resourceId: person.workspaceId, threadId, message: 'Hello' }
    const { token } = person
    const sent = await house.call('POST', '/api/v1/agents/assistant/send-message', { token, body })
    if (sent.status !== 202) throw new Error(sent.text)
    return { id: threadId, runId: sent.body.runId }
  }

  async function newNotification(): Promise<{ id: string }> {
    const { house, person } = stage()
    const { id: threadId } = await newThread()
    const { db } = house.deps.database
    const thread = await db
      .selectFrom('threads')
      .select('id')
      .where('thread_id', '=', threadId)
      .executeTakeFirstOrThrow()
    await tellThread({ ...house.deps, bus: house.bus }, thread.id, notice(randomUUID()))
    const { token } = person
    const listed = await house.call('GET', `/api/v1/threads/${threadId}/notifications`, { token })
    return { id: listed.body.items[0].id }
  }

  const message = () => ({
    resourceId: stage().person.workspaceId,
    threadId: `thread-${randomUUID()}`,
    message: 'Hello',
  })
  const elsewhere = { resourceId: randomUUID(), threadId: 'x', message: 'Hello' }
  const ofThread = {
    params: async () => ({ id: (await newThread()).id }),
    refused: { params: { id: none } },
  }
  return {
    sendMessage: {
      params: async () => agent,
      body: async () => message(),
      refused: { params: agent, body: elsewhere },
    },
    chat: {
      params: async () => agent,
      body: async () => ({ message: 'Hello', waitSeconds: 0 }),
      refused: { params: { agentId: none }, body: { message: 'Hello' } },
    },
    // What stays open is not read here.
    subscribeThread: { refused: { params: agent, body: elsewhere }, onlyRefused: true as const },
    createThread: {
      body: async () => ({ threadId: `made-${randomUUID()}` }),
      refused: { body: { agentId: none } },
    },
    listThreads: { refused: { query: '?cursor=junk' } },
    getThread: ofThread,
    updateThread: {
      ...ofThread,
      body: async () => ({ title: randomUUID() }),
      refused: { params: { id: none }, body: { title: 'x' } },
    },
    deleteThread: ofThread,
    listThreadMessages: ofThread,
    listThreadRuns: ofThread,
    getThreadRun: { params: newThread, refused: { params: { id: none, runId: none } } },
    interruptThread: ofThread,
    listNotifications: { refused: { query: '?cursor=junk' } },
    listThreadNotifications: ofThread,
    seeThreadNotifications: ofThread,
    seeNotification: { params: newNotification, refused: { params: { id: none } } },
    dismissNotification: { params: newNotification, refused: { params: { id: none } } },
  }
}
