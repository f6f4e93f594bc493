import ts from 'typescript'

export interface TableUse {
  readonly table: string
  readonly writes: boolean
  readonly line: number
}

const readingCalls =
  /^(selectFrom|from|using|innerJoin|leftJoin|rightJoin|fullJoin|(inner|left|cross)JoinLateral|crossJoin)$/
const writingCalls = /^(insertInto|updateTable|deleteFrom|replaceInto|mergeInto)$/
const statement = /\b(select|insert\s+into|update|delete\s+from|from|join)\b/i
const writingWords = /\b(?:insert\s+into|update|delete\s+from|truncate|merge\s+into)\s+(?:only\s+)?(\w+)/gi

/**
 * The tables that a source names, by the query builder or in the text of a statement. Text counts where it reads like
 * SQL; there every word that is a table's name is one, so that a join by a comma or in a subquery is not missed.
 */
export function findTableUses(fileName: string, text: string, tables: ReadonlySet<string>): TableUse[] {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true)
  const found: TableUse[] = []
  const tell = (node: ts.Node, name: string | undefined, writes: boolean) => {
    if (name === undefined || !tables.has(name)) return
    found.push({
      table: name,
      writes,
      line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1,
    })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const method = node.expression.name.text
      const writes = writingCalls.test(method)
      if (writes || readingCalls.test(method)) {
        for (const name of namesIn(node.arguments[0])) tell(node, name, writes)
      }
    }
    for (const name of logTablesIn(node)) tell(node, name, true)
    const sqlText = textOf(node)
    if (sqlText !== undefined && statement.test(sqlText)) {
      const written = new Set([...sqlText.matchAll(writingWords)].map(([, name]) => name))
      for (const name of new Set(sqlText.match(/\w+/g))) tell(node, name, written.has(name))
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** Statements on a log are built from its description. */
function logTablesIn(node: ts.Node): string[] {
  if (!ts.isCallExpression(node) || node.expression.getText() !== 'createLog') return []
  const [description] = node.arguments
  if (!description || !ts.isObjectLiteralExpression(description)) return []
  return description.properties.flatMap((property) =>
    ts.isPropertyAssignment(property) &&
    /^(table|counters)$/.test(property.name.getText()) &&
    ts.isStringLiteralLike(property.initializer)
      ? [property.initializer.text]
      : [],
  )
}

/** `'grants'`, `'grants as g'`, or a list of such. */
function namesIn(argument: ts.Expression | undefined): (string | undefined)[] {
  if (!argument) return []
  if (ts.isArrayLiteralExpression(argument)) return argument.elements.flatMap(namesIn)
  return ts.isStringLiteralLike(argument) ? [argument.text.trim().split(/\s/)[0]] : []
}

/** A template with its gaps closed, when it is tagged as SQL or begins like a statement. Sentences to people do not. */
function textOf(node: ts.Node): string | undefined {
  if (!ts.isTemplateExpression(node) && !ts.isStringLiteralLike(node)) return undefined
  const text = ts.isTemplateExpression(node)
    ? [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join(' ? ')
    : node.text
  const { parent } = node
  const isTagged = ts.isTaggedTemplateExpression(parent) && parent.tag.getText().startsWith('sql')
  return isTagged || /^\s*(select|insert|update|delete|with)\s/i.test(text) ? text : undefined
}
