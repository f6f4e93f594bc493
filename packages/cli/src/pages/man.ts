import type { Command } from '../command.ts'
import { commands } from '../commands.ts'
import { exitMeanings } from '../exit-codes.ts'
import { globalFlags } from '../flags.ts'
import { flagRows } from '../help.ts'
import { usageLine } from '../input.ts'
import { version } from '../version.ts'

/** A backslash begins a request, and so does a point or a quote at the start of a line. */
const roff = (text: string) =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1')

const heading = (name: string, summary: string) => [
  `.TH ${name.toUpperCase()} 1 "" "guild ${version}" "Guildhall"`,
  '.SH NAME',
  `${roff(name)} \\- ${roff(summary)}`,
]
const terms = (rows: readonly (readonly [string, string])[]) =>
  rows.flatMap(([name, words]) => ['.TP', `.B ${roff(name)}`, roff(words)])

/** guild(1), and a page for each first word of a command. */
export function manPages(): [string, string][] {
  const words = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))]
  return [
    ['man/guild.1', overview(words)],
    ...words.map((word): [string, string] => [
      `man/guild-${word}.1`,
      page(
        word,
        commands.filter(({ name }) => name.split(' ')[0] === word),
      ),
    ]),
  ]
}

function overview(words: readonly string[]): string {
  return lines([
    ...heading('guild', 'skills, workflows and scoped access for AI agents'),
    '.SH SYNOPSIS',
    'guild COMMAND [ARGUMENTS] [flags]',
    '.SH COMMANDS',
    ...terms(commands.map(({ name, summary }) => [name, summary])),
    '.SH FLAGS',
    ...terms(flagRows(globalFlags)),
    '.SH EXIT STATUS',
    ...terms(Object.entries(exitMeanings)),
    '.SH SEE ALSO',
    words.map((word) => `\\fBguild\\-${roff(word)}\\fR(1)`).join(', '),
  ])
}

function page(word: string, members: readonly Command[]): string {
  const [first] = members
  const summary = members.length === 1 && first ? first.summary : members.map(({ name }) => name).join(', ')
  return lines([
    ...heading(`guild-${word}`, summary),
    '.SH SYNOPSIS',
    members.map((command) => roff(usageLine(command))).join('\n.br\n'),
    ...members.flatMap((command) => [
      `.SH ${roff(`guild ${command.name}`.toUpperCase())}`,
      roff(`${command.summary}.`),
      ...(command.words ? ['.PP', roff(command.words)] : []),
      ...terms((command.arguments ?? []).map(({ name, words }) => [name, words])),
      ...terms(flagRows(command.flags ?? {})),
      '.PP',
      '.nf',
      ...command.examples.map(roff),
      '.fi',
    ]),
  ])
}

const lines = (all: readonly string[]) => `${all.join('\n')}\n`
