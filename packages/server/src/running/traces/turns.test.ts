import { executionEventPayloads, threadEventPayloads } from '@guildhall/contract'
import { expect, test } from 'vitest'
import { turnEvents, turnOf } from './turns.ts'

const content = [{ type: 'text', text: 'Hello.' }]
const file = { name: 'a.md', mimeType: 'text/markdown', sizeBytes: 3, artifactId: 'artifact_1', url: '/a' }
const end = (type: string, code?: string) => ({ stop_reason: { type, ...(code && { code }) } })

test.each<[string, object, { type: string; payload: object } | undefined]>([
  ['user.message', { content }, { type: 'user.message', payload: { content } }],
  ['agent.message', { content }, { type: 'agent.text', payload: { content } }],
  ['agent.thinking', {}, { type: 'agent.thinking', payload: {} }],
  ['agent.tool_use', { name: 'bash' }, { type: 'tool.call', payload: { name: 'bash' } }],
  ['agent.tool_result', { isError: true }, { type: 'tool.result', payload: { isError: true } }],
  [
    'agent.info',
    { kind: 'file', ...file },
    { type: 'agent.text', payload: { content: [{ type: 'file', ...file }] } },
  ],
  ['agent.info', { kind: 'retry', reason: 'busy' }, undefined],
  ['session.status_idle', end('end_turn'), undefined],
  ['session.status_idle', end('interrupt'), { type: 'error', payload: { stopReason: 'interrupt' } }],
  [
    'session.status_idle',
    end('error', 'LOST'),
    { type: 'error', payload: { stopReason: 'error', code: 'LOST' } },
  ],
  ['run.finished', end('end_turn'), undefined],
  ['run.finished', end('interrupt'), { type: 'error', payload: { stopReason: 'interrupt' } }],
  ['error', { code: 'LOST' }, { type: 'error', payload: { code: 'LOST' } }],
  ['notification', {}, undefined],
  ['user.interrupt', {}, undefined],
  ['session.status_running', {}, undefined],
  ['execution.cost', { cost: 1 }, undefined],
  ['execution.result', { summary: 'Done.' }, undefined],
  ['span.model_request_end', {}, undefined],
])('%s of %j', (type, payload, turn) => {
  const found = turnOf(type, JSON.stringify(payload))
  expect(found && { ...found, payload: JSON.parse(found.payload) }).toEqual(turn)
})

test('every event that can be a turn is still one after it was erased', () => {
  const types = turnEvents.map((type) => turnOf(type, '{"redacted":true}')?.type)
  expect(types).toEqual([
    'user.message',
    'agent.text',
    'agent.text',
    'agent.thinking',
    'tool.call',
    'tool.result',
    'error',
    'error',
    'error',
  ])
  const known = Object.keys({ ...executionEventPayloads, ...threadEventPayloads })
  expect(known).toEqual(expect.arrayContaining([...turnEvents]))
})
