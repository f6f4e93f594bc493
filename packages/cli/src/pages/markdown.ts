import type { Command } from '../command.ts'
import { exitMeanings } from '../exit-codes.ts'
import { globalFlags } from '../flags.ts'
import { exitsOf, flagRows } from '../help.ts'
import { usageLine } from '../input.ts'
import { groups } from '../table/groups.ts'
import { topics } from '../topics.ts'

const slugOf = (title: string) =>
  title
    .toLowerCase()
    .replace(/[^a-z]+/g, '-')
    .replace(/-$/, '')
const cell = (text: string) => text.replaceAll('|', '\\|')
const tableOf = (heads: readonly string[], rows: readonly (readonly string[])[]) =>
  [heads, heads.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

/** docs/cli: a page for each group of commands, one for each topic, and an overview. */
export function markdownPages(): [string, string][] {
  return [
    ['README.md', overview()],
    ...groups.map(({ title, commands }): [string, string] => [
      `${slugOf(title)}.md`,
      `# ${title}\n\n${commands.map(commandPart).join('\n\n')}\n`,
    ]),
    ...Object.entries(topics).map(([name, { summary, text }]): [string, string] => [
      `help-${name}.md`,
      `# ${summary}\n\n\`\`\`text\n${text()}\n\`\`\`\n`,
    ]),
  ]
}

function overview(): string {
  const parts = groups.map(({ title, commands }) => {
    const rows = commands.map(({ name, summary }) => [
      `[\`guild ${name}\`](${slugOf(title)}.md#guild-${name.replaceAll(' ', '-')})`,
      summary,
    ])
    return `## ${title}\n\n${tableOf(['Command', 'What it does'], rows)}`
  })
  const exits = Object.entries(exitMeanings)
  const flags = flagRows(globalFlags).map(([flag, words]) => [`\`${flag}\``, words])
  return [
    '# guild',
    'Printed from the table of commands by `npm run cli:docs`. Man pages stand in `man/`.',
    ...parts,
    `## Flags that every command takes\n\n${tableOf(['Flag', 'Meaning'], flags)}`,
    `## Exit codes\n\n${tableOf(['Code', 'Meaning'], exits)}\n`,
  ].join('\n\n')
}

function commandPart(command: Command): string {
  const parts = [`## guild ${command.name}`, `${command.summary}.`, `\`${usageLine(command)}\``]
  if (command.words) parts.push(command.words)
  if (command.arguments?.length) {
    parts.push(
      tableOf(
        ['Argument', 'Meaning'],
        command.arguments.map(({ name, words }) => [name, words]),
      ),
    )
  }
  if (command.flags) {
    const rows = flagRows(command.flags).map(([flag, words]) => [`\`${flag}\``, words])
    parts.push(tableOf(['Flag', 'Meaning'], rows))
  }
  parts.push(`\`\`\`sh\n${command.examples.join('\n')}\n\`\`\``)
  const credential = { none: 'Needs no key.', key: 'Acts with the key.', person: 'Acts as a person.' }[
    command.needs
  ]
  parts.push(`${credential} Exit codes: ${exitsOf(command).join(', ')}.`)
  return parts.join('\n\n')
}
