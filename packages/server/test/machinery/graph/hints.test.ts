import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compileDefinition } from '#machinery/graph/graph.ts'
import { hints } from '#machinery/graph/hints.ts'
import { references } from './stub-tools.ts'

const source = join(import.meta.dirname, '../../../src/machinery/graph')

/** What the validator says, as it stands in its source: each code is a text of its own there. */
function codesSaid(): Set<string> {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && file !== 'hints.ts',
  )
  const said = new Set<string>()
  for (const file of files) {
    const text = readFileSync(join(source, file), 'utf8')
    for (const [, code = ''] of text.matchAll(/'([a-z]+(?:-[a-z]+)+)'/g)) said.add(code)
  }
  return said
}

test('every code that the validator says has a hint, and no hint is for a code that nobody says', () => {
  const said = codesSaid()
  // The type of a code is made of the hints, so one without a hint does not compile.
  expect(Object.keys(hints).filter((code) => !said.has(code))).toEqual([])
  expect(Object.keys(hints)).toHaveLength(40)
})

test.each(Object.entries(hints))('the hint of %s says what to write', (_code, hint) => {
  expect(hint).toMatch(/^[A-Z][^\n]{20,280}\.$/)
})

test('issues carry the hint of their code', () => {
  const { report } = compileDefinition(
    {
      id: 'Bad Id',
      inputSchema: {},
      outputSchema: {},
      graph: [
        { type: 'tool', id: 'say', toolId: 'nothing', args: {} },
        { type: 'parallel', steps: [{ type: 'mapping', id: 'm', mapConfig: '{}' }] },
      ],
    },
    { workspaceId: '00000000-0000-4000-8000-000000000000', references: references({}) },
  )
  expect(report?.issues.map(({ code, hint }) => [code, hint])).toEqual(
    ['invalid-workflow-id', 'args-not-allowed', 'unresolved-tool', 'invalid-map-placement'].map((code) => [
      code,
      hints[code as keyof typeof hints],
    ]),
  )
})

/** What the hints of conditions, mappings and graphs show is what a definition may hold. */
test('what a hint shows can be written', () => {
  const shown = (code: keyof typeof hints, pattern: RegExp) => pattern.exec(hints[code])?.[0] ?? ''
  const entry = JSON.parse(shown('empty-graph', /\{"type.*?"\{\}"\}/))
  const predicate = JSON.parse(shown('invalid-predicate', /\{"op":"eq".*?"a"\}\}/))
  const mapConfig = JSON.parse(shown('invalid-map-config', /"\{.*\}"/))
  const { workflow, report } = compileDefinition(
    {
      id: 'shown',
      inputSchema: {},
      outputSchema: {},
      graph: [
        entry,
        { type: 'mapping', id: 'asked', mapConfig },
        {
          type: 'conditional',
          steps: [{ type: 'tool', id: 'say', toolId: 'echo' }],
          predicates: [predicate],
        },
      ],
    },
    { workspaceId: '00000000-0000-4000-8000-000000000000', references: references({}) },
  )
  expect(report).toBeUndefined()
  expect(workflow?.id).toBe('shown')
})
