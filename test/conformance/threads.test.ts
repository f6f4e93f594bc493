import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { until } from '../support/processes.ts'
import { expectWithin } from '../support/proof.ts'
import { atSize } from '../support/sizes.ts'
import { must, newKey, newPerson } from './support/actors.ts'
import { script } from './support/executions.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import { chatStream, type Frame, frameOf, framesOf, send, subscribe, typesOf } from './support/threads.ts'
import { begin, echo, getQueue } from './support/workflows.ts'
import { verifies } from './verifies.ts'

const hello = script({ say: 'Hello.' })

describe('a subscription', () => {
  test('opens for a workspace and a thread, and for nothing less', async () => {
    verifies('threads:subscribe:body', 'threads:subscribe:foreign-resource')
    const person = await newPerson()
    const other = await newPerson()
    const body = { resourceId: person.workspaceId, threadId: 'body' }
    const stream = await subscribe(person, body)
    expect(stream.status).toBe(200)
    expect(await frameOf(stream, 'thread.ready')).toMatchObject({ payload: { lastSequence: 0 } })
    stream.close()
    for (const less of [{ resourceId: body.resourceId }, { threadId: body.threadId }]) {
      expectRefusal(await person.post('/agents/assistant/subscribe-thread', less), 400, 'INVALID_INPUT')
    }
    const foreign = await subscribe(person, { ...body, resourceId: other.workspaceId })
    expect(foreign.status).toBe(404)
    await foreign.ended
    expect(foreign.frames).toEqual([])
  })

  test('shows each event as a frame', async () => {
    verifies('threads:subscribe:frames')
    const person = await newPerson()
    const body = { resourceId: person.workspaceId, threadId: 'frames' }
    const stream = await subscribe(person, body)
    await frameOf(stream, 'thread.ready')
    const { messageId, runId } = must(await send(person, { ...body, message: hello }), 202)
    await frameOf(stream, 'run.finished')
    const [, ...frames] = framesOf(stream)
    expect(frames.map(({ type }) => type)).toEqual([
      'user.message',
      'run.started',
      'agent.message',
      'run.cost',
      'run.finished',
    ])
    const shown: Frame = {
      id: expect.any(String),
      type: 'user.message',
      sequence: 1,
      threadId: 'frames',
      runId,
      payload: { messageId, content: hello, author: { userId: person.userId, apiKeyId: null } },
      at: expect.stringMatching(isoPattern),
    }
    expect(frames[0]).toEqual(shown)
    expect(stream.frames.slice(1).map(({ id }) => id)).toEqual(frames.map(({ sequence }) => String(sequence)))
    stream.close()
  })

  test('can be closed and opened again, with or without what was missed', async () => {
    verifies('threads:subscribe:reconnectable')
    const person = await newPerson()
    const body = { resourceId: person.workspaceId, threadId: 'again' }
    const first = await subscribe(person, body)
    await frameOf(first, 'thread.ready')
    first.close()
    must(await send(person, { ...body, message: hello }), 202)
    const replayed = await subscribe(person, { ...body, lastSeq: 0 })
    const { sequence } = await frameOf(replayed, 'run.finished')
    expect(
      framesOf(replayed)
        .slice(1)
        .map((frame) => frame.sequence),
    ).toEqual([1, 2, 3, 4, 5])
    replayed.close()
    const live = await subscribe(person, body)
    expect((await frameOf(live, 'thread.ready')).payload).toEqual({
      lastSequence: sequence,
      activeRunId: null,
    })
    must(await send(person, { ...body, message: hello }), 202)
    await frameOf(live, 'run.finished')
    expect(framesOf(live)[1]?.sequence).toBe(sequence + 1)
    live.close()
  })

  test('stays open, with a heartbeat every 25 seconds from its opening', async () => {
    verifies('threads:subscribe:sse', 'threads:subscribe:heartbeat-25s')
    const person = await newPerson()
    const begun = performance.now()
    const stream = await subscribe(person, { resourceId: person.workspaceId, threadId: 'quiet' })
    expect(stream.headers['content-type']).toBe('text/event-stream')
    let isOpen = true
    void stream.ended.then(() => {
      isOpen = false
    })
    const heard = () => stream.comments.filter(({ text }) => text.startsWith('heartbeat'))
    await until(() => heard().length === atSize(1, 2), atSize(27_000, 53_000))
    expect(isOpen).toBe(true)
    for (const [index, { at }] of heard().entries()) {
      const due = 25_000 * (index + 1)
      expect(at - begun).toBeGreaterThan(due - 2000)
      expectWithin(at - begun - due, 2000, 'a heartbeat')
    }
    stream.close()
  }, 120_000)
})

