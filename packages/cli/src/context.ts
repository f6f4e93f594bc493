import type { Guildhall } from '@guildhall/sdk'
import type { Input } from './input.ts'
import type { Output } from './output/output.ts'
import type { Settings } from './settings.ts'
import type { Signals } from './signals.ts'

/** Now: somebody signs in for this very command, whatever else there is. */
export type Presence = 'now' | 'kept is enough'

/** What a command gets. */
export interface Context {
  command: { readonly name: string }
  input: Input
  settings: Settings
  out: Output
  signals: Signals
  /** Ends with the command: ^C, SIGTERM, --timeout. */
  signal: AbortSignal
  /** What is done when the command is over, however it ended. */
  atEnd: (() => Promise<void>)[]
  /** Acts with the agent's key; fails with exit 4 where there is none. */
  client: () => Promise<Guildhall>
  /** Acts as the person: their session lives as long as this command, or is one that they chose to keep. */
  person: (presence?: Presence) => Promise<Guildhall>
}
