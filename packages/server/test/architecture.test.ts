import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../..')

interface CruiseResult {
  modules: { source: string }[]
  summary: { violations: { rule: { name: string }; from: string }[] }
}

function cruise(folder: string): Promise<CruiseResult> {
  const args = ['packages', '--config', '.dependency-cruiser.cjs', '--output-type', 'json']
  return new Promise((resolve, reject) => {
    const program = join(root, 'node_modules/.bin/depcruise')
    execFile(program, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 }, (error, stdout) => {
      // It exits with the number of violations; only an answer that is no JSON is a failure of the tool.
      try {
        resolve(JSON.parse(stdout))
      } catch {
        reject(error)
      }
    })
  })
}

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
    .map((name) => `${folder}/${name}`)
}

test('the structure tool sees every source file and finds nothing', async () => {
  const result = await cruise(root)
  const seen = new Set(result.modules.map((module) => module.source))
  const unseen = sourcesBelow('packages').filter((source) => !seen.has(source))
  expect(unseen).toEqual([])
  expect(result.summary.violations).toEqual([])
})

let copy: string

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'guildhall-structure-'))
  for (const name of [
    'packages',
    'tsconfig.json',
    'tsconfig.base.json',
    '.dependency-cruiser.cjs',
    'package.json',
  ]) {
    cpSync(join(root, name), join(copy, name), {
      recursive: true,
      filter: (path) => !path.includes('node_modules'),
    })
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
})

afterAll(() => rmSync(copy, { recursive: true, force: true }))

const planted: [rule: string, file: string, line: string][] = [
  ['no-cycles', 'platform/ids.ts', "import './secrets.ts'"],
  ['door-keys', 'activation/activation.ts', "import '../keys/store.ts'"],
  ['direction-keys', 'keys/keys.ts', "import '../activation/activation.ts'"],
  ['routes-are-for-the-app', 'activation/activation.ts', "import '../keys/routes.ts'"],
  ['fastify-in-http', 'keys/keys.ts', "import 'fastify'"],
  ['drivers-in-platform-and-stores', 'keys/keys.ts', "import 'pg'"],
  ['restate-in-engine', 'keys/keys.ts', "import '@restatedev/restate-sdk'"],
  ['platform-is-below', 'platform/clock.ts', "import '../http/api-error.ts'"],
  ['http-knows-no-feature', 'http/page.ts', "import '../keys/keys.ts'"],
  ['framework-stays-in-http', 'keys/keys.ts', "import '../http/server.ts'"],
]

test('each house rule refuses a planted violation', async () => {
  for (const [, file, line] of planted) {
    const path = join(copy, 'packages/server/src', file)
    writeFileSync(path, `${line}\n${readFileSync(path, 'utf8')}`)
  }
  const { summary } = await cruise(copy)
  const broken = new Set(summary.violations.map((violation) => violation.rule.name))
  for (const [rule] of planted) expect(broken).toContain(rule)
})

test('no source file is longer than 400 lines', () => {
  const long = [...sourcesBelow('packages'), ...sourcesBelow('stack'), ...sourcesBelow('test')].filter(
    (source) => readFileSync(join(root, source), 'utf8').split('\n').length > 401,
  )
  expect(long).toEqual([])
})
