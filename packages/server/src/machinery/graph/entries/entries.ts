import type { EntryType } from '../reading.ts'
import { agent } from './agent.ts'
import { conditional } from './conditional.ts'
import { foreach } from './foreach.ts'
import { loop } from './loop.ts'
import { mapping } from './mapping.ts'
import { parallel } from './parallel.ts'
import { sleep, sleepUntil } from './sleep.ts'
import { tool } from './tool.ts'

/** Every type of entry by its name in a definition. */
export const entryTypes: Readonly<Record<string, EntryType>> = {
  agent,
  tool,
  mapping,
  sleep,
  sleepUntil,
  parallel,
  conditional,
  loop,
  foreach,
}
