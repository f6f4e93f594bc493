import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import type { Requirement } from './requirements.ts'

export interface Citation {
  id: string
  /** The test cannot run against a deployment given by its address alone. */
  stackOnly: boolean
  place: string
}

const declarators = ['test', 'stackOnly']
const root = fileURLToPath(new URL('.', import.meta.url))

export function readCitations(): { citations: Citation[]; problems: string[] } {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.test.ts'),
  )
  const found = files.map((file) => findCitations(file, readFileSync(join(root, file), 'utf8')))
  return {
    citations: found.flatMap(({ citations }) => citations),
    problems: found.flatMap(({ problems }) => problems),
  }
}

/**
 * The calls of `verifies` in a test file. Read from the syntax tree, so that a call in a comment, a string, or
 * outside of a test does not count as one.
 */
export function findCitations(file: string, text: string): { citations: Citation[]; problems: string[] } {
  const citations: Citation[] = []
  const problems: string[] = []
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText() === 'verifies') {
      const place = `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
      const declarator = declaratorOf(node)
      if (!declarator) problems.push(`${place}: verifies() is not the first statement of a test`)
      for (const argument of node.arguments) {
        if (!ts.isStringLiteral(argument)) problems.push(`${place}: verifies() takes literal ids only`)
        else if (declarator) {
          citations.push({ id: argument.text, stackOnly: declarator === 'stackOnly', place })
        }
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return { citations, problems }
}

/** `test` in test('…', () => { verifies(…) }) and in test.each(…)('…', …); undefined where there is no such. */
function declaratorOf(call: ts.CallExpression): string | undefined {
  const statement = call.parent
  const body = statement.parent
  const callback = body.parent
  if (!ts.isExpressionStatement(statement) || !ts.isBlock(body) || body.statements[0] !== statement)
    return undefined
  if (!ts.isArrowFunction(callback) || !ts.isCallExpression(callback.parent)) return undefined
  const name = /^\w+/.exec(callback.parent.expression.getText())?.[0]
  return name !== undefined && declarators.includes(name) ? name : undefined
}

/** Everything in which the manifest and the tests disagree. */
export function findProblems(requirements: readonly Requirement[], citations: readonly Citation[]): string[] {
  const problems: string[] = []
  const known = new Set<string>()
  for (const { id, area } of requirements) {
    if (known.has(id)) problems.push(`${id}: stands twice in the manifest`)
    if (!id.startsWith(`${area}:`)) problems.push(`${id}: its area is ${area}`)
    known.add(id)
  }
  for (const { id, place } of citations) {
    if (!known.has(id)) problems.push(`${id}: cited in ${place} but no such rule exists`)
  }
  for (const { id, pending, needs } of requirements) {
    const cited = citations.filter((citation) => citation.id === id)
    if (pending && cited[0]) problems.push(`${id}: pending, yet cited in ${cited[0].place}`)
    if (!pending && !cited[0]) problems.push(`${id}: not pending, yet no test cites it`)
    if (pending || !cited[0]) continue
    const outsideStack = cited.some((citation) => !citation.stackOnly)
    const inStack = cited.some((citation) => citation.stackOnly)
    if (!needs && !outsideStack)
      problems.push(`${id}: needs nothing but HTTP, yet only stackOnly tests cite it`)
    if (needs && !inStack) problems.push(`${id}: needs a ${needs}, yet no stackOnly test cites it`)
  }
  return problems
}
