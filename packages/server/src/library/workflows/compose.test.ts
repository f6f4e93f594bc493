import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compileDefinition } from '#machinery/graph/graph.ts'
import { createToolbox } from '#machinery/tools/tools.ts'
import { composeStep } from '../../../../../stack/model-endpoint/compose/compose.ts'
import { type RequestName, requests } from '../../../../../stack/model-endpoint/compose/requests.ts'
import { impossibleDrafts, wrongDrafts } from '../../../../../stack/model-endpoint/compose/wrong-drafts.ts'
import type { Turn } from '../../../../../stack/model-endpoint/protocol.ts'
import { workflowGuide } from './guide.ts'

/**
 * The stand-in for a model composes with nothing but our guide and our hints. What it makes is tried for real in
 * test/compose; here is shown that it could not do without any of them.
 */
const toolbox = createToolbox({
  config: {
    devTools: false,
    httpToolAllow: [],
    toolsModule: join(import.meta.dirname, '../../../../../test/compose/tools.ts'),
    transformTimeoutMs: 1000,
  },
  outbound: { publicOnly: true } as never,
})
const guide = workflowGuide(
  toolbox.ids().flatMap((id) => toolbox.find(id) ?? []),
  ['assistant'],
)

interface Told {
  guide?: string
  /** The issue whose hint says nothing. */
  mute?: string
}

interface Composed {
  installed: boolean
  said: string | undefined
  /** Of all issues that it was told. */
  codes: string[]
}

function compose(name: RequestName, told: Told = {}): Composed {
  const turns: Turn[] = [{ role: 'user', text: requests[name] }]
  const codes: string[] = []
  let installed = false
  for (;;) {
    const request = {
      model: 'm',
      turns,
      tools: ['workflow_guide'],
      maxTokens: 1,
      schema: undefined,
      stream: false,
    }
    const step = composeStep(request)
    const [use] = step?.tools ?? []
    if (!use) return { installed, said: step?.say, codes }
    const { definition } = use.input as { definition?: object }
    let output = '{}'
    if (use.name === 'workflow_guide') output = told.guide ?? guide
    else if (use.name === 'validate_workflow') {
      const issues = issuesOf(definition)
      codes.push(...issues.map(({ code }) => code))
      const shown = issues.map((issue) =>
        issue.code === told.mute ? { ...issue, hint: 'Correct it.' } : issue,
      )
      output = JSON.stringify({ valid: issues.length === 0, issues: shown })
    } else if (use.name === 'install_workflow') installed = issuesOf(definition).length === 0
    turns.push({ role: 'assistant' }, { role: 'tool', outputs: [output] })
  }
}

function issuesOf(definition: unknown) {
  const { report } = compileDefinition(JSON.stringify(definition), {
    workspaceId: '0198c1f2-7c00-7000-8000-000000000001',
    references: { findTool: (id) => toolbox.find(id), hasAgent: (slug) => slug === 'assistant' },
  })
  return report?.issues ?? []
}

const names = Object.keys(requests) as RequestName[]
const wrong = Object.keys(wrongDrafts) as RequestName[]
const impossible = Object.keys(impossibleDrafts) as RequestName[]
const plain = names.filter((name) => !wrong.includes(name) && !impossible.includes(name))

test('25 requests are plain, 10 are drafted wrongly at first, 5 cannot be done', () => {
  expect([plain.length, wrong.length, impossible.length]).toEqual([25, 10, 5])
})

test.each(plain)('%s is sound at once', (name) => {
  expect(compose(name)).toMatchObject({ installed: true, codes: [] })
})

describe.each(wrong)('%s', (name) => {
  const { installed, codes } = compose(name)

  test('is mended', () => {
    expect(installed).toBe(true)
    expect(codes).not.toEqual([])
  })

  test.each([...new Set(codes)])('needs the hint on %s', (mute) => {
    expect(compose(name, { mute })).toMatchObject({
      installed: false,
      said: expect.stringContaining('Correct it.'),
    })
  })
})

test.each(impossible)('%s is declined, as long as the guide says so', (name) => {
  expect(compose(name)).toMatchObject({ installed: false, said: expect.stringContaining('cannot be done') })
  const silent = guide.replace('## Not possible: decline and say why', '## Other things')
  expect(compose(name, { guide: silent }).installed).toBe(true)
})

const taught = [
  ...['mapping', 'tool', 'agent', 'sleep', 'sleepUntil'].map((type) => `"type":"${type}"`),
  ...['value', 'template', 'initData', 'step', 'requestContextPath'].map((source) => `{"${source}":`),
  ...toolbox.ids().map((id) => `- ${id} `),
  '"op":"eq|ne|lt|lte|gt|gte"',
  '"op":"truthy|falsy"',
  '"op":"not"',
  'assistant',
]

test.each(taught)('without %s in the guide not all can be composed', (words) => {
  const poorer = guide.replaceAll(words, '…')
  expect(poorer).not.toBe(guide)
  const failed = [...plain, ...wrong].filter((name) => !compose(name, { guide: poorer }).installed)
  expect(failed).not.toEqual([])
})