describe('a message', () => {
  test('is a workspace, a thread and a text', async () => {
    verifies('threads:send:body', 'threads:send:answer')
    const person = await newPerson()
    const body = { resourceId: person.workspaceId, threadId: 'send', message: hello }
    const answer = await send(person, body)
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 202,
      body: {
        accepted: true,
        messageId: expect.any(String),
        runId: expect.any(String),
        threadId: 'send',
        delivery: 'woke',
      },
    })
    for (const message of ['', undefined]) {
      expectRefusal(await send(person, { ...body, message }), 400, 'INVALID_INPUT')
    }
  })

  test('needs agent:message, and one key does for all of it', async () => {
    verifies('threads:agent:scope-message', 'threads:auth:same-key')
    const person = await newPerson()
    const body = { resourceId: person.workspaceId, threadId: 'keys' }
    const poor = await newKey(person, { scopes: ['agent:list'] })
    for (const [path, more] of [
      ['/agents/assistant/subscribe-thread', {}],
      ['/agents/assistant/send-message', { message: 'Hello' }],
      ['/chat/assistant', { message: 'Hello' }],
    ] as const) {
      const refused = await poor.post(path, { ...body, ...more })
      expect(refused.status).toBe(403)
      expect(refused.text).toContain('agent:message')
    }
    const key = await newKey(person, { scopes: ['agent:message'] })
    const stream = await subscribe(key, body)
    await frameOf(stream, 'thread.ready')
    const { runId } = must(await send(key, { ...body, message: hello }), 202)
    expect((await frameOf(stream, 'run.finished', runId)).payload).toMatchObject({ status: 'completed' })
    stream.close()
  })
})

