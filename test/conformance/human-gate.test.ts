import { beforeEach, describe, expect, test } from 'vitest'
import { must, newKey, type Person } from './support/actors.ts'
import type { Answer, Caller } from './support/client.ts'
import { bearer, newApp, newProviderPerson, newTokens } from './support/oauth.ts'
import { expectRefusal } from './support/shapes.ts'
import { begin, echo, flow, mapping, resume, settled, tool } from './support/workflows.ts'
import { verifies } from './verifies.ts'

interface Item {
  id: string
  status: string
  workflow: { runId: string; stepId: string }
}

interface Line {
  type: string
  actor: { kind: string; userId: string | null; apiKeyId: number | null }
  details: { runId?: string; stepId?: string; requestId?: string; decision?: string; via?: string }
}

const leave = mapping({ action: { value: 'Send it.' } }, 'leave')
const plain = mapping({ question: { value: 'Which?' } }, 'plain')
const forAgents = mapping({ question: { value: 'Which?' }, answerableBy: { value: 'agent' } }, 'forAgents')
const approval = tool('request-approval', 'gate')
const asking = tool('ask-human', 'gate')

/** What only a person may answer, and with what. */
const gates: Record<string, { graph: unknown[]; answer: unknown; stepId?: string; inputs?: unknown }> = {
  'request-approval': { graph: [leave, approval, echo], answer: { approved: true } },
  'ask-human': { graph: [plain, asking, echo], answer: 'this' },
  'ask-human, said to be for agents by who launched it': {
    graph: [mapping({ question: { value: 'Which?' }, answerableBy: { initData: true, path: 'by' } }), asking],
    inputs: { by: 'agent' },
    answer: 'this',
  },
  'ask-human, said to be for agents by what a tool gave': {
    graph: [forAgents, echo, asking],
    answer: 'this',
  },
  'request-approval beside a question for agents': {
    graph: [
      mapping({
        action: { value: 'Send it.' },
        question: { value: 'Which?' },
        answerableBy: { value: 'agent' },
      }),
      { type: 'parallel', steps: [approval, tool('ask-human', 'other')] },
    ],
    answer: { approved: true },
    stepId: 'gate',
  },
  'request-approval for each': {
    graph: [
      mapping({ items: { value: [{ action: 'One.' }, { action: 'Two.' }] } }),
      tool('list'),
      { type: 'foreach', step: approval, opts: { concurrency: 2 } },
    ],
    answer: { approved: true },
    stepId: 'gate.1',
  },
}

let person: Person
let agents: Record<string, Caller>

// Anew for each: whoever asks as often as this has windows of their own.
beforeEach(async () => {
  person = await newProviderPerson()
  const app = await newApp(person)
  const token = async (scope: string) =>
    bearer((await newTokens(app, { login: person.email, query: { scope } })).access_token)
  agents = {
    'a key with full access': await newKey(person, { access: 'full' }),
    'a key that may run things': await newKey(person, { scopes: ['tool:execute'] }),
    'an app that may read': await token('read'),
    'an app that may do anything': await token('read write admin'),
  }
})

const items = async (runId: string, status: string): Promise<Item[]> => {
  const page = must(await person.get<{ items: Item[] }>(`/approvals?kind=workflow&status=${status}`), 200)
  return page.items.filter(({ workflow }) => workflow.runId === runId)
}

const linesOf = async (runId: string): Promise<Line[]> => {
  const page = must(await person.get<{ items: Line[] }>('/activity?type=workflow.answered&limit=200'), 200)
  return page.items.filter(({ details }) => details.runId === runId)
}

async function waiting(graph: readonly unknown[], inputs?: unknown): Promise<string> {
  const runId = await begin(person, graph, inputs)
  expect((await settled(person, runId)).run.status).toBe('suspended')
  // People are shown it right after that.
  await expect.poll(() => items(runId, 'pending'), { timeout: 10_000, interval: 500 }).not.toEqual([])
  return runId
}

