import type { Command } from './command.ts'
import { commands, findCommand } from './commands.ts'
import { exitMeanings } from './exit-codes.ts'
import { type Flag, type Flags, globalFlags } from './flags.ts'
import { usageLine } from './input.ts'
import { groups } from './table/groups.ts'
import { topics } from './topics.ts'

export interface Help {
  text: string
  data: unknown
}

/** Help for a command, a group of commands or a topic; the overview without words. */
export function helpOf(words: readonly string[]): Help | undefined {
  if (words.length === 0 || words[0] === 'help') return { text: overview(), data: surface() }
  const command = findCommand(words)
  if (command) return { text: commandHelp(command), data: described(command) }
  const [first = ''] = words
  const topic = Object.hasOwn(topics, first) ? topics[first] : undefined
  if (topic) return { text: topic.text(), data: { topic: first, text: topic.text() } }
  const members = commands.filter((each) => each.name.startsWith(`${first} `))
  if (members.length === 0) return undefined
  return { text: groupHelp(first, members), data: { commands: members.map(described) } }
}

/** Everything that help has a page for: nothing, each command, the first word of each, each topic. */
export function helpWords(): string[][] {
  const names = commands.map(({ name }) => name.split(' '))
  const all = [
    [],
    ...names,
    ...names.map(([first = '']) => [first]),
    ...Object.keys(topics).map((name) => [name]),
  ]
  return [...new Map(all.map((words) => [words.join(' '), words])).values()]
}

/** The whole surface, for a program that reads it. */
function surface() {
  return {
    program: 'guild',
    globalFlags: flagRecords(globalFlags),
    commands: commands.map(described),
    exitCodes: exitMeanings,
    topics: Object.keys(topics),
  }
}

function described(command: Command) {
  return {
    name: command.name,
    usage: usageLine(command),
    summary: command.summary,
    words: command.words ?? null,
    arguments: (command.arguments ?? []).map(({ name, words, optional, many }) => ({
      name,
      words,
      required: !optional,
      many: many ?? false,
    })),
    flags: flagRecords(command.flags ?? {}),
    needs: command.needs,
    streams: command.streams ?? false,
    exitCodes: exitsOf(command),
    examples: command.examples,
  }
}

export function exitsOf(command: Command): number[] {
  const common = command.needs === 'none' ? [0, 2, 70] : [0, 2, 4, 11, 70]
  return [...new Set([...common, ...command.exits])].sort((one, other) => one - other)
}

function flagRecords(flags: Flags) {
  return Object.entries(flags).map(([name, flag]) => ({
    flag: `--${name}`,
    short: flag.short ? `-${flag.short}` : null,
    value: flag.value ?? null,
    optionalValue: flag.optionalValue ?? false,
    many: flag.many ?? false,
    choices: flag.choices ?? null,
    words: flag.words,
  }))
}

function overview(): string {
  const lines = [
    'guild: skills, workflows and scoped access for AI agents, approved by people',
    '',
    'Usage: guild COMMAND [ARGUMENTS] [flags]',
  ]
  const width = Math.max(...commands.map((command) => command.name.length)) + 2
  for (const group of groups) {
    lines.push('', group.title)
    for (const command of group.commands) lines.push(`  ${command.name.padEnd(width)}${command.summary}`)
  }
  lines.push(
    '',
    'More',
    '  guild help COMMAND    what it takes, with examples',
    `  guild help TOPIC      ${Object.keys(topics).join(', ')}`,
    '  guild help --json     everything, for a program',
  )
  return lines.join('\n')
}

function groupHelp(first: string, members: readonly Command[]): string {
  const width = Math.max(...members.map((command) => usageLine(command).length)) + 2
  return [
    `guild ${first}`,
    '',
    ...members.map((command) => `  ${usageLine(command).padEnd(width)}${command.summary}`),
  ].join('\n')
}

function commandHelp(command: Command): string {
  const lines = [command.summary, '', `Usage: ${usageLine(command)}`]
  if (command.words) lines.push('', ...wrapped(command.words, 78))
  if (command.arguments?.length) {
    lines.push('', 'Arguments', ...columns(command.arguments.map(({ name, words }) => [name, words])))
  }
  if (command.flags) lines.push('', 'Flags', ...columns(flagRows(command.flags)))
  lines.push('', 'Examples', ...command.examples.map((example) => `  ${example}`))
  lines.push('', `Exit codes: ${exitsOf(command).join(', ')}  (guild help exit-codes)`)
  lines.push('Global flags: guild help flags')
  return lines.join('\n')
}

export function flagRows(flags: Flags): [string, string][] {
  return Object.entries(flags).map(([name, flag]) => [flagText(name, flag), flag.words])
}

function flagText(name: string, { short, value, optionalValue, choices }: Flag): string {
  const shown = choices ? choices.join('|') : value
  const text = `--${name}${shown ? (optionalValue ? `[=${shown}]` : ` ${shown}`) : ''}`
  return short ? `-${short}, ${text}` : text
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([name]) => name.length)) + 2
  return rows.map(([name, words]) => `  ${name.padEnd(width)}${words}`)
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  for (const paragraph of text.split('\n')) {
    let line = ''
    for (const word of paragraph.split(' ')) {
      if (line !== '' && line.length + word.length + 1 > width) {
        lines.push(line)
        line = word
      } else line = line === '' ? word : `${line} ${word}`
    }
    lines.push(line)
  }
  return lines
}
