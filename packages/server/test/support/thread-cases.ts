import { newNotification } from './notifications.ts'
import { asPerson, by, type Make, newThread, type Stage } from './writing-stage.ts'

const messageOf = ({ mark }: Stage) => ({ message: mark, ifActive: 'queue', maxCost: 60, model: 'none' })

/** Requests that say something in threads, or change them. */
export const threadCases: Record<string, Make> = {
  sendMessage: asPerson(async (stage, { workspaceId }) => ({
    params: { agentId: 'assistant' },
    body: { resourceId: workspaceId, threadId: 'case', ...messageOf(stage) },
  })),
  chat: asPerson(async (stage) => ({
    params: { agentId: 'assistant' },
    body: { threadId: 'case', stream: false, deltas: false, waitSeconds: 0, ...messageOf(stage) },
  })),
  createThread: asPerson(async ({ mark }) => ({
    body: {
      agentId: 'assistant',
      threadId: 'case',
      title: mark,
      visibility: 'workspace',
      onNotification: 'wake',
    },
  })),
  updateThread: asPerson(async (stage, person) => ({
    params: { id: await newThread(stage, person) },
    // To be woken is for whoever opened it alone to ask for (thread-attacks.test.ts).
    body: { title: stage.mark, visibility: 'workspace', onNotification: 'record' },
  })),
  seeThreadNotifications: asPerson(async (stage, person) => {
    const id = await newThread(stage, person)
    await newNotification(stage.house, person.workspaceId, id)
    return { params: { id }, body: { through: 100 } }
  }),
  seeNotification: asPerson(async (stage, person) => {
    const thread = await newThread(stage, person)
    return { params: { id: await newNotification(stage.house, person.workspaceId, thread) } }
  }),
  dismissNotification: asPerson(async (stage, person) => {
    const thread = await newThread(stage, person)
    return { params: { id: await newNotification(stage.house, person.workspaceId, thread) } }
  }),
  deleteThread: asPerson(async (stage, person) => ({ params: { id: await newThread(stage, person) } })),
  interruptThread: asPerson(async (stage, person) => {
    const id = await newThread(stage, person)
    const { activeRunId } = await by(stage, person)('GET', `/threads/${id}`)
    return { params: { id }, body: { runId: activeRunId } }
  }),
}
