import ts from 'typescript'

/** Loops that catch a failure, wait, and go round again. */
export function findRetryLoops(fileName: string, text: string): string[] {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isIterationStatement(node, false) && within(node.statement, waitsInCatch)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart())
      found.push(`${fileName}:${line + 1}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function waitsInCatch(node: ts.Node): boolean {
  return ts.isCatchClause(node) && within(node.block, isPause)
}

function isPause(node: ts.Node): boolean {
  return ts.isAwaitExpression(node) && /\b(sleep|setTimeout|delay)\(/.test(node.getText())
}

function within(node: ts.Node, fits: (inner: ts.Node) => boolean): boolean {
  return fits(node) || (ts.forEachChild(node, (child) => within(child, fits)) ?? false)
}
