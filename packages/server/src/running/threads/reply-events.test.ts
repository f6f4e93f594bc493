import { expect, test } from 'vitest'
import { replyEvents } from './reply-events.ts'

test('calls of one thread have ids of their own, whatever the provider calls them', () => {
  const call = { id: 'call_0', name: 'look', input: {} }
  const usage = { inputTokens: 1, outputTokens: 1 }
  const reply = {
    model: 'm',
    text: '',
    reasoning: '',
    toolCalls: [call, call],
    usage,
    stop: 'tools' as const,
  }
  const runs = ['0198c1f2-7c00-7000-8000-000000000001', '1198c1f2-7c00-7000-8000-000000000001']
  const ids = runs.flatMap((run) =>
    [0, 1].flatMap((step) =>
      replyEvents(reply, { readThrough: 1, runId: run, step, labelOf: ({ name }) => name }).map(
        ({ event }) => (event.payload as { toolUseId: string }).toolUseId,
      ),
    ),
  )
  expect(new Set(ids).size).toBe(8)
  // What providers take as an id.
  for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
})