describe.each(Object.entries(gates))('%s', (_name, { graph, answer, stepId, inputs }) => {
  test('is answered by nobody but a person, who is on record', async () => {
    verifies('approvals:workflow:people-answer', 'approvals:workflow:answer-in-activity')
    const runId = await waiting(graph, inputs)
    const body = { resumeData: answer, ...(stepId ? { stepId } : {}) }
    const open = await items(runId, 'pending')
    for (const agent of Object.values(agents)) {
      const tries: Answer[] = [
        await resume(agent, runId, body),
        await resume(agent, runId, { ...body, resumeData: 'anything' }),
      ]
      for (const refused of tries) {
        const { details } = expectRefusal(refused, 403, 'FORBIDDEN')
        const id = String(details?.['approval_id'])
        expect(open.map(({ id }) => id)).toContain(id)
        expect(details?.['approval_url']).toMatch(new RegExp(`^https?://.+/approvals/${id}$`))
        for (const how of ['approve', 'deny']) {
          const inInbox = await agent.post(`/approvals/${id}/${how}`, {})
          expectRefusal(inInbox, 403, 'FORBIDDEN')
        }
      }
    }
    expect(await items(runId, 'pending')).toHaveLength(open.length)
    expect(await linesOf(runId)).toEqual([])
    must(await resume(person, runId, body), 200)
    expect(await linesOf(runId)).toMatchObject([
      {
        actor: { kind: 'session', userId: person.userId, apiKeyId: null },
        details: { stepId: 'gate', decision: 'granted', via: 'run' },
      },
    ])
    await person.post(`/workflows/runs/${runId}/cancel`)
  })
})

test('a question for agents is answered by any of them, who is on record', async () => {
  verifies('approvals:workflow:people-answer', 'approvals:workflow:answer-in-activity')
  for (const agent of Object.values(agents)) {
    const runId = await waiting([forAgents, asking])
    must(await resume(agent, runId, { resumeData: 'this' }), 200)
    expect((await settled(person, runId)).run.snapshot.result).toEqual({ answer: 'this' })
    const [line] = await linesOf(runId)
    expect(line?.actor.kind).toBe('id' in agent ? 'key' : 'oauth')
  }
})

test('an answer in the inbox is on record as one', async () => {
  verifies('approvals:workflow:answer-in-activity')
  const runId = await waiting([leave, approval])
  const [item] = await items(runId, 'pending')
  must(await person.post(`/approvals/${item?.id}/deny`, { reason: 'No.' }), 200)
  expect(await linesOf(runId)).toMatchObject([
    { actor: { userId: person.userId }, details: { requestId: item?.id, decision: 'denied', via: 'inbox' } },
  ])
})

/** A step whose name is the workspace's, and whose text does not say so before its escapes are read. */
async function waitingUnderSpelledName(): Promise<string> {
  const text = JSON.stringify(flow([leave, approval, echo]))
  const content = text.replace('"id":"gate"', '"id":"\\u0024{workspaceId}"')
  expect(content).not.toBe(text)
  must(await person.post('/workflows/flow/install', { content }), 201)
  const { runId } = must(await person.post<{ runId: string }>('/workflows/flow/launch', {}), 201)
  expect((await settled(person, runId)).run.status).toBe('suspended')
  return runId
}

test.each([
  ['gate', () => waiting([leave, approval, echo])],
  ['', waitingUnderSpelledName],
] as const)('no agent takes a yes along into another run (%j)', async (name, begun) => {
  verifies('approvals:workflow:answers-not-reused')
  const runId = await begun()
  const gate = name || person.workspaceId
  must(await resume(person, runId, { resumeData: { approved: true } }), 200)
  expect((await settled(person, runId)).run.status).toBe('success')
  const again = (caller: Caller, body: object) =>
    caller.post<{ runId: string }>(`/workflows/runs/${runId}/rerun`, body)
  for (const agent of Object.values(agents)) {
    for (const body of [{ fromStep: 'echo' }, { fromStep: 'echo', inputs: { more: true } }]) {
      expectRefusal(await again(agent, body), 403, 'FORBIDDEN')
    }
    const { runId: asked } = must(await again(agent, { fromStep: gate }), 201)
    expect((await settled(person, asked)).run.status).toBe('suspended')
    await person.post(`/workflows/runs/${asked}/cancel`)
  }
  const { runId: own } = must(await again(person, { fromStep: 'echo' }), 201)
  expect((await settled(person, own)).run.status).toBe('success')
})
