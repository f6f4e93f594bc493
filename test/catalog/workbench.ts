import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeEach } from 'vitest'

/** Where the tests of the catalog run its scripts: a folder of its own for each test, gone afterwards. */
export const catalog = fileURLToPath(new URL('../../catalog', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'catalog-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

export let work = root
let made = 0
beforeEach(() => {
  made += 1
  work = join(root, String(made))
  mkdirSync(work)
})

export const slugs = [
  'changelog-from-commits',
  'csv-report',
  'incident-timeline',
  'invoice-extraction',
  'json-schema-from-samples',
  'log-triage',
  'meeting-notes-to-actions',
  'readme-review',
  'release-checklist',
  'sql-explainer',
  'translation-with-glossary',
  'unit-test-writer',
]

export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

export function run(script: string, ...args: string[]) {
  const result = spawnSync('python3', [join(catalog, script), ...args], {
    encoding: 'utf8',
    cwd: work,
    timeout: 20_000,
  })
  if (result.error) throw result.error
  return { code: result.status, out: result.stdout, err: result.stderr }
}

export function file(name: string, content: string | Buffer) {
  const path = join(work, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  return path
}

export const asset = (path: string) => join(catalog, path)
export const text = (...parts: string[]) => readFileSync(join(work, ...parts), 'utf8')
export const json = (...parts: string[]) => JSON.parse(text(...parts))
export const output = () => join(work, 'output')
