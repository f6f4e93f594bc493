import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { routes, unusual } from '@guildhall/contract'
import { openApiDocument } from '@guildhall/contract/openapi'
import { type Described, type Document, describe } from './sdk/operations.ts'
import { classOf, fileOf, printResource } from './sdk/resources.ts'
import { doc, recordsIn, TypePrinter } from './sdk/types.ts'

/**
 * Prints the contract as the SDK's types, operations and resources; with `--check` only says whether the files are up
 * to date. The SDK itself imports nothing of the contract: what it needs of it is in these files.
 */
const folder = new URL('../packages/sdk/src/generated/', import.meta.url)
const heading = '// Printed from the contract by "npm run sdk". Do not edit.\n'
const files = await printAll()

if (process.argv.includes('--check')) check()
else {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const [name, content] of files) writeFileSync(new URL(name, folder), content)
}

async function printAll(): Promise<ReadonlyMap<string, string>> {
  const document = openApiDocument(routes, '') as unknown as Document
  const operations = Object.entries(routes).map(([name, route]) => describe(name, route, document))
  const printed: [string, string][] = [['records.ts', printRecords(operations, document)]]
  const resources = Map.groupBy(operations, ({ route }) => route.resource)
  const types = printerOf(operations, document)
  for (const [resource, members] of resources) {
    printed.push([
      `${fileOf(resource)}.ts`,
      printResource(classOf(resource, document.components.schemas), members, types),
    ])
  }
  printed.push(['table.ts', printTable([...resources.keys()])])
  printed.push(['text.ts', printText()])
  return new Map(
    await Promise.all(printed.map(async ([name, content]) => [name, await format(content)] as const)),
  )
}

function printerOf(operations: readonly Described[], { components }: Document): TypePrinter {
  const sent = new Set<string>()
  for (const { query, body } of operations) {
    for (const schema of [query, body]) if (schema) recordsIn(schema, components.schemas, sent)
  }
  return new TypePrinter(components.schemas, sent)
}

/** The records that operations and streams name; the rest of the document are refusals and other protocols. */
function printRecords(operations: readonly Described[], document: Document): string {
  const { schemas } = document.components
  const used = new Set(['ErrorCode'])
  for (const { query, body, answers } of operations) {
    for (const schema of [query, body, ...answers]) if (schema) recordsIn(schema, schemas, used)
  }
  for (const name of ['ExecutionStreamEvent', 'ThreadStreamEvent', 'RunStreamEvent', 'LiveEvent']) {
    recordsIn({ $ref: `#/components/schemas/${name}` }, schemas, used)
  }
  const types = printerOf(operations, document)
  return [
    heading,
    doc(['One of these today; a later server may say something else.']) +
      'export type Open<T extends string> = T | (string & {})\n',
    ...[...used].sort().map((name) => types.record(name)),
  ].join('\n')
}

/** Every operation, for whoever calls by name. */
function printTable(resources: readonly string[]): string {
  return [
    heading,
    ...resources.toSorted().map((resource) => `export * from './${fileOf(resource)}.ts'`),
    '',
  ].join('\n')
}

/** What is marked in somebody else's text, for whoever shows one. */
function printText(): string {
  return [
    heading,
    doc(['A character that is not seen, or turns around what is seen beside it.']) +
      `export const unusual: RegExp = ${unusual}`,
    '',
  ].join('\n')
}

/** As the repository formats everything. */
async function format(content: string): Promise<string> {
  const biome = spawn('biome', ['format', '--stdin-file-path=generated.ts'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  biome.stdin.end(content)
  const [formatted, code] = await Promise.all([
    text(biome.stdout),
    new Promise((resolve) => biome.once('close', resolve)),
  ])
  if (code !== 0) throw new Error(`biome does not read what was printed:\n${content}`)
  return formatted
}

function check(): void {
  const present = readdirSync(folder)
  const stale = [...new Set([...present, ...files.keys()])].filter(
    (name) => !present.includes(name) || files.get(name) !== readFileSync(new URL(name, folder), 'utf8'),
  )
  if (stale.length === 0) return
  console.error(
    `packages/sdk/src/generated is stale (${stale.join(', ')}): run "npm run sdk" and commit what it prints`,
  )
  process.exit(1)
}
