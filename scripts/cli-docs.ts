import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { manPages } from '../packages/cli/src/pages/man.ts'
import { markdownPages } from '../packages/cli/src/pages/markdown.ts'

/** Prints docs/cli from the table of commands; with --check it only says whether they are current. */
const folder = fileURLToPath(new URL('../docs/cli/', import.meta.url))
const pages = new Map([...markdownPages(), ...manPages()])

if (process.argv.includes('--check')) {
  const stale = [...pages].filter(([name, text]) => contentOf(name) !== text).map(([name]) => name)
  const left = filesIn(folder).filter((name) => !pages.has(name))
  if (stale.length + left.length > 0) {
    console.error(`docs/cli is not current: ${[...stale, ...left].join(', ')}\nRun: npm run cli:docs`)
    process.exit(1)
  }
} else {
  rmSync(folder, { recursive: true, force: true })
  for (const [name, text] of pages) {
    mkdirSync(dirname(folder + name), { recursive: true })
    writeFileSync(folder + name, text)
  }
}

function contentOf(name: string): string | undefined {
  try {
    return readFileSync(folder + name, 'utf8')
  } catch {
    return undefined
  }
}

function filesIn(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.replace(/\/+/g, '/').slice(path.length))
}
