import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { median } from './event-parts.ts'

/**
 * What a change costs: every measurement of this folder in two or more checkouts by turns, in one run, so that
 * what the machine does meanwhile hits all of them. Each ratio is the one to bare that a checkout's own program
 * prints; the first checkout is the one before the change.
 *
 *   node bench/compare.ts <checkout before> <checkout after> [--rounds 3] [--only append,replay]
 */
interface Measure {
  readonly program: string
  readonly args: readonly string[]
  /** What to find in its output, and whether more is better. */
  readonly figures: readonly (readonly [name: string, pattern: RegExp, better: 'more' | 'less'])[]
}

const measures: Record<string, Measure> = {
  keyed: {
    program: 'keyed-read',
    args: ['--rounds', '3', '--seconds', '3'],
    figures: [
      ['keyed read, of bare', /requests per second: ([\d.]+) of bare/, 'more'],
      ['keyed read, CPU of bare', /Node CPU per request: ([\d.]+) times/, 'less'],
    ],
  },
  append: {
    program: 'event-append',
    args: ['--rounds', '3', '--seconds', '2'],
    figures: [
      ['append by 10, of bare', /append in batches of 10, of bare: ([\d.]+)/, 'more'],
      ['append by 50, of bare', /append in batches of 50, of bare: ([\d.]+)/, 'more'],
    ],
  },
  replay: {
    program: 'event-replay',
    args: ['--rounds', '5'],
    figures: [['replay, of bare', /replay, of bare SELECT: ([\d.]+)/, 'more']],
  },
  hold: {
    program: 'stream-hold',
    args: ['--streams', '5000'],
    figures: [['held streams, memory of bare', /open streams, times bare: ([\d.]+)/, 'less']],
  },
  latency: {
    program: 'stream-latency',
    args: ['--seconds', '6'],
    figures: [
      ['event to reader, p99 ms', /event to reader, p99 in ms: ([\d.]+)/, 'less'],
      ['CPU of the stream process, µs/event', /stream process ([\d.]+) µs/, 'less'],
    ],
  },
  workflows: {
    program: 'workflow-throughput',
    args: ['--rounds', '3', '--runs', '300'],
    figures: [['workflows driven, of bare', /(?:driven|carried) is ([\d.]+) of bare/, 'more']],
  },
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '3' }, only: { type: 'string' } },
})
const checkouts = positionals.map((each) => resolve(each))
const [before, ...others] = checkouts
if (before === undefined || others.length === 0) throw new Error('name two checkouts: before, after')
const chosen = values.only?.split(',') ?? Object.keys(measures)

for (const name of chosen) {
  const measure = measures[name]
  if (!measure) throw new Error(`${name} is none of ${Object.keys(measures).join(', ')}`)
  const printed = new Map<string, string[]>(checkouts.map((each) => [each, []]))
  for (let round = 0; round < Number(values.rounds); round++) {
    // Who goes first changes, so that nobody always has the colder machine.
    const order = round % 2 === 0 ? checkouts : checkouts.toReversed()
    for (const checkout of order) printed.get(checkout)?.push(await run(checkout, measure))
  }
  for (const figure of measure.figures) report(figure, printed)
}

function report([what, pattern, better]: Measure['figures'][number], printed: Map<string, string[]>): void {
  const seen = [...printed.values()].map((outputs) =>
    outputs.map((output) => Number(pattern.exec(output)?.[1] ?? Number.NaN)),
  )
  const [was = Number.NaN, ...are] = seen.map(median)
  const each = seen.map((figures) => figures.map((figure) => figure.toFixed(2)).join(' ')).join(' | ')
  const changes = are.map((is) => `${is.toFixed(2)} (${is >= was ? '+' : ''}${(is - was).toFixed(2)})`)
  console.log(
    `${what}, ${better} is better: before ${was.toFixed(2)}, after ${changes.join(', ')}   [${each}]`,
  )
}

/** One measurement in one checkout; its own verdict is not asked for. */
async function run(checkout: string, { program, args }: Measure): Promise<string> {
  const path = `${checkout}/node_modules/.bin:${process.env['PATH']}`
  const child = spawn('node', [`bench/${program}.ts`, ...args, '--figures-only'], {
    cwd: checkout,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  const code = await new Promise((done) => child.once('close', done))
  if (code !== 0) throw new Error(`${program} in ${checkout} ended with ${code}`)
  return Buffer.concat(chunks).toString()
}
