import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const source = join(import.meta.dirname, '../../src')

/** Every name that a field of any options, input or row has in the server's source, with what its type says it is. */
export function listOptionNames(): Map<string, string> {
  const names = new Map<string, string>()
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))) {
    const text = readFileSync(join(source, file), 'utf8')
    const visit = (node: ts.Node): void => {
      const isField = ts.isPropertySignature(node) || ts.isMethodSignature(node)
      if (isField && ts.isIdentifier(node.name)) names.set(node.name.text, node.type?.getText() ?? '')
      ts.forEachChild(node, visit)
    }
    visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true))
  }
  return names
}
