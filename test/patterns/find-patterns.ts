import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { type Routes, routes } from '@guildhall/contract'
import ts from 'typescript'

const root = join(import.meta.dirname, '../..')

export interface FoundPattern {
  readonly pattern: RegExp
  readonly at: string
}

/** Every regular expression that stands in a source file, and where patterns are built from text instead. */
export async function patternsInSources(): Promise<{ found: FoundPattern[]; built: string[] }> {
  const found: FoundPattern[] = []
  const built: string[] = []
  for await (const name of glob('packages/*/src/**/*.ts', { cwd: root })) {
    if (name.endsWith('.test.ts')) continue
    const file = ts.createSourceFile(
      name,
      readFileSync(join(root, name), 'utf8'),
      ts.ScriptTarget.Latest,
      true,
    )
    const place = (node: ts.Node) => `${name}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
    const visit = (node: ts.Node): void => {
      if (ts.isRegularExpressionLiteral(node))
        found.push({ pattern: readLiteral(node.text), at: place(node) })
      if (ts.isIdentifier(node) && node.text === 'RegExp' && !ts.isTypeReferenceNode(node.parent))
        built.push(place(node))
      ts.forEachChild(node, visit)
    }
    visit(file)
  }
  return { found, built }
}

function readLiteral(text: string): RegExp {
  const end = text.lastIndexOf('/')
  return new RegExp(text.slice(1, end), text.slice(end + 1))
}

/** Every pattern that a request's parts are validated by, as the validator compiles it. */
export function patternsInContract(): FoundPattern[] {
  const found: FoundPattern[] = []
  const visit = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, child] of Object.entries(value)) {
      if (key === 'pattern' && typeof child === 'string') found.push({ pattern: new RegExp(child, 'u'), at })
      if (key === 'patternProperties')
        for (const source of Object.keys(child as object))
          found.push({ pattern: new RegExp(source, 'u'), at })
      visit(child, `${at}.${key}`)
    }
  }
  for (const [name, { params, query, body }] of Object.entries<Routes[string]>(routes))
    visit({ params, query, body }, name)
  return found
}
