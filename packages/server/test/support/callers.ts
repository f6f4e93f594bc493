import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '../../../..')

/**
 * Files that use a member of an interface, by whatever name the object goes where it is used: called, taken out of it,
 * or handed on. `planted` are further files, by their paths and texts.
 */
export function findUsers(
  files: readonly string[],
  { declaredIn, type, member }: { declaredIn: string; type: string; member: string },
  planted: Readonly<Record<string, string>> = {},
): string[] {
  const configFile = join(root, 'tsconfig.json')
  const { config } = ts.readConfigFile(configFile, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const host = ts.createCompilerHost(options, true)
  const { readFile, fileExists } = host
  const texts = new Map(Object.entries(planted).map(([path, text]) => [join(root, path), text]))
  host.readFile = (path) => texts.get(path) ?? readFile(path)
  host.fileExists = (path) => texts.has(path) || fileExists(path)
  const roots = [...files.map((path) => join(root, path)), ...texts.keys()]
  const program = ts.createProgram({ rootNames: roots, options, host })
  const checker = program.getTypeChecker()
  const isMember = (symbol: ts.Symbol | undefined): boolean =>
    (symbol?.declarations ?? []).some(
      ({ parent }) =>
        ts.isInterfaceDeclaration(parent) &&
        parent.name.text === type &&
        parent.getSourceFile().fileName === join(root, declaredIn),
    )
  /** What `a.name`, `a['name']`, `const { name } = a` and `const { name: other } = a` mean, where that is the name. */
  const symbolUsed = (node: ts.Node): ts.Symbol | undefined => {
    if (ts.isPropertyAccessExpression(node) && node.name.text === member)
      return checker.getSymbolAtLocation(node.name)
    if (ts.isElementAccessExpression(node)) {
      const { argumentExpression: argument } = node
      return ts.isStringLiteral(argument) && argument.text === member
        ? checker.getSymbolAtLocation(argument)
        : undefined
    }
    if (!ts.isBindingElement(node) || (node.propertyName ?? node.name).getText() !== member) return undefined
    return checker.getTypeAtLocation(node.parent).getProperty(member)
  }
  const uses = (node: ts.Node): boolean =>
    isMember(symbolUsed(node)) || (ts.forEachChild(node, uses) ?? false)
  return roots
    .filter((path) => uses(program.getSourceFile(path) as ts.SourceFile))
    .map((path) => path.slice(root.length + 1))
}
