import { describe, expect, test } from 'vitest'
import { BlockFold, type OutputBlock } from './blocks.ts'

type Told = [type: string, payload: unknown]

function fold(...log: Told[]): OutputBlock[] {
  const blocks = new BlockFold()
  log.forEach(([type, payload], index) => {
    blocks.add({ sequence: index + 1, type, payload: JSON.stringify(payload) })
  })
  return blocks.blocks
}

const says = (...content: unknown[]): Told => ['agent.message', { content }]
const uses = (toolUseId: string, tool = 'bash'): Told => [
  'agent.tool_use',
  { name: tool, tool, label: `Use ${tool}`, toolUseId },
]
const gets = (toolUseId: string, isError = false): Told => [
  'agent.tool_result',
  { toolUseId, isError, summary: 'not shown' },
]
const ends = (type: string, code?: string): Told => [
  'session.status_idle',
  { stop_reason: { type, ...(code ? { code } : {}) } },
]

test('an empty log has no blocks', () => {
  expect(fold()).toEqual([])
})

test('what nobody has to read is left out', () => {
  const quiet: Told[] = [
    ['user.message', { content: [{ type: 'text', text: 'Go.' }] }],
    ['session.status_running', {}],
    ['agent.thinking', {}],
    ['span.model_request_end', { usage: { input_tokens: 1, output_tokens: 1 } }],
    ['execution.cost', { cost: 1 }],
    ['execution.result', { summary: 'Done.', cost: 1, tokenUsage: { inputTokens: 1, outputTokens: 1 } }],
    ['user.interrupt', {}],
    ['agent.info', { kind: 'retry', attempt: 1 }],
    ['something.new', { content: [{ type: 'text', text: 'Unknown.' }] }],
    ends('end_turn'),
  ]
  expect(fold(...quiet)).toEqual([])
})

test('every text of a message is a block, under the number of the message', () => {
  const message = says({ type: 'text', text: 'One.' }, { type: 'image' }, { type: 'text', text: 'Two.' })
  expect(fold(['agent.thinking', {}], message, says())).toEqual([
    { sequence: 2, type: 'text', text: 'One.' },
    { sequence: 2, type: 'text', text: 'Two.' },
  ])
})

describe('a tool', () => {
  const block = (sequence: number, status: string, name = 'bash') => ({
    sequence,
    type: 'tool',
    name,
    label: `Use ${name}`,
    status,
  })

  test('runs until its result is there, and stays where it began', () => {
    expect(fold(uses('a'))).toEqual([block(1, 'running')])
    expect(fold(uses('a'), says({ type: 'text', text: 'Meanwhile.' }), gets('a'))).toEqual([
      block(1, 'success'),
      { sequence: 2, type: 'text', text: 'Meanwhile.' },
    ])
  })

  test('is told from others by its id', () => {
    const log = [uses('a'), uses('b', 'read_file'), gets('b', true), gets('a')]
    expect(fold(...log)).toEqual([block(1, 'success'), block(2, 'error', 'read_file')])
  })

  test('without a result has failed when the run is over', () => {
    const blocks = fold(uses('a'), gets('a'), uses('b'), ends('interrupt'))
    expect(blocks.slice(0, 2)).toEqual([block(1, 'success'), block(3, 'error')])
  })

  test('whose beginning was not told is nothing', () => {
    expect(fold(gets('never-used'))).toEqual([])
  })
})

test('files and data are blocks of their own', () => {
  const file = { name: 'a.csv', mimeType: 'text/csv', sizeBytes: 3, url: '/api/v1/artifacts/x/content' }
  const log: Told[] = [
    ['agent.info', { kind: 'file', artifactId: 'x', ...file }],
    ['agent.info', { kind: 'json', data: { total: 3 } }],
  ]
  expect(fold(...log)).toEqual([
    { sequence: 1, type: 'file', ...file },
    { sequence: 2, type: 'json', data: { total: 3 } },
  ])
})

test.each([
  ['interrupt', undefined, 'interrupt', /canceled/],
  ['limit_reached', undefined, 'limit_reached', /maxCost/],
  ['limit_reached', 'KEY_SPEND_LIMIT', 'KEY_SPEND_LIMIT', /spend limit/],
  ['error', 'EXECUTION_TIMEOUT', 'EXECUTION_TIMEOUT', /65 minutes/],
  ['error', 'SOMETHING_NEW', 'SOMETHING_NEW', /failed/],
  ['error', undefined, 'error', /failed/],
])('an end by %s (%s) says why', (type, code, told, message) => {
  expect(fold(says({ type: 'text', text: 'Working.' }), ends(type, code))).toEqual([
    { sequence: 1, type: 'text', text: 'Working.' },
    { sequence: 2, type: 'error', code: told, message: expect.stringMatching(message) },
  ])
})
