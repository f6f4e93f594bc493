import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Proof } from './proof.ts'
import { kinds } from './proofs.ts'
import type { Record } from './record.ts'

export const pageFile = join(import.meta.dirname, '../../docs/proofs.md')

const titles = {
  tests: 'Looked at one by one',
  chaos: 'Whatever happens, in whichever order',
  scale: 'How much fits',
  bench: 'What it costs',
}

const intro = `# Proofs

Printed by \`npm run prove\` from \`scripts/prove\` and \`docs/proofs.json\`; not written by hand. The gate shows of every change
that it is right; these show of a claim that it holds at its size and in its time. They are run on purpose, on a quiet
machine, and every night: \`npm run prove -- NAME…\`, \`-- --kind bench\`, \`-- --all\`. A figure is of the commit beside it.
`

export function page(record: Record): string {
  const sections = Object.entries(kinds).map(([kind, proofs]) => {
    const parts = proofs.map((proof) => part(proof, record))
    return `## ${titles[kind as keyof typeof kinds]}\n\n${parts.join('\n')}`
  })
  return [intro, ...sections].join('\n')
}

function part({ name, claim, size, minutes, needs }: Proof, record: Record): string {
  const seen = record[name]
  const needed = needs.length > 0 ? ` Needs: ${needs.join(', ')}.` : ''
  const head = `### ${name}\n\n${claim} *${size}; about ${minutes} min.${needed}*\n`
  if (!seen) return `${head}\nNot run yet.\n`
  const { passed, commit, date, machine } = seen
  const outcome = `**${passed ? 'Held' : 'Did not hold'}** on ${date} at ${commit}, in ${seen.minutes} min (${machine}).`
  const figures = seen.figures.map((figure) => `- ${figure}`).join('\n')
  return `${head}\n${outcome}\n${figures ? `\n${figures}\n` : ''}`
}

export function writePage(record: Record): void {
  writeFileSync(pageFile, page(record))
}
