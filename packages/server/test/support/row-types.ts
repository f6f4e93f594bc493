import { join } from 'node:path'
import ts from 'typescript'

export interface ColumnShape {
  /** What a row holds there: `string`, `number[]`, `object` …; `unknown` fits anything. */
  readonly holds: string
  readonly nullable: boolean
}

/** The rows of each table as TypeScript sees them, from whatever `platform/tables.ts` says. */
export function readRowTypes(): Map<string, Map<string, ColumnShape>> {
  const folder = join(import.meta.dirname, '../../src/platform')
  const file = join(folder, 'row-types-of-a-test.ts')
  const text = `import type { Selectable } from 'kysely'
    import type { Tables } from './tables.ts'
    export type Rows = { [Table in keyof Tables]: Selectable<Tables[Table]> }`
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    skipLibCheck: true,
    types: ['node'],
  }
  const host = ts.createCompilerHost(options)
  const { readFile, fileExists } = host
  host.readFile = (path) => (path === file ? text : readFile(path))
  host.fileExists = (path) => path === file || fileExists(path)
  const program = ts.createProgram({ rootNames: [file], options, host })
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(file) as ts.SourceFile
  const rows = source.statements.find(ts.isTypeAliasDeclaration) as ts.TypeAliasDeclaration
  const propertiesOf = (type: ts.Type) =>
    checker.getPropertiesOfType(type).map((symbol) => [symbol.name, checker.getTypeOfSymbol(symbol)] as const)
  return new Map(
    propertiesOf(checker.getTypeAtLocation(rows.name)).map(([table, row]) => [
      table,
      new Map(propertiesOf(row).map(([column, type]) => [column, shapeOf(checker, type)])),
    ]),
  )
}

function shapeOf(checker: ts.TypeChecker, type: ts.Type): ColumnShape {
  const parts = type.isUnion() ? type.types : [type]
  const isNull = (part: ts.Type) => (part.flags & ts.TypeFlags.Null) !== 0
  const kinds = new Set(parts.filter((part) => !isNull(part)).map((part) => kindOf(checker, part)))
  return { holds: [...kinds].sort().join(' | '), nullable: parts.some(isNull) }
}

function kindOf(checker: ts.TypeChecker, type: ts.Type): string {
  if (type.flags & ts.TypeFlags.StringLike) return 'string'
  if (type.flags & ts.TypeFlags.NumberLike) return 'number'
  if (type.flags & ts.TypeFlags.BooleanLike) return 'boolean'
  if (type.flags & ts.TypeFlags.Unknown) return 'unknown'
  if (checker.isArrayType(type)) {
    const [item] = checker.getTypeArguments(type as ts.TypeReference)
    return item ? `${kindOf(checker, item)}[]` : 'unknown'
  }
  const name = type.symbol?.name
  return name === 'Buffer' || name === 'Date' ? name : 'object'
}
