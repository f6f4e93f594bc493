import ts from 'typescript'

/**
 * Places in a source where a body or a query is taken as a whole set of fields: spread, destructured with a rest,
 * assigned or listed by its entries. What is in such a set was named by whoever sent the request.
 */
export function findBodySpreads(fileName: string, text: string): string[] {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true)
  const found: string[] = []
  const tell = (node: ts.Node, what: string) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart())
    found.push(`${fileName}:${line + 1} ${what}: ${node.getText().split('\n')[0]}`)
  }
  const visit = (node: ts.Node, known: ReadonlySet<string>): void => {
    const names = isFunction(node) ? withNamesOf(node, known) : known
    if (ts.isSpreadAssignment(node) && isSent(node.expression, names)) tell(node, 'spread')
    if (ts.isObjectBindingPattern(node) && hasRest(node) && bindsSent(node, names)) tell(node, 'rest')
    if (ts.isCallExpression(node)) {
      const callee = node.expression.getText()
      const isTaken = (argument: ts.Expression) => isSent(argument, names)
      if (callee === 'Object.assign' && node.arguments.some(isTaken)) tell(node, 'assigned')
      const listed = callee === 'Object.entries' && node.arguments[0]
      if (listed && ts.isIdentifier(listed) && isTaken(listed)) tell(node, 'entries')
    }
    ts.forEachChild(node, (child) => visit(child, names))
  }
  visit(source, new Set(['body', 'query']))
  return found
}

function isFunction(node: ts.Node): node is ts.FunctionLikeDeclaration {
  return ts.isFunctionLike(node) && 'body' in node
}

/** A name that a function gives to a body, or to a part of one, is a body's name inside of it. */
function withNamesOf(node: ts.FunctionLikeDeclaration, known: ReadonlySet<string>): ReadonlySet<string> {
  const names = new Set(known)
  for (const { type, name } of node.parameters) if (type && isBodyType(type)) addNames(name, names)
  const look = (inner: ts.Node): void => {
    if (isFunction(inner)) return
    if (ts.isVariableDeclaration(inner) && inner.initializer && isSent(inner.initializer, names)) {
      addNames(inner.name, names)
    }
    ts.forEachChild(inner, look)
  }
  if (node.body) ts.forEachChild(node.body, look)
  return names
}

function addNames(binding: ts.BindingName, names: Set<string>): void {
  if (ts.isIdentifier(binding)) names.add(binding.text)
  else for (const element of binding.elements) if (ts.isBindingElement(element)) addNames(element.name, names)
}

function isBodyType(type: ts.TypeNode): boolean {
  return /\b(BodyOf|QueryOf)</.test(type.getText())
}

function hasRest(pattern: ts.ObjectBindingPattern): boolean {
  return pattern.elements.some(({ dotDotDotToken }) => dotDotDotToken !== undefined)
}

function bindsSent(pattern: ts.ObjectBindingPattern, names: ReadonlySet<string>): boolean {
  const { parent } = pattern
  if (ts.isVariableDeclaration(parent)) return !!parent.initializer && isSent(parent.initializer, names)
  if (ts.isParameter(parent)) return !!parent.type && isBodyType(parent.type)
  if (!ts.isBindingElement(parent)) return false
  const property = parent.propertyName?.getText()
  if (property === 'body' || property === 'query') return true
  return ts.isObjectBindingPattern(parent.parent) && bindsSent(parent.parent, names)
}

/** Whether an expression may be a body or a part of one. An object that names what it takes is not. */
function isSent(node: ts.Expression, names: ReadonlySet<string>): boolean {
  if (ts.isIdentifier(node)) return names.has(node.text)
  if (ts.isPropertyAccessExpression(node)) {
    return ['body', 'query'].includes(node.name.text) || isSent(node.expression, names)
  }
  if (ts.isElementAccessExpression(node)) return isSent(node.expression, names)
  if (ts.isConditionalExpression(node)) return isSent(node.whenTrue, names) || isSent(node.whenFalse, names)
  if (ts.isBinaryExpression(node)) return resultsOf(node).some((result) => isSent(result, names))
  if (
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isAwaitExpression(node)
  )
    return isSent(node.expression, names)
  return false
}

function resultsOf({ left, right, operatorToken }: ts.BinaryExpression): ts.Expression[] {
  switch (operatorToken.kind) {
    case ts.SyntaxKind.AmpersandAmpersandToken:
      return [right]
    case ts.SyntaxKind.BarBarToken:
    case ts.SyntaxKind.QuestionQuestionToken:
      return [left, right]
    default:
      return []
  }
}
