import { randomUUID } from 'node:crypto'
import { toDs } from '@guildhall/contract'
import { type Conversation, openCalls, type Usage, valueIn } from '#machinery/loop/loop.ts'
import type { ModelMessage, ModelReply, ModelToolCall, ModelToolResult } from '#machinery/models/models.ts'
import type { Tx } from '#platform/database.ts'
import { isPassing } from '#platform/database-errors.ts'
import { retry } from '#platform/retry.ts'
import { withoutSecrets } from '#platform/secrets.ts'
import { changeThread, type ThreadParts } from './changes.ts'
import { type ContextWindow, type Plan, planRoom } from './compaction.ts'
import { type FoldOptions, foldLog, type LogEvent } from './conversation.ts'
import { findSummary, insertOutputs, listLogged } from './event-store.ts'
import { actorOf, type Change, costLimitOf, type Ending, endRun, say, waitRun } from './lifecycle.ts'
import { cut, replyEvents, shownBytes } from './reply-events.ts'
import { authorOf, isForeign } from './said.ts'
import {
  type Caused,
  claimToolUse,
  updateResult,
  updateStep,
  updateSummary,
  updateTainted,
} from './step-store.ts'
import * as store from './store.ts'
import type { NewEvent } from './thread-log.ts'
import type { Wait } from './wait-store.ts'

/** Another attempt has the run, or it has ended: nothing more may be written as it. */
export class Fenced extends Error {
  override name = 'Fenced'
}

const done: Ending = { status: 'completed', stopReason: 'end_turn' }

function misfitTwice(problem: string): Ending {
  const message = `The agent twice gave what does not fit. ${problem}`
  return { status: 'failed', stopReason: 'error', code: 'AGENT_OUTPUT_INVALID', message }
}

/** A run in the hands of one attempt. */
export interface Held {
  readonly thread: store.ThreadRow
  readonly run: store.RunRow
  readonly attempt: number
}

interface Compacted {
  readonly throughSequence: number
  readonly keeps: number[]
  readonly summary: string
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** Which of those that its run had written. */
  readonly ordinal: number
}

/** The types of events that an agent is told of. */
const toldTypes = [
  'user.message',
  'run.started',
  'agent.message',
  'agent.tool_use',
  'agent.tool_result',
  'approval.required',
  'thread.compacted',
  'notification',
  'run.finished',
]

/** Of what a tool gave, for the model. */
const keptBytes = 64 * 1024
const patientMs = 20_000
const tryAgainMs = 250

/** A database that is away for a moment ends nothing; after a while it is left to the engine to call again. */
export function patiently<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + patientMs
  return retry(act, (error) =>
    signal.aborted || !isPassing(error) || performance.now() > deadline ? undefined : tryAgainMs,
  )
}

/**
 * The conversation of a run over its thread's log. What the model says and what tools give is written under the thread's
 * lock and only by the attempt that the thread names; with a reply goes what it used and, if it is the last one, the end of
 * the run: unless somebody has said something to it meanwhile.
 */
export class LogConversation implements Conversation {
  readonly #parts: ThreadParts
  readonly #held: Held
  readonly #signal: AbortSignal
  readonly #events: LogEvent[] = []
  readonly #remarks: ModelMessage[] = []
  readonly #notes: NewEvent[] = []
  #run: store.RunRow
  #readThrough = 0
  #lastRead = 0
  #cost: number
  /** What the run had cost before the loop that goes on now, and what summaries took since. */
  #costBeside = 0
  #leaveOutOutputsBefore = 0
  /** What calls had others do, until their results are written. */
  readonly #caused = new Map<string, Caused>()
  #labelOf: (call: ModelToolCall) => string = ({ name }) => name
  #isOver = false

  constructor(parts: ThreadParts, held: Held, signal: AbortSignal) {
    this.#parts = parts
    this.#held = held
    this.#run = held.run
    this.#cost = held.run.cost_milli_ds
    this.#signal = signal
  }

  /** As this attempt last wrote it. */
  get run(): store.RunRow {
    return this.#run
  }

  /** The run has ended with what the model said last. */
  get isOver(): boolean {
    return this.#isOver
  }

  get hasOpenCalls(): boolean {
    return openCalls(this.messages()).length > 0
  }

