import { readFileSync, writeFileSync } from 'node:fs'
import { type McpTool, mcpTools, type Route, routes } from '@guildhall/contract'

/** Prints the table of tools into docs/mcp.md; with --check it only says whether it is current. */
const file = new URL('../docs/mcp.md', import.meta.url)
const [begin, end] = ['<!-- printed by npm run mcp:docs -->\n', '<!-- end of what is printed -->\n']
type Tool = Omit<McpTool, 'name'>
const tools: Record<string, Tool> = mcpTools
const operations: Record<string, Route> = routes

const page = readFileSync(file, 'utf8')
const [before, rest] = page.split(begin)
const after = rest?.split(end)[1]
if (before === undefined || after === undefined) {
  console.error(`docs/mcp.md has no place for the table: ${begin}${end}`)
  process.exit(1)
}
const printed = `${before}${begin}${table()}${end}${after}`
if (!process.argv.includes('--check')) writeFileSync(file, printed)
else if (printed !== page) {
  console.error('docs/mcp.md is stale: run "npm run mcp:docs" and commit it')
  process.exit(1)
}

function table(): string {
  const rows = Object.entries(tools).map(([name, tool]) =>
    [`\`${name}\``, tool.description.replaceAll('|', '\\|'), argumentsOf(tool), scopesOf(tool)].join(' | '),
  )
  return [
    '| Tool | What it does | Takes | Scopes |',
    '|---|---|---|---|',
    ...rows.map((row) => `| ${row} |`),
    '',
  ].join('\n')
}

/** What must be given first, and in bold. */
function argumentsOf({ input }: Tool): string {
  const required = input.required ?? []
  const optional = Object.keys(input.properties).filter((name) => !required.includes(name))
  return (
    [...required.map((name) => `**\`${name}\`**`), ...optional.map((name) => `\`${name}\``)].join(', ') ||
    'nothing'
  )
}

function scopesOf({ calls }: Tool): string {
  const scopes = calls.flatMap((call) => operations[call]?.scopes ?? [])
  return [...new Set(scopes)].map((scope) => `\`${scope}\``).join(', ') || 'none'
}
