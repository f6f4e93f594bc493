import { commands, findCommand } from './commands.ts'
import { type ExitCode, exit } from './exit-codes.ts'
import { bug, Failure, usage } from './failure.ts'
import { globalFlags } from './flags.ts'
import { Input, leadingWords, readGlobals } from './input.ts'
import { type Output, outputOf } from './output/output.ts'
import { ours } from './output/safe-text.ts'
import { endUnreadWith } from './output/streams.ts'
import type { Environment } from './places.ts'
import { nearest } from './suggest.ts'
import { version } from './version.ts'

/**
 * One command line from its words to its exit code. What only commands need is loaded when one runs, so that help and
 * completion are there at once.
 */
export async function runProgram(args: readonly string[], environment: Environment): Promise<ExitCode> {
  const globals = globalsOf(args)
  const out = outputOf(globals, environment)
  try {
    if (args[0] === '__complete')
      return await (await import('./complete.ts')).complete(args.slice(1), environment)
    if (args[0] === '__keyring')
      return await (await import('./credentials/keyring-process.ts')).answerOfKeyring()
    const words = leadingWords(args)
    if (words[0] === 'hook') endUnreadWith(exit.usage)
    const command = findCommand(words)
    if (command && !command.load) return await showHelp(out, words.slice(1))
    if (command && !args.includes('--help') && !args.includes('-h')) {
      const { runCommand } = await import('./run-command.ts')
      const code = await runCommand(command, args, environment)
      return command.failsClosed && code !== exit.done ? exit.usage : code
    }
    if (globals.has('version')) return await showVersion(out)
    if (globals.has('help') || words.length === 0) return await showHelp(out, words)
    return await unknownCommand(words, out)
  } catch (error) {
    const failure = error instanceof Failure ? error : bug(error)
    out.failure(failure)
    return args[0] === 'hook' ? exit.usage : failure.exitCode
  }
}

function globalsOf(args: readonly string[]): Input {
  try {
    return readGlobals(args)
  } catch {
    // Told again, with everything at hand, when the command's own flags are read.
    return new Input(globalFlags, new Map(args.includes('--json') ? [['json', [true]]] : []), new Map())
  }
}

async function showVersion(out: Output): Promise<ExitCode> {
  out.document({ version, node: process.versions.node }, () => [ours(`guild ${version}`)])
  return exit.done
}

async function showHelp(out: Output, words: readonly string[]): Promise<ExitCode> {
  const { helpOf } = await import('./help.ts')
  const help = helpOf(words)
  if (!help) return unknownCommand(words, out)
  out.document(help.data, () => [ours(help.text)])
  return exit.done
}

async function unknownCommand(words: readonly string[], out: Output): Promise<ExitCode> {
  const groups = commands.filter((command) => command.name.startsWith(`${words[0]} `))
  if (groups.length > 0 && words.length === 1) {
    const code = await showHelp(out, words)
    // An agent that was told to run this would take 0 for a yes.
    return words[0] === 'hook' ? exit.usage : code
  }
  const typed = words.slice(0, 2).join(' ')
  const names = commands.map((command) => command.name)
  const near = [...new Set([...nearest(typed, names), ...nearest(words[0] ?? '', names)])].slice(0, 3)
  throw usage(`guild has no command "${typed}".`, ...near.map((name) => `guild ${name}`), 'guild help')
}
