import { isDeepStrictEqual } from 'node:util'
import type {
  Answer,
  Durable,
  StepCall,
  StepChange,
  StepOutcome,
  Suspension,
} from '#machinery/graph/graph.ts'
import { RunCanceled } from '#machinery/graph/graph.ts'

/** What a run asked the engine for; the arguments are kept to see that a replay asks for the same. */
type Command =
  | { readonly kind: 'start'; readonly call: StepCall }
  | { readonly kind: 'sleep'; readonly name: string; readonly durationMs: number }
  | { readonly kind: 'now'; readonly name: string }
  | { readonly kind: 'answered'; readonly suspension: Suspension }
  | { readonly kind: 'readAnswer'; readonly suspension: Suspension; readonly answerId: unknown }
  | { readonly kind: 'suspended' }

/** Survives crashes: what was asked, in order, and what came back, in the order it came. */
export class Journal {
  readonly commands: Command[] = []
  readonly completions: { readonly command: number; readonly value: unknown }[] = []
  readonly changes: StepChange[] = []
}

export class Crash extends Error {}

export interface World {
  perform(call: StepCall): StepOutcome
  /** Undefined leaves the question open. */
  answer?(suspension: Suspension): Answer | undefined
  /** Chooses which of `count` waiting things happens next; the first one without it. */
  choose?(count: number): number
  /** Asked after every effect: 'before' loses its result, 'after' has it recorded. */
  crash?(completions: number): 'before' | 'after' | undefined
  /** Asked before every wait. */
  isCanceled?(completions: number): boolean
  now?: number
}

interface Handle extends PromiseLike<never> {
  readonly command: number
}

/** Time passes by sleeping alone, so that it is the same in every replay. */
function sleptMs({ commands, completions }: Journal): number {
  const slept = completions.map(({ command }) => commands[command])
  return slept.reduce((sum, command) => sum + (command?.kind === 'sleep' ? command.durationMs : 0), 0)
}

/** What somebody waits for who can only be helped from outside. */
export class Stuck extends Error {}

/**
 * A durable engine in memory. It refuses a run that is not deterministic: a replay must ask for the same things in the
 * same order. Only `race` moves time on, by one completion at a time, and it may crash around each of them.
 */
export function memoryDurable(journal: Journal, world: World): Durable {
  let asked = 0
  let racing = false
  let mayAnswer = false
  const values = new Map(journal.completions.map(({ command, value }) => [command, value]))

  const ask = (command: Command): never => {
    const index = asked++
    const before = journal.commands[index]
    if (before === undefined) journal.commands.push(command)
    else if (!isDeepStrictEqual(before, command))
      throw new Error(
        `not deterministic at ${index}: ${JSON.stringify(before)} became ${JSON.stringify(command)}`,
      )
    const then = () => {
      throw new Error('a durable promise was awaited outside of race')
    }
    const handle: Handle = { command: index, then }
    return handle as never
  }

  const happen = (command: Command): unknown => {
    switch (command.kind) {
      case 'start':
        return world.perform(command.call)
      case 'now':
        return (world.now ?? 0) + sleptMs(journal)
      case 'answered':
        return { key: command.suspension.key }
      case 'readAnswer':
        return world.answer?.(command.suspension) ?? { data: null, at: 0 }
      case 'sleep':
      case 'suspended':
        return undefined
    }
  }

  const record = (index: number, command: Command) => {
    const value: unknown = JSON.parse(JSON.stringify({ value: happen(command) })).value
    const crash = world.crash?.(journal.completions.length + 1)
    if (crash === 'before') throw new Crash()
    journal.completions.push({ command: index, value })
    values.set(index, value)
    if (crash === 'after') throw new Crash()
  }

  /** Nobody can answer before the run says that it waits, and an answer ends that. */
  const canHappen = (index: number) => {
    const command = journal.commands[index]
    if (command?.kind !== 'answered') return true
    return mayAnswer && world.answer?.(command.suspension) !== undefined
  }

  return {
    start: (call) => ask({ kind: 'start', call }),
    sleep: (name, durationMs) => ask({ kind: 'sleep', name, durationMs }),
    now: (name) => ask({ kind: 'now', name }),
    answered: (suspension) => ask({ kind: 'answered', suspension }),
    readAnswer: (suspension, answerId) => ask({ kind: 'readAnswer', suspension, answerId }),
    note: (change) => void journal.changes.push(change),
    suspended: async () => {
      const index = asked
      ask({ kind: 'suspended' })
      if (!values.has(index)) record(index, { kind: 'suspended' })
      mayAnswer = true
    },
    race: async (promises) => {
      if (racing) throw new Error('two races at once')
      racing = true
      const handles = promises as unknown as readonly Handle[]
      const waiting = handles.map(({ command }) => command)
      await Promise.resolve()
      if (world.isCanceled?.(journal.completions.length)) throw new RunCanceled()
      let first = journal.completions.find(({ command }) => waiting.includes(command))
      if (!first) {
        const ready = waiting.filter(canHappen)
        const command = ready[world.choose?.(ready.length) ?? 0]
        const what = command === undefined ? undefined : journal.commands[command]
        if (command === undefined || !what) throw new Stuck()
        record(command, what)
        first = journal.completions.at(-1)
      }
      racing = false
      if (!first) throw new Stuck()
      if (journal.commands[first.command]?.kind === 'answered') mayAnswer = false
      return { index: waiting.indexOf(first.command), value: first.value }
    },
  }
}