  /** Takes in what came into the log since. */
  async refresh(): Promise<void> {
    const { database } = this.#parts
    const { run, thread } = this.#held
    const found = await patiently(this.#signal, async () => {
      const summary = this.#lastRead === 0 ? await findSummary(database.db, thread) : undefined
      return listLogged(database.db, run.thread_row_id, {
        after: summary?.throughSequence ?? this.#lastRead,
        through: 2_147_483_647,
        types: toldTypes,
        besides: summary?.keeps ?? [],
      })
    })
    for (const { sequence, type, runId, payload, output } of found) {
      this.#lastRead = sequence
      this.#events.push({
        sequence,
        type,
        runId,
        payload: JSON.parse(payload),
        ...(output !== null && { output }),
      })
      if (type === 'user.message' && runId === run.run_id) this.#readThrough = sequence
    }
  }

  messages(): readonly ModelMessage[] {
    return [...foldLog(this.#events, this.#folding), ...this.#remarks]
  }

  get #folding(): FoldOptions {
    const leaveOutOutputsBefore = this.#leaveOutOutputsBefore
    return { speaker: actorOf(this.#run), ownRunId: this.#run.run_id, leaveOutOutputsBefore }
  }

  /** What to do for the next prompt to be short enough. */
  plan(window: ContextWindow): Plan {
    return planRoom(this.#events, this.#folding, window)
  }

  leaveOutOutputsBefore(sequence: number): void {
    this.#leaveOutOutputsBefore = sequence
  }

  /** How many this run has had written. */
  get summaries(): number {
    const last = this.#events.findLast(({ type }) => type === 'thread.compacted')
    return last?.runId === this.#run.run_id ? Number(last.payload['ordinal'] ?? 1) : 0
  }

  /** A loop begins: what it uses comes to what the run has cost so far. */
  beginCounting(): void {
    this.#costBeside = this.#run.cost_milli_ds
  }

  /** What the run has cost without what the loop has used that goes on now. */
  get costBeside(): number {
    return this.#costBeside
  }

  /** What the replies of a loop took in all, from which the cost of the next one to be kept is known. */
  spend({ costMilliDs }: Usage): void {
    this.#cost = this.#costBeside + costMilliDs
  }

  /** From now on the summary stands for what it reaches to. */
  async compact(cut: Omit<Compacted, 'ordinal'>, usage: Usage): Promise<void> {
    const payload = { ...cut, ordinal: this.summaries + 1, author: authorOf(actorOf(this.#run)) }
    await this.#paySummary(usage, this.#own({ type: 'thread.compacted', payload }))
    await this.refresh()
  }

  /** A summary came to nothing, and is paid all the same. */
  async pay(usage: Usage): Promise<void> {
    await this.#paySummary(usage, undefined)
  }

  async #paySummary(usage: Usage, event: NewEvent | undefined): Promise<void> {
    const cost = this.#run.cost_milli_ds + usage.costMilliDs
    await this.#write(async (tx, change, run) => {
      // Written before, by a try whose answer was lost.
      if (run.cost_milli_ds === cost && usage.costMilliDs > 0) return run
      const [said] = event ? await say(tx, change, [event]) : []
      return updateSummary(tx, run, { ...usage, sequence: said?.sequence ?? null })
    })
    this.#costBeside += usage.costMilliDs
  }

  /** Told with the reply that the other model gives. */
  noteFallback({ from, to }: { from: string; to: string }): void {
    const message = `The model ${from} could not answer; ${to} was asked instead`
    this.#notes.push({ type: 'error', payload: { code: 'MODEL_FALLBACK', message, recovered: true } })
  }

  async addReply(reply: ModelReply): Promise<void> {
    const readThrough = this.#readThrough
    const ordinal = this.#run.steps
    const isLast = reply.toolCalls.length === 0 && reply.stop !== 'length'
    const misfit = isLast ? this.#misfitOf(reply) : undefined
    const { run_id: runId } = this.#run
    const events = replyEvents(reply, { readThrough, runId, step: ordinal, labelOf: this.#labelOf })
    const notes = this.#notes.splice(0).map((note) => this.#own(note))
    await this.#write(async (tx, change, run) => {
      // Written before, by a try whose answer was lost.
      if (run.steps === ordinal + 1) return run
      if (run.steps !== ordinal) throw new Fenced('another attempt has answered this')
      const counted = await updateStep(tx, run, {
        inputTokens: reply.usage.inputTokens,
        outputTokens: reply.usage.outputTokens,
        costMilliDs: this.#cost,
        deliveredThrough: readThrough,
      })
      const cost = {
        cost: toDs(counted.cost_milli_ds),
        limit: toDs(costLimitOf(this.#parts.config, counted)),
      }
      await say(tx, change, notes)
      const all = [...events.map(({ event }) => event), this.#own({ type: 'run.cost', payload: cost })]
      const said = await say(tx, change, all)
      await insertOutputs(
        tx,
        run.thread_row_id,
        events.flatMap(({ whole }, index) => {
          const sequence = said[index]?.sequence
          return whole === undefined || sequence === undefined ? [] : [{ sequence, output: whole }]
        }),
      )
      if (!isLast || counted.last_message > readThrough) return counted
      // Told once what is wrong, as if whoever asked had said so: it is in the log for whoever goes on.
      const isRepaired = counted.last_message > counted.message_sequence
      if (misfit !== undefined && !isRepaired) return this.#objectTo(tx, change, counted, misfit)
      await endRun(tx, change, counted, misfit === undefined ? done : misfitTwice(misfit))
      return change.stopped.at(-1) ?? counted
    })
    this.#isOver = this.#run.status !== 'working'
    if (!this.#isOver) await this.refresh()
  }

  /** Why the last reply is not what was asked for. */
  #misfitOf({ text }: ModelReply): string | undefined {
    const { output_schema: schema } = this.#run
    const read = schema ? valueIn(text, schema) : undefined
    return read && 'problem' in read ? read.problem : undefined
  }

  async #objectTo(tx: Tx, change: Change, run: store.RunRow, content: string): Promise<store.RunRow> {
    const { userId, apiKeyId } = actorOf(run)
    const payload = { messageId: `msg_${randomUUID()}`, content, author: { userId, apiKeyId } }
    const [said] = await say(tx, change, [this.#own({ type: 'user.message', payload })])
    await store.updateMessages(tx, run.id, said?.sequence ?? 0)
    return (await store.findRunById(tx, run.id)) ?? run
  }

  async addResult({ toolCallId, output, isError }: ModelToolResult): Promise<void> {
    // Secrets of ours first: half of one would not be known as such.
    const kept = cut(withoutSecrets(output), keptBytes)
    const shown = cut(kept, shownBytes)
    let isRepeat = false
    await this.#write(async (tx, change, run) => {
      if (isRepeat && (await this.#hasResult(toolCallId))) return run
      isRepeat = true
      const payload = {
        toolUseId: toolCallId,
        isError,
        summary: shown,
        truncated: shown.length < output.length,
        sizeBytes: Buffer.byteLength(output),
      }
      const [said] = await say(tx, change, [this.#own({ type: 'agent.tool_result', payload })])
      if (said && shown.length < kept.length)
        await insertOutputs(tx, run.thread_row_id, [{ sequence: said.sequence, output: kept }])
      return updateResult(tx, run.id, this.#caused.get(toolCallId) ?? {})
    })
    await this.refresh()
  }

  /** How calls are called where people watch. */
  labelBy(labelOf: (call: ModelToolCall) => string): void {
    this.#labelOf = labelOf
  }

  /** To be kept with the result of the call. */
  noteCaused(toolUseId: string, caused: Caused): void {
    this.#caused.set(toolUseId, caused)
  }

  /** Whether anything was read that did not come from whom this run acts for. */
  get isTainted(): boolean {
    const speaker = actorOf(this.#run)
    return (
      this.#run.tainted ||
      this.#held.thread.tainted ||
      this.#events.some((event) => isForeign(event, speaker))
    )
  }

  async taint(): Promise<void> {
    if (this.#run.tainted) return
    await this.#write((tx, _change, run) => updateTainted(tx, run))
  }

  /** Notes that a call which cannot be repeated is about to be made; false when that was noted before. */
  async begin(toolUseId: string): Promise<boolean> {
    let isFirst = false
    await this.#write(async (tx, _change, run) => {
      const claimed = await claimToolUse(tx, run.id, toolUseId)
      isFirst = claimed !== undefined
      return claimed ?? run
    })
    return isFirst
  }

  addRemark(text: string): void {
    this.#remarks.push({ role: 'user', text })
  }

  /** Ends the run for another reason than that the agent has said all. */
  async end(ending: Ending): Promise<void> {
    await this.#write(async (tx, change, run) => {
      if (run.status !== 'working') return run
      await endRun(tx, change, run, ending)
      return change.stopped.at(-1) ?? run
    })
    this.#isOver = true
  }

  /** Puts the run aside until something has happened; then another attempt begins with the same call. */
  async wait(wait: Wait): Promise<void> {
    await this.#write(async (tx, change, run) => {
      await waitRun(tx, change, run, wait)
      return change.stopped.at(-1) ?? run
    })
  }

  async #hasResult(toolUseId: string): Promise<boolean> {
    await this.refresh()
    return this.#events.some(
      ({ type, payload }) => type === 'agent.tool_result' && payload['toolUseId'] === toolUseId,
    )
  }

  #own(event: NewEvent): NewEvent {
    return { ...event, runId: this.#run.run_id }
  }

  async #write(work: Work): Promise<void> {
    const { run, attempt } = this.#held
    const written = await patiently(this.#signal, () =>
      changeThread(this.#parts, run.thread_row_id, async (tx, change) => {
        const row = await store.findRunById(tx, run.id)
        const isOwn = change.thread.active_attempt === attempt && change.thread.active_run === run.id
        // What this attempt ended itself, in a try whose answer was lost, is no surprise.
        const isDone = row?.attempt === attempt && (row.status === 'completed' || row.status === 'failed')
        if (!row || (!isOwn && !isDone)) throw new Fenced('another attempt has the run, or it has ended')
        if (!isOwn) return row
        const after = await work(tx, change, row)
        // Known from the first write on: what a summary leaves out later was read all the same.
        return this.isTainted && !after.tainted ? updateTainted(tx, after) : after
      }),
    )
    if (!written) throw new Fenced('the thread is gone')
    this.#run = written
  }
}

type Work = (tx: Tx, change: Change, run: store.RunRow) => Promise<store.RunRow>
