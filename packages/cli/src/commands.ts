import type { Command } from './command.ts'
import { groups } from './table/groups.ts'

export const commands: readonly Command[] = groups.flatMap((group) => group.commands)

const byName = new Map(commands.map((command) => [command.name, command]))

/** The longest name that the words begin with. */
export function findCommand(words: readonly string[]): Command | undefined {
  for (let count = Math.min(3, words.length); count > 0; count--) {
    const command = byName.get(words.slice(0, count).join(' '))
    if (command) return command
  }
  return undefined
}
