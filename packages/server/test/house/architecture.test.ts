import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findBodySpreads } from '../support/body-spreads.ts'
import { findUsers } from '../support/callers.ts'
import { findRetryLoops } from '../support/retry-loops.ts'

const root = join(import.meta.dirname, '../../../..')

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

/** What was built is no source. */
function sourcesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/(^|\/)(node_modules|dist)\//.test(name))
    .map((name) => `${folder}/${name}`)
}

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
  ['programs-are-above', 'access/keys/keys.ts', "import '#features.ts'"],
  ['door-keys', 'access/activation/activation.ts', "import '#access/keys/store.ts'"],
  ['direction-keys', 'access/keys/keys.ts', "import '#access/activation/activation.ts'"],
  ['direction-invitations', 'accounts/invitations/invitations.ts', "import '#access/keys/keys.ts'"],
  ['door-idempotency', 'operations/page.ts', "import '#operations/idempotency/store.ts'"],
  ['one-memory-of-credentials', 'access/keys/keys.ts', "import '#platform/expiring-cache.ts'"],
  ['routes-are-for-features', 'access/activation/activation.ts', "import '#access/keys/routes.ts'"],
  ['fastify-in-http', 'access/keys/keys.ts', "import 'fastify'"],
  ['drivers-in-platform-and-stores', 'access/keys/keys.ts', "import 'pg'"],
  ['lru-cache-for-what-is-compiled', 'access/keys/keys.ts', "import 'lru-cache'"],
  ['restate-in-engine', 'access/keys/keys.ts', "import '@restatedev/restate-sdk'"],
  ['programs-are-above', 'platform/clock.ts', "import '#open-deps.ts'"],
  ['direction-platform', 'platform/clock.ts', "import '#operations/errors.ts'"],
  ['direction-operations', 'operations/page.ts', "import '#transports/http/tokens.ts'"],
  ['fastify-in-http', 'operations/errors.ts', "import 'fastify'"],
  ['workers-have-no-server', 'running/executions/routes.ts', "import '#transports/http/server.ts'"],
  ['direction-http', 'transports/http/socket.ts', "import '#access/keys/keys.ts'"],
  ['engine-is-below', 'machinery/engine/endpoint.ts', "import '#operations/errors.ts'"],
  ['sockets-for-the-api', 'running/runs/runs.ts', "import '#transports/sockets/sockets.ts'"],
  ['framework-stays-in-http', 'access/keys/keys.ts', "import '#transports/http/server.ts'"],
]

/** That it finds nothing in the sources as they are is said by `npm run check:structure`. */
test('the structure tool sees every source file, and each house rule refuses a planted violation', {
  timeout: 120_000,
}, async () => {
  for (const [, file, line] of planted) {
    const path = join(copy, 'packages/server/src', file)
    writeFileSync(path, `${line}\n${readFileSync(path, 'utf8')}`)
  }
  const { modules, summary } = await cruise(copy)
  const seen = new Set(modules.map((module) => module.source))
  expect(sourcesBelow('packages').filter((source) => !seen.has(source))).toEqual([])
  const broken = new Set(summary.violations.map((violation) => violation.rule.name))
  for (const [rule] of planted) expect(broken).toContain(rule)
})

