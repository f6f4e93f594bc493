import { rm, writeFile } from 'node:fs/promises'
import { pause } from './client.ts'
import { withDatabase } from './database.ts'
import { stack } from './stack-only.ts'

export interface Clock {
  /** Moves the clock of every process to this long after the real time. */
  setAhead(by: { days?: number; hours?: number; minutes?: number; seconds?: number }): Promise<void>
}

/** A credential seen a moment ago is believed for up to 900 ms of real time, whatever the clock says. */
const believedForMs = 1000

/** Hands the work a clock, and puts it right again whatever happens. */
export function withClock<T>(work: (clock: Clock) => Promise<T>): Promise<T> {
  return withDatabase(async (database) => {
    const define = (expression: string) =>
      database.query(
        `create or replace function guild_now() returns timestamptz language sql stable as $$ select ${expression} $$`,
      )
    const clock: Clock = {
      async setAhead({ days = 0, hours = 0, minutes = 0, seconds = 0 }) {
        const ahead = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        await define(`now() + interval '${ahead} seconds'`)
      },
    }
    try {
      return await work(clock)
    } finally {
      await define('now()')
    }
  })
}

/** Waits until no process goes by what it remembers of a credential. */
export function credentialsForgotten(): Promise<void> {
  return pause(believedForMs)
}

/** More than the time for which a process believes what it last read of its clock; see process-clock.ts. */
const processClockReadMs = 60

/**
 * Moves what the processes themselves take for the time, which only signed addresses go by, and puts it right
 * again whatever happens.
 */
export async function withProcessClock<T>(
  work: (setAhead: (seconds: number) => Promise<void>) => Promise<T>,
): Promise<T> {
  const { clockFile } = stack()
  const setAhead = async (seconds: number) => {
    await writeFile(clockFile, String(seconds * 1000))
    await pause(processClockReadMs)
  }
  try {
    return await work(setAhead)
  } finally {
    await rm(clockFile, { force: true })
    await pause(processClockReadMs)
  }
}