describe('a chat', () => {
  test('answers what the agent said', async () => {
    verifies('threads:chat:answer')
    const person = await newPerson()
    const answer = await person.post('/chat/assistant', { message: hello, stream: false })
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: {
        threadId: expect.any(String),
        runId: expect.any(String),
        status: 'completed',
        message: 'Hello.',
        usage: { inputTokens: expect.any(Number), outputTokens: expect.any(Number) },
        cost: expect.any(Number),
        stopReason: 'end_turn',
        errorCode: null,
      },
    })
    const slow = script({ say: 'Hello.', delayMs: 500 })
    const stream = await chatStream(person, { message: slow, deltas: true })
    await stream.ended
    expect(typesOf(stream).filter((type) => type !== 'agent.message_delta')).toEqual([
      'user.message',
      'run.started',
      'agent.message',
      'run.cost',
      'run.finished',
    ])
    expect(typesOf(stream)).toContain('agent.message_delta')
  })

  test('names the runs of workflows that it had launched', async () => {
    verifies('threads:chat:answer')
    const person = await newPerson()
    const definition = {
      id: 'empty',
      inputSchema: {},
      outputSchema: {},
      graph: [{ type: 'mapping', id: 'out', mapConfig: '{}' }],
    }
    must(await person.post('/workflows/empty/install', { definition }), 201)
    const message = script(
      { tools: [{ name: 'launch_workflow', input: { slug: 'empty' } }] },
      { say: 'It runs.' },
    )
    const { threadId, workflowRuns } = must(
      await person.post<{ threadId: string; workflowRuns: string[] }>('/chat/assistant', { message }),
      200,
    )
    expect(workflowRuns).toEqual([expect.any(String)])
    const { run } = must(
      await person.get<{ run: { conversationId: string } }>(`/workflows/runs/${workflowRuns[0]}`),
      200,
    )
    expect(run.conversationId).toBe(threadId)
  })

  test('shows its caller its own run, and a subscriber everybody’s', async () => {
    verifies('threads:subscribe:only-own-without')
    const person = await newPerson()
    const [one, two] = [await newKey(person), await newKey(person)]
    const body = { resourceId: person.workspaceId, threadId: `both-${randomUUID()}` }
    const subscriber = await subscribe(two, body)
    await frameOf(subscriber, 'thread.ready')
    const slow = script({ say: 'To the first.', delayMs: 500 })
    const { runId } = must(await send(one, { ...body, message: slow }), 202)
    const caller = await chatStream(two, { message: hello, threadId: body.threadId, deltas: true })
    await caller.ended
    await frameOf(subscriber, 'run.finished', framesOf(caller)[0]?.runId)
    expect(caller.frames.map(({ data }) => data).join('\n')).not.toContain('To the first.')
    expect(new Set(framesOf(caller).map((frame) => frame.runId)).size).toBe(1)
    expect(
      framesOf(subscriber).some((frame) => frame.type === 'agent.message' && frame.runId === runId),
    ).toBe(true)
    subscriber.close()
  })

  test('stands in the queue until it is answered', async () => {
    verifies('queue:list:includes-agent-runs')
    const person = await newPerson()
    const body = { resourceId: person.workspaceId, threadId: 'queue' }
    const { runId } = must(
      await send(person, { ...body, message: script({ say: 'Slow.', delayMs: 20_000 }) }),
      202,
    )
    const job = {
      runId,
      workflowSlug: 'agent:assistant',
      enqueuedAt: expect.stringMatching(isoPattern),
      status: 'running',
    }
    expect((await getQueue(person)).queued).toEqual([job])
    must(await person.delete(`/workflows/queue/${runId}`), 200)
    expect(await getQueue(person)).toEqual({ queued: [], total: 0 })
    const run = must(
      await person.get<{ status: string; stopReason: string }>(`/threads/queue/runs/${runId}`),
      200,
    )
    expect(run).toMatchObject({ status: 'failed', stopReason: 'interrupt' })
  })
})

describe('a notification', () => {
  test('reaches whoever listens to a thread when a workflow ends in the background', async () => {
    verifies('threads:notify:background-to-subscribed', 'threads:notify:record')
    const person = await newPerson()
    const stream = await subscribe(person, { resourceId: person.workspaceId, threadId: 'background' })
    await frameOf(stream, 'thread.ready')
    const deaf = await subscribe(person, {
      resourceId: person.workspaceId,
      threadId: 'foreground',
      background: false,
    })
    await frameOf(deaf, 'thread.ready')
    const runId = await begin(person, [echo])
    const { payload } = await frameOf(stream, 'notification')
    expect(payload).toMatchObject({
      id: expect.any(String),
      threadId: 'background',
      resourceId: person.workspaceId,
      agentId: `${person.workspaceId}:assistant`,
      source: 'workflow',
      kind: 'workflow.completed',
      status: 'delivered',
      priority: expect.stringMatching(/^(low|medium|high|urgent)$/),
      summary: expect.any(String),
      payload: { runId },
      dedupeKey: `${runId}:success`,
      createdAt: expect.stringMatching(isoPattern),
    })
    const { items } = must(await person.get<{ items: unknown[] }>('/threads/background/notifications'), 200)
    expect(items).toMatchObject([{ id: payload['id'] }])
    expect(typesOf(deaf)).not.toContain('notification')
    stream.close()
    deaf.close()
  })
})