test('floors.json lists every folder, and ARCHITECTURE shows it in the same order', () => {
  const floors: Record<string, string[]> = JSON.parse(
    readFileSync(join(root, 'packages/server/floors.json'), 'utf8'),
  )
  const foldersIn = (path: string) =>
    readdirSync(join(root, 'packages/server/src', path), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
  expect(foldersIn('.').toSorted()).toEqual(Object.keys(floors).toSorted())
  for (const [group, features] of Object.entries(floors)) {
    if (group !== 'platform') expect(foldersIn(group).toSorted(), group).toEqual(features.toSorted())
  }
  const architecture = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const listed = Object.entries(floors).flatMap(([group, features]) => [`${group}/`, ...features])
  const layout = architecture.slice(architecture.indexOf('\n  platform/'))
  const words = layout.split('packages/server/floors.json')[0]?.match(/[a-z]+\/|[a-z]+/g) ?? []
  expect(words.filter((word) => listed.includes(word))).toEqual(listed)
})

test('no source file is longer than 400 lines', () => {
  const long = [...sourcesBelow('packages'), ...sourcesBelow('stack'), ...sourcesBelow('test')]
    // What is printed by a program is as long as what it is printed from.
    .filter((source) => !source.includes('/generated/'))
    .filter((source) => readFileSync(join(root, source), 'utf8').split('\n').length > 401)
  expect(long).toEqual([])
})

test("of the server's files nineteen in twenty have fewer than 230 lines", () => {
  const lengths = sourcesBelow('packages/server/src')
    .filter((source) => !source.endsWith('.test.ts'))
    .map((source) => readFileSync(join(root, source), 'utf8').split('\n').length - 1)
    .toSorted((a, b) => b - a)
  expect(lengths[Math.floor(lengths.length * 0.05)]).toBeLessThan(230)
})

/** The protocol's library picks what it knows out of the form; what is refused there is its business. */
const formOfALibrary = 'packages/server/src/access/oauth/endpoints.ts'

test('no body and no query is handed on as a set of fields that the sender named', () => {
  const spreads = sourcesBelow('packages/server/src')
    .filter((source) => !source.endsWith('.test.ts') && source !== formOfALibrary)
    .flatMap((source) => findBodySpreads(source, readFileSync(join(root, source), 'utf8')))
  expect(spreads).toEqual([])
})

test.each([
  'const handle = async ({ body }) => insert({ ...body, attachments })',
  'const handle = async (call) => insert({ ...call.body })',
  'const handle = async (call) => list({ ...call.query, signal })',
  'const handle = async (call) => list({ ...(call.query ?? {}), signal })',
  'const handle = async ({ body }) => insert({ ...(wanted ? body : {}) })',
  'const handle = async ({ body }) => insert({ ...body.events[0] })',
  'const handle = async ({ body }) => { const input = body; return insert({ ...input }) }',
  'const handle = async ({ body }) => { const { source } = body; return insert({ ...source }) }',
  'const handle = async ({ body }) => { const { slug, ...rest } = body; return insert(slug, rest) }',
  'const handle = async ({ body: { slug, ...rest } }) => insert(slug, rest)',
  'const handle = async ({ body: { source: { type, ...rest } } }) => insert(type, rest)',
  'function changes({ primary, ...fields }: BodyOf<typeof routes.update>) { return fields }',
  'function changes(input: BodyOf<typeof routes.update>) { return { ...input } }',
  'const handle = async ({ body }) => insert(Object.assign({}, body))',
  'const handle = async ({ body }) => insert(Object.fromEntries(Object.entries(body)))',
])('a planted spread of a body is found: %s', (line) => {
  expect(findBodySpreads('planted.ts', line)).not.toEqual([])
})

test.each([
  'const handle = async ({ body }) => insert({ ...(body.label ? { label: body.label } : {}) })',
  'const handle = async ({ body }) => insert({ ...toStartInput(body.input, { maxCost: body.maxCost }) })',
  'const handle = async ({ body, ...rest }) => insert(rest)',
  'const program = [...body]',
])('what names its fields is none: %s', (line) => {
  expect(findBodySpreads('fine.ts', line)).toEqual([])
})

/** What is known in one place: how it would look where it is known again, and the place. */
const known: [what: string, again: RegExp, home: string, planted: string][] = [
  [
    'how many thousandths a Ds has',
    /(?:milli_?ds|cost|amount|spent)\w*\)?\s*[*/]\s*1_?000\b|\bmilliPerDs\b/i,
    'packages/contract/src/billing.ts',
    'const shown = { cost: row.cost_milli_ds / 1000 }',
  ],
  [
    'what a slug is',
    /\[a-z0-9\]\[a-z0-9-\]\{0,63\}/,
    'packages/contract/src/slug.ts',
    'if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(slug)) throw refusal()',
  ],
  [
    'in which states a run has ended',
    /\['success', 'failed', 'canceled'/,
    'packages/server/src/machinery/graph/snapshot.ts',
    "const over = new Set(['success', 'failed', 'canceled', 'void'])",
  ],
  [
    'where a record keeps its questions',
    /\bmetadata\?\.waiting\b|\bwaiting: _/,
    'packages/server/src/machinery/graph/records.ts',
    'const waiting = record.metadata?.waiting ?? []',
  ],
  [
    'how a definition names its workspace',
    /'\$\{workspaceId\}'/,
    'packages/server/src/machinery/graph/interpolate.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: definitions write it so
    "const own = definition.replaceAll('${workspaceId}', workspaceId)",
  ],
]

test.each(known)('%s stands in one place', (_, again, home, planted) => {
  const isKnownIn = (text: string) => text.split('\n').some((line) => again.test(line))
  const places = [...sourcesBelow('packages/contract/src'), ...sourcesBelow('packages/server/src')]
    .filter((source) => !source.endsWith('.test.ts'))
    .filter((source) => isKnownIn(readFileSync(join(root, source), 'utf8')))
  expect(places).toEqual([home])
  expect(isKnownIn(planted)).toBe(true)
})

test('what fails is tried again by platform/retry.ts alone', () => {
  const loops = sourcesBelow('packages/server/src').flatMap((source) =>
    findRetryLoops(source, readFileSync(join(root, source), 'utf8')),
  )
  expect(loops).toEqual([expect.stringMatching(/^packages\/server\/src\/platform\/retry\.ts:/)])
  const planted =
    'for (;;) { try { return await ask() } catch { await new Promise((go) => setTimeout(go, 250)) } }'
  expect(findRetryLoops('planted.ts', `async function f() { ${planted} }`)).toEqual(['planted.ts:1'])
})

test('a model is called in loop/ and nowhere else, by whatever name it goes', () => {
  const callOfModels = {
    declaredIn: 'packages/server/src/machinery/models/models.ts',
    type: 'Models',
    member: 'call',
  }
  const sources = sourcesBelow('packages/server/src').filter((source) => !source.endsWith('.test.ts'))
  const planting = [
    'export const f = (models: Models, call: ModelCall) => models.call(call)',
    'export const f = (parts: { models: Models }, call: ModelCall) => { const m = parts.models; return m.call(call) }',
    'export const f = (ask: Pick<Models, "call">, call: ModelCall) => ask.call(call)',
    'export const f = ({ call }: Models, question: ModelCall) => call(question)',
    'export const f = (models: Models, call: ModelCall) => { const { call: ask } = models; return ask(call) }',
    'export const f = (models: Models, call: ModelCall) => models["call"](call)',
    'export const f = (models: Models) => [models.call]',
  ]
  const imports = "import type { ModelCall, Models } from '#machinery/models/models.ts'"
  const planted = Object.fromEntries(
    planting.map((line, index) => [
      `packages/server/src/library/agents/planted-${index}.ts`,
      `${imports}\n${line}`,
    ]),
  )
  const fine = 'packages/server/src/library/agents/planted-fine.ts'
  planted[fine] = 'export const f = (work: (n: number) => void) => work.call(undefined, 1)'
  const users = findUsers(sources, callOfModels, planted)
  expect(users).toEqual([
    'packages/server/src/machinery/loop/reply.ts',
    ...Object.keys(planted).filter((path) => path !== fine),
  ])
}, 60_000)
