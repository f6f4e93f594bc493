import { spawnStack } from '../stack/client.ts'
import { type ExportFigures, measureExport } from '../test/support/trace-export.ts'
import { checkBar } from './event-parts.ts'
import { readNumbers } from './options.ts'

/** A long trace as a file, redacted and not, against a bare SELECT of the same text, and what it takes of memory. */
const { turns, rounds } = readNumbers({ turns: 100_000, rounds: 5 })
const formats = ['jsonl&redact=off', 'jsonl', 'md', 'otlp']
/**
 * Beside much memory Node lets garbage grow by hundreds of MiB before it looks at it, whatever made it. What an export
 * needs shows where there is no more than a server needs at rest.
 */
const smallHeap = ['--env', 'NODE_OPTIONS=--max-old-space-size=128 --max-semi-space-size=8']

async function measureAll(args: readonly string[], of: number, judge: (figures: ExportFigures) => void) {
  const stack = await spawnStack(['--limits', 'off', ...args])
  try {
    for (const format of formats) {
      const figures = await measureExport(stack, { turns, rounds: of, format })
      console.log(`${format}: ${(figures.bytes / 2 ** 20).toFixed()} MiB`)
      judge(figures)
    }
  } finally {
    await stack.stop()
  }
}

await measureAll([], rounds, ({ ratio, grownMiB }) => {
  checkBar('  beside a bare SELECT', ratio, 'at least', 0.5)
  console.log(`  growth of a server that may grow, in MiB: ${grownMiB.toFixed(0)}`)
})
await measureAll(smallHeap, 1, ({ grownMiB }) => {
  checkBar('  growth of a server with a small heap, in MiB', grownMiB, 'at most', 32)
})
