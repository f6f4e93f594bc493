import ts from 'typescript'

const clocks = /\b(performance\.now|Date\.now|process\.(hrtime|cpuUsage|resourceUsage)|threadCpuUsage)\b/
const upperBounds = new Set(['toBeLessThan', 'toBeLessThanOrEqual'])
const lowerBounds = new Set(['toBeGreaterThan', 'toBeGreaterThanOrEqual'])
/** Of an answer only how long it took is a span, and of a list what is still one. */
const carriesSpan = /(ms|seconds|took|p\d\d)$|^(at|slice|sort|toSorted|filter|map|reduce)$/i
/** What a function of another file gives back is a span when it is called so. */
const namesSpan = /(Ms|Seconds|took|p\d\d)$/
/** A limit of the gate is there for what never comes. A shorter one judges how quick the machine is. */
const leastPatienceMs = 10_000

/**
 * Where a test says that something must not take longer than so long. Followed are names and functions of the same
 * file: a time that was taken, a difference with one, and what is made of such a difference.
 */
export function findClockJudges(fileName: string, text: string): string[] {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true)
  const known = spansIn(source)
  const found: string[] = []
  const tell = (node: ts.Node) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart())
    found.push(`${fileName}:${line + 1}`)
  }
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && (judgesSpan(node, known) || isImpatient(node))) tell(node)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return [...new Set(found)]
}

interface Known {
  /** Declarations of moments: `const begun = performance.now()`. */
  readonly moments: Set<ts.Node>
  /** Declarations of spans, and of functions that give them. */
  readonly spans: Set<ts.Node>
}

function spansIn(source: ts.SourceFile): Known {
  const known: Known = { moments: new Set(), spans: new Set() }
  const learn = (node: ts.Node): void => {
    const [filled, by] = filledBy(node) ?? []
    if (filled !== undefined && by !== undefined && containsSpan(by, known)) known.spans.add(filled)
    if (ts.isBindingElement(node) && namesSpan.test(node.name.getText())) known.spans.add(node)
    const value = worthOf(node)
    if (value !== undefined && containsSpan(value, known)) known.spans.add(node)
    else if (value !== undefined && ts.isVariableDeclaration(node) && isMoment(value, known))
      known.moments.add(node)
    ts.forEachChild(node, learn)
  }
  // Functions may stand below their callers, and call each other.
  for (let round = 0; round < 3; round++) learn(source)
  return known
}

/** `times.push(took)`, `slowest = took`, `slowest.ms = took`: what gets something later, and what it gets. */
function filledBy(node: ts.Node): [ts.Node | undefined, ts.Node | undefined] | undefined {
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression))
    return node.expression.name.text === 'push'
      ? [declarationOfRoot(node.expression.expression), node.arguments[0]]
      : undefined
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken)
    return [declarationOfRoot(node.left), node.right]
  return undefined
}

function declarationOfRoot(node: ts.Node): ts.Node | undefined {
  if (ts.isPropertyAccessExpression(node)) return declarationOfRoot(node.expression)
  return ts.isIdentifier(node) ? declarationOf(node) : undefined
}

/** What a declaration stands for. A function is worth what it gives back. */
function worthOf(node: ts.Node): ts.Node | undefined {
  if (ts.isVariableDeclaration(node)) return node.initializer
  return ts.isFunctionDeclaration(node) ? givenBackBy(node) : undefined
}

function givenBackBy(made: ts.SignatureDeclaration): ts.Node | undefined {
  if (ts.isArrowFunction(made) && !ts.isBlock(made.body)) return made.body
  let found: ts.Node | undefined
  const visit = (node: ts.Node): void => {
    if (ts.isReturnStatement(node)) found = node.expression
    else if (!ts.isFunctionLike(node) || node === made) ts.forEachChild(node, visit)
  }
  visit(made)
  return found
}

function containsSpan(node: ts.Node, known: Known): boolean {
  if (ts.isFunctionLike(node)) {
    const value = givenBackBy(node)
    return value !== undefined && containsSpan(value, known)
  }
  if (ts.isIdentifier(node)) return known.spans.has(declarationOf(node) ?? node)
  if (ts.isPropertyAccessExpression(node))
    return carriesSpan.test(node.name.text) && containsSpan(node.expression, known)
  if (
    ts.isBinaryExpression(node) &&
    node.operatorToken.kind === ts.SyntaxKind.MinusToken &&
    (isMoment(node.left, known) || isMoment(node.right, known))
  )
    return true
  return ts.forEachChild(node, (child) => (containsSpan(child, known) ? true : undefined)) ?? false
}

