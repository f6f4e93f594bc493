import type { Context } from './context.ts'
import type { ExitCode } from './exit-codes.ts'
import type { Typed } from './flags.ts'

/** Resolves to an exit code where it is not 0. */
export type Handler = (context: Context) => Promise<ExitCode | undefined>

export interface Command extends Typed {
  summary: string
  /** More, in whole sentences. */
  words?: string
  /** What it acts with. none: nothing is sent, or nothing that is secret. */
  needs: 'none' | 'key' | 'person'
  examples: readonly string[]
  /** Codes beside 0, 2, 4, 11 and 70, which every command may give. */
  exits: readonly ExitCode[]
  /** Writes one line of JSON per event with --json, then `guild.result`. */
  streams?: true
  /** Its caller takes every number but 0 and 2 for leave to go on: whatever goes wrong, it ends with 2. */
  failsClosed?: true
  /** What it does; help has none, the program shows it before anything else is loaded. */
  load?: () => Promise<Handler>
}
