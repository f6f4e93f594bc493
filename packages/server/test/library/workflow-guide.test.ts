import { afterAll, beforeAll, expect, test } from 'vitest'
import { guideExamples, workflowGuide } from '#library/workflows/guide.ts'
import { estimateTokens } from '#machinery/models/conversation.ts'
import { createToolbox } from '#machinery/tools/tools.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

let house: House
let person: Person

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase() })
  person = await house.newPerson()
})

afterAll(() => house.close())

const call = (method: string, path: string, body?: unknown) =>
  house.call(method, `/api/v1${path}`, { token: person.token, ...(body === undefined ? {} : { body }) })

const mostTokens = 1800

test('the guide tells all of the language, and what is here, in no more than its tokens', async () => {
  await call('POST', '/agents', { slug: 'translator' })
  const { status, body } = await call('GET', '/workflows/definitions/guide')
  expect(status).toBe(200)
  const { guide } = body
  expect(estimateTokens(guide)).toBeLessThanOrEqual(mostTokens)
  const entries = [
    'agent',
    'tool',
    'mapping',
    'sleep',
    'sleepUntil',
    'parallel',
    'conditional',
    'loop',
    'foreach',
  ]
  for (const type of entries) expect(guide).toContain(`"type":"${type}"`)
  for (const source of ['value', 'template', 'initData', 'step', 'requestContextPath'])
    expect(guide).toContain(`{"${source}":`)
  const operators = 'eq ne lt lte gt gte in notIn exists notExists truthy falsy and or not'.split(' ')
  const shown = [...guide.matchAll(/"op":"([^"]+)"/g)].flatMap(([, ops = '']) => ops.split('|'))
  expect([...new Set(shown)].sort()).toEqual(operators.sort())
  const impossible = guide.slice(guide.indexOf('## Not possible'), guide.indexOf('## Examples'))
  for (const one of ['cron', 'webhooks', 'nested', 'state', 'apps']) expect(impossible).toContain(one)
  for (const id of ['execute-skill', 'ask-human', 'request-approval', 'http-request', 'transform-json'])
    expect(guide).toContain(`- ${id} {`)
  expect(guide).toContain('translator')
})

test.each(guideExamples('assistant'))('the example "$says" is valid here', async ({ definition }) => {
  const { body } = await call('POST', '/workflows/validate', definition)
  expect(body).toEqual({ valid: true, issues: [] })
})

test('many agents and many tools make it shorter in what it says of them, and not longer', () => {
  const { config, outbound } = house.deps
  const toolbox = createToolbox({ config, outbound })
  const own = toolbox.ids().flatMap((id) => toolbox.find(id) ?? [])
  const agents = Array.from({ length: 500 }, (_, index) => `agent-number-${index}`)
  for (const count of [0, 5, 20, 300]) {
    const added = Array.from({ length: count }, (_, index) => ({
      id: `tool-number-${index}`,
      description: 'Finds an order by its number.',
      inputSchema: { type: 'object', properties: { number: { type: 'string' } }, required: ['number'] },
    }))
    const guide = workflowGuide([...own, ...added], agents)
    expect(estimateTokens(guide)).toBeLessThanOrEqual(mostTokens)
    expect(guide).toContain('http-request')
    expect(guide).toContain('agent-number-0')
  }
})
