import { setTimeout as delay } from 'node:timers/promises'
import type { Caller, Person } from '../support/caller.ts'
import { eventOf, framesOf, streamUrlOf } from '../support/executions.ts'
import type { Reading } from './execution-history.ts'

/** Less than an address of a stream is good for. */
const addressForMs = 40_000
const framesPerCut = 1

export interface ReadOptions {
  readonly reader: string
  /** How often to break off, each time after one event. */
  readonly cuts: number
  readonly withinMs: number
  /** The one process to read from; any, if left out. */
  readonly processUrl?: string
}

/**
 * Reads the log of an execution to its end, however often the connection breaks: by itself or by what it runs into. After
 * each break it goes on from the last event it saw.
 */
export async function readToEnd(
  app: Caller,
  person: Person,
  executionId: string,
  { reader, cuts, withinMs, processUrl }: ReadOptions,
): Promise<Reading> {
  const frames: string[] = []
  const addresses = addressSource(() => streamUrlOf(app, person, executionId))
  const end = performance.now() + withinMs
  let made = 0
  let ended = false
  let trouble: unknown
  while (!ended || made < cuts) {
    if (performance.now() > end) {
      throw new Error(`${executionId}: not read to its end after ${withinMs} ms`, { cause: trouble })
    }
    // What ended too early for all cuts is read again from somewhere, and what comes takes the place of what came.
    const from = ended ? Math.floor(Math.random() * (frames.length - 1)) : frames.length
    const most = made < cuts ? framesPerCut : Number.POSITIVE_INFINITY
    try {
      const address = await addresses.next()
      const url = new URL(`${address}&lastSeq=${from}`)
      if (processUrl !== undefined) url.host = new URL(processUrl).host
      const part = await readPart(url, most, end - performance.now())
      frames.splice(from, part.frames.length, ...part.frames)
      if (part.cut) made++
      ended ||= part.frames.some((frame) => eventOf(frame).type === 'session.status_idle')
      if (part.frames.length === 0) await delay(100)
    } catch (error) {
      trouble = error
      addresses.forget()
      await delay(100)
    }
  }
  return { reader, frames, cuts: made }
}

function addressSource(ask: () => Promise<string>) {
  let known: { address: string; until: number } | undefined
  return {
    next: async () => {
      if (!known || performance.now() > known.until) {
        known = { address: await ask(), until: performance.now() + addressForMs }
      }
      return known.address
    },
    forget: () => {
      known = undefined
    },
  }
}

/** What one connection gives, up to so many events; then it is cut, and what else was under way is lost. */
async function readPart(url: URL, most: number, withinMs: number) {
  const leaving = new AbortController()
  const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(Math.max(1, Math.ceil(withinMs)))])
  const response = await fetch(url, { signal })
  if (response.status !== 200) throw new Error(`the stream answered ${response.status}`)
  const decoder = new TextDecoder()
  let text = ''
  const frames = () => framesOf(text.slice(0, text.lastIndexOf('\n\n') + 2)).slice(0, most)
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      if (frames().length === most) leaving.abort()
    }
  } catch {
    // Cut from here, or broken from the other side: what came whole counts.
  }
  return { frames: frames(), cut: leaving.signal.aborted }
}
