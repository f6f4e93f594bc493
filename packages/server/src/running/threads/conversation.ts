import type { ModelMessage } from '#machinery/models/models.ts'
import { Fold, type FoldedEntry, type FoldOptions } from './fold.ts'
import { type LogEvent, numberOf, textOf } from './log-event.ts'
import { summaryText } from './said.ts'

export type { FoldedEntry, FoldOptions } from './fold.ts'
export type { LogEvent } from './log-event.ts'
export type { Speaker } from './said.ts'

/**
 * What a model is told of a thread. For every log, and wherever it breaks off: it begins with a user's text, no text is
 * empty, and each call of a tool has exactly one result directly after it. Only the last calls of the own run may lack
 * theirs: these are still to be used.
 */
export function foldLog(events: readonly LogEvent[], options: FoldOptions): ModelMessage[] {
  return foldEntries(events, options).entries.map(({ message }) => message)
}

export interface Folded {
  readonly entries: readonly FoldedEntry[]
  /** Sequences of what is in the log and is not told yet. */
  readonly untold: readonly number[]
  /** How far the newest summary reaches. */
  readonly summarizedThrough: number
}

/** The same, with where in the log each message comes from. */
export function foldEntries(events: readonly LogEvent[], options: FoldOptions): Folded {
  const fold = new Fold(options)
  const newest = events.findLast(({ type }) => type === 'thread.compacted')
  const { summary, throughSequence, keeps } = newest?.payload ?? {}
  if (newest) fold.say(summaryText(textOf(summary)), [])
  const summarizedThrough = numberOf(throughSequence) ?? 0
  const kept = new Set(Array.isArray(keeps) ? keeps : [])
  const entries = fold.all(
    events.filter(({ sequence }) => sequence > summarizedThrough || kept.has(sequence)),
  )
  return { entries, untold: fold.untold.map(({ sequence }) => sequence), summarizedThrough }
}
