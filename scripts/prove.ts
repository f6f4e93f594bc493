import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { parseArgs } from 'node:util'
import { readTicks } from './gate/machine.ts'
import { writePage } from './prove/page.ts'
import type { Need, Proof } from './prove/proof.ts'
import { kinds, proofs } from './prove/proofs.ts'
import { whatDisturbs } from './prove/quiet.ts'
import { keepOutcome, type Outcome, readRecord } from './prove/record.ts'
import { runProof } from './prove/run-proof.ts'

/**
 * Claims at their full size: `npm run prove` lists them with what was seen last; `-- NAME…`, `-- --kind bench` and `-- --all`
 * run some or all in turn, keep what they saw in docs/proofs.json and print docs/proofs.md from it.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean' }, kind: { type: 'string' } },
})
const chosen = choose()
if (chosen.length > 0) await proveAll(chosen)
else list()

function choose(): readonly Proof[] {
  if (values.all) return proofs
  const ofKind = values.kind === undefined ? [] : kinds[values.kind as keyof typeof kinds]
  if (!ofKind) fail(`There is no kind ${values.kind}; there are ${Object.keys(kinds).join(', ')}.`)
  const named = positionals.map(
    (name) =>
      proofs.find((proof) => proof.name === name) ??
      fail(`There is no proof ${name}; npm run prove lists them.`),
  )
  return [...ofKind, ...named]
}

function list(): void {
  const record = readRecord()
  for (const { name, claim, size, minutes, needs } of proofs) {
    const seen = record[name]
    console.log(`${name}: ${claim}`)
    console.log(`    ${[size, `about ${minutes} min`, ...needs].join(' · ')}`)
    console.log(`    ${seen ? summary(seen) : 'not run yet'}`)
    for (const figure of seen?.figures ?? []) console.log(`      ${figure}`)
  }
  writePage(record)
  console.log(`${proofs.length} proofs. Run some with: npm run prove -- NAME…, --kind bench, or --all.`)
}

function summary({ passed, commit, date, minutes, machine }: Outcome): string {
  return `${passed ? 'held' : 'DID NOT HOLD'} on ${date} at ${commit}, ${minutes} min (${machine})`
}

async function proveAll(some: readonly Proof[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'guildhall-prove-'))
  const minutes = some.reduce((sum, proof) => sum + proof.minutes, 0)
  console.log(`${some.length} proofs, about ${minutes} min; what they print is in ${folder}`)
  const failed: string[] = []
  for (const [index, proof] of some.entries()) {
    const missing = proof.needs.filter((need) => !has(need))
    const label = `${index + 1} of ${some.length}  ${proof.name}`
    if (missing.length > 0) {
      console.log(`${label}: not run, because it needs ${missing.join(' and ')}`)
      continue
    }
    const outcome = await prove(proof, folder, label).catch((error) => {
      console.log(`${label}: could not be run: ${error.message}`)
      return 'failed' as const
    })
    if (outcome === 'failed') {
      failed.push(proof.name)
      continue
    }
    if (!outcome) {
      console.log(`${label}: interrupted, so nothing is kept of it`)
      process.exit(130)
    }
    console.log(`${label}: ${summary(outcome)}`)
    for (const figure of outcome.figures) console.log(`      ${figure}`)
    keepOutcome(proof.name, outcome)
    writePage(readRecord())
    if (!outcome.passed) failed.push(proof.name)
  }
  if (failed.length === 0) return
  console.log(`Did not hold: ${failed.join(', ')}. Why is in ${folder}.`)
  process.exitCode = 1
}

async function prove(proof: Proof, folder: string, label: string): Promise<Outcome | undefined> {
  const disturbs = await whatDisturbs()
  if (disturbs && proof.needs.includes('quiet'))
    console.log(`${label}: this machine is not quiet, so its figures say little: ${disturbs}`)
  const [load = 0] = loadavg()
  // What is run is what is there now; a commit that is made meanwhile is not.
  const of = commit()
  const [before, began] = [readTicks(), performance.now()]
  const elapsed = () => Math.round((performance.now() - began) / 6000) / 10
  const beat = setInterval(
    () => console.log(`${label}: ${elapsed()} of about ${proof.minutes} min`),
    process.stdout.isTTY ? 15_000 : 120_000,
  )
  const log = join(folder, `${proof.name}.log`)
  const { passed, figures, isInterrupted } = await runProof(proof, log, join(folder, `${proof.name}.seen`))
  clearInterval(beat)
  if (isInterrupted) return undefined
  const isSame = commit() === of
  const now = readTicks()
  const taken = (100 * (now.taken - before.taken)) / Math.max(1, now.all - before.all)
  const quiet = disturbs ? 'not quiet' : 'quiet'
  return {
    passed,
    commit: isSame ? of : `${of}, changed while it ran`,
    date: new Date().toISOString().slice(0, 10),
    minutes: elapsed(),
    machine: `${quiet} before, load ${load.toFixed(1)}, ${taken.toFixed(0)} % taken by others`,
    figures,
  }
}

/** Figures that were kept by the proofs before this one are no change. */
function commit(): string {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'safe.directory=*', ...args], { encoding: 'utf8' }).trim()
  const changed = git('status', '--porcelain', '--', '.', ':!docs/proofs.json', ':!docs/proofs.md')
  return `${git('rev-parse', '--short', 'HEAD')}${changed === '' ? '' : ' with changes'}`
}

function has(need: Need): boolean {
  if (need === 'quiet') return true
  if (need === 'root') return process.getuid?.() === 0
  if (need === 'peers') return existsSync('bench/peers/node_modules')
  if (need === 'MODELS') return Boolean(process.env['MODELS'])
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.some((folder) => existsSync(join(folder, need)))
}

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}
