import type { ModelMessage, ModelTool } from '#machinery/models/models.ts'
import {
  type Folded,
  type FoldedEntry,
  type FoldOptions,
  foldEntries,
  type LogEvent,
} from './conversation.ts'

/** What a model takes in, and what is known of how it counts. */
export interface ContextWindow {
  readonly contextTokens: number
  /** What comes before the conversation in each prompt. */
  readonly system: string
  readonly tools: readonly ModelTool[]
  /** What the provider counted last, and what was expected of the same prompt. */
  readonly counted?: { readonly tokens: number; readonly expected: number }
}

/** Where a conversation is cut: what comes before becomes a summary. */
interface Cut {
  readonly throughSequence: number
  /** Sequences up to there that the summary does not stand for: they were told later, or not yet. */
  readonly keeps: readonly number[]
  readonly replaced: readonly ModelMessage[]
  /** What the summary must be shorter than. */
  readonly replacedTokens: number
}

/** What to do before the next prompt; `expected` is the size of the prompt if nothing more is done. */
export type Plan = { readonly leaveOutOutputsBefore: number; readonly expected: number } & (
  | { readonly kind: 'fits' }
  | { readonly kind: 'summarize'; readonly cut: Cut }
  | { readonly kind: 'too_long' }
)

/** Of what a model takes in: how full it may be before a step, how much stays as it was said, how long a summary gets. */
const fullShare = 0.75
const keptShare = 0.25
const summaryShare = 0.125
const mostSummaryTokens = 4096
/** Steps of which the outputs of tools stay whole. */
const wholeSteps = 3

/** How long a summary may be. */
export function summaryTokens(contextTokens: number): number {
  return Math.min(mostSummaryTokens, Math.floor(contextTokens * summaryShare))
}

/**
 * Whether the next prompt is too long, and what to do about it. First old outputs of tools are left out, which costs
 * nothing; then everything up to a person's message is to be summarized. The log itself is never changed.
 */
export function planRoom(events: readonly LogEvent[], options: FoldOptions, window: ContextWindow): Plan {
  const { leaveOutOutputsBefore: before = 0 } = options
  const now = foldEntries(events, options)
  const full = window.contextTokens * fullShare
  const whole = { leaveOutOutputsBefore: before, expected: expectedTokens(window, messagesOf(now)) }
  if (sizeOf(window, whole.expected) <= full) return { ...whole, kind: 'fits' }
  const leaveOutOutputsBefore = Math.max(before, beginOfLastSteps(now.entries))
  const lean = foldEntries(events, { ...options, leaveOutOutputsBefore })
  const left = { leaveOutOutputsBefore, expected: expectedTokens(window, messagesOf(lean)) }
  if (sizeOf(window, left.expected) <= full) return { ...left, kind: 'fits' }
  const cut = findCut(lean, window)
  return cut ? { ...left, kind: 'summarize', cut } : { ...left, kind: 'too_long' }
}

/** Of a prompt, roughly: four plain letters make a token, any other letter may be one by itself. */
export function expectedTokens({ system, tools }: ContextWindow, messages: readonly ModelMessage[]): number {
  return roughTokens(system) + roughTokens(JSON.stringify(tools)) + tokensOf(messages)
}

function tokensOf(messages: readonly ModelMessage[]): number {
  return roughTokens(JSON.stringify(messages))
}

function roughTokens(text: string): number {
  let plain = 0
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) < 128) plain++
  return Math.ceil(plain / 4) + (text.length - plain)
}

/** What the provider counted, and what is new since; counted as dear as it counted the rest, if that was dearer. */
function sizeOf({ counted }: ContextWindow, expected: number): number {
  if (!counted) return expected
  const grown = expected - counted.expected
  return counted.tokens + (grown > 0 ? grown * dearness(counted) : grown)
}

function dearness(counted: ContextWindow['counted']): number {
  return counted && counted.expected > 0 ? Math.max(1, counted.tokens / counted.expected) : 1
}

function messagesOf({ entries }: Folded): ModelMessage[] {
  return entries.map(({ message }) => message)
}

function beginOfLastSteps(entries: readonly FoldedEntry[]): number {
  const steps = entries.filter(({ message }) => message.role === 'assistant')
  return steps.at(-wholeSteps)?.sequences[0] ?? 0
}

/** At the first message from which on the rest is short enough to stay, or else at the last that helps at all. */
function findCut(folded: Folded, window: ContextWindow): Cut | undefined {
  const { entries, untold, summarizedThrough } = folded
  const rests = restsOf(entries, dearness(window.counted))
  const restAt = (index: number) => rests[index] ?? 0
  const places = entries.flatMap(({ isMessage }, index) => (isMessage && index > 0 ? [index] : []))
  const place =
    places.find((index) => restAt(index) <= window.contextTokens * keptShare) ??
    places.findLast((index) => helps(window, restAt(index)))
  if (place === undefined) return undefined
  const before = entries.slice(0, place)
  const replaced = before.map(({ message }) => message)
  const replacedTokens = tokensOf(replaced)
  // A summary as long as this would help nobody.
  if (replacedTokens <= summaryTokens(window.contextTokens)) return undefined
  const throughSequence = before
    .flatMap(({ sequences }) => sequences)
    .reduce((last, sequence) => Math.max(last, sequence), summarizedThrough)
  const later = [...entries.slice(place).flatMap(({ sequences }) => sequences), ...untold]
  const keeps = [...new Set(later)].filter((sequence) => sequence <= throughSequence)
  return { throughSequence, keeps: keeps.sort((a, b) => a - b), replaced, replacedTokens }
}

/** For each entry how much it and all that follow take. */
function restsOf(entries: readonly FoldedEntry[], rate: number): number[] {
  const rests: number[] = []
  for (const { message } of entries.toReversed()) rests.push((rests.at(-1) ?? 0) + rate * tokensOf([message]))
  return rests.reverse()
}

/** Whether there is room again with that much of the conversation left beside a summary. */
function helps(window: ContextWindow, restTokens: number): boolean {
  const frame = dearness(window.counted) * expectedTokens(window, [])
  return frame + summaryTokens(window.contextTokens) + restTokens <= window.contextTokens * fullShare
}