function isMoment(node: ts.Node, known: Known): boolean {
  if (ts.isFunctionLike(node)) return false
  if (ts.isIdentifier(node)) return known.moments.has(declarationOf(node) ?? node)
  if (ts.isPropertyAccessExpression(node) && clocks.test(node.getText())) return true
  return ts.forEachChild(node, (child) => (isMoment(child, known) ? true : undefined)) ?? false
}

/** The names that a declaration makes, each with where it stands. */
function boundBy(declaration: ts.VariableDeclaration | ts.BindingElement): (typeof declaration)[] {
  if (ts.isIdentifier(declaration.name)) return [declaration]
  return declaration.name.elements.flatMap((element) =>
    ts.isBindingElement(element) ? boundBy(element) : [],
  )
}

/** The nearest declaration of a name, upwards. */
function declarationOf(name: ts.Identifier): ts.Node | undefined {
  for (let scope: ts.Node = name.parent; scope !== undefined; scope = scope.parent) {
    if (ts.isFunctionLike(scope)) {
      const parameter = scope.parameters.find((one) => one.name.getText() === name.text)
      if (parameter !== undefined) return parameter
    }
    const declared =
      ts.isBlock(scope) || ts.isSourceFile(scope) ? declaredIn(scope).get(name.text) : undefined
    if (declared !== undefined) return declared
  }
  return undefined
}

const ofScopes = new WeakMap<ts.Node, Map<string, ts.Node>>()

/** Its names; every name of a file is asked for many times. */
function declaredIn(scope: ts.Block | ts.SourceFile): Map<string, ts.Node> {
  const known = ofScopes.get(scope)
  if (known) return known
  const names = new Map<string, ts.Node>()
  const add = (name: string | undefined, node: ts.Node) => name && !names.has(name) && names.set(name, node)
  for (const statement of scope.statements) {
    if (ts.isVariableStatement(statement))
      for (const one of statement.declarationList.declarations.flatMap(boundBy)) add(one.name.getText(), one)
    else if (ts.isFunctionDeclaration(statement)) add(statement.name?.text, statement)
  }
  ofScopes.set(scope, names)
  return names
}

/** `expect(span).toBeLessThan(…)`, `expect(…).toBeGreaterThan(span)`, `expect(span < …)`. */
function judgesSpan(call: ts.CallExpression, known: Known): boolean {
  const matcher = ts.isPropertyAccessExpression(call.expression) ? call.expression.name.text : undefined
  if (matcher === undefined) {
    const [first] = call.arguments
    return (
      call.expression.getText() === 'expect' &&
      first !== undefined &&
      ts.isBinaryExpression(first) &&
      compares.has(first.operatorToken.kind) &&
      (containsSpan(first.left, known) || containsSpan(first.right, known))
    )
  }
  const judged = expected(call)
  if (judged === undefined) return false
  const bounds = isDenied(call) ? lowerBounds : upperBounds
  if (matcher === 'toBeCloseTo' || bounds.has(matcher)) return containsSpan(judged, known)
  const [bound] = call.arguments
  return lowerBounds.has(matcher) && bound !== undefined && containsSpan(bound, known)
}

const compares = new Set([
  ts.SyntaxKind.LessThanToken,
  ts.SyntaxKind.LessThanEqualsToken,
  ts.SyntaxKind.GreaterThanToken,
  ts.SyntaxKind.GreaterThanEqualsToken,
])

/** `expect(span).not.toBeGreaterThan(…)`. */
function isDenied({ expression }: ts.CallExpression): boolean {
  return (
    ts.isPropertyAccessExpression(expression) &&
    ts.isPropertyAccessExpression(expression.expression) &&
    expression.expression.name.text === 'not'
  )
}

/** What stands in `expect(…)` at the beginning of a chain. */
function expected(call: ts.CallExpression): ts.Expression | undefined {
  let node: ts.Expression = call.expression
  while (ts.isPropertyAccessExpression(node)) node = node.expression
  return ts.isCallExpression(node) && node.expression.getText() === 'expect' ? node.arguments[0] : undefined
}

/** `expect.poll(…, { timeout: 2000 })`. What `until` is given is made patient by itself. */
function isImpatient(call: ts.CallExpression): boolean {
  const name = call.expression.getText()
  if (!['expect.poll', 'vi.waitFor', 'vi.waitUntil'].includes(name)) return false
  const limit = call.arguments[1]
  if (limit === undefined || !ts.isObjectLiteralExpression(limit)) return false
  return limit.properties.some(
    (property) =>
      ts.isPropertyAssignment(property) &&
      property.name.getText() === 'timeout' &&
      ts.isNumericLiteral(property.initializer) &&
      Number(property.initializer.text) < leastPatienceMs,
  )
}
