import type { ModelMessage, ModelToolCall, ModelToolResult } from '#machinery/models/models.ts'
import { inputOf, type LogEvent, numberOf, textOf, wordOf } from './log-event.ts'
import { interrupted, messageText, noticeText, resultOf, type Speaker, withoutBeginning } from './said.ts'

export interface FoldOptions {
  /** The run's own credential: what it wrote is what the run is to do. */
  readonly speaker: Speaker
  /** Whose open calls stay open, for whoever goes on with it. */
  readonly ownRunId: string
  /** Outputs of tools before this sequence are only mentioned. */
  readonly leaveOutOutputsBefore?: number
}

export interface FoldedEntry {
  readonly message: ModelMessage
  /** Of the events that it comes from. */
  readonly sequences: readonly number[]
  /** Whether a person's message begins it: there a conversation can be cut. */
  readonly isMessage: boolean
}

/** A reply of the model, with what its tools gave. */
interface Turn {
  readonly runId: string | null
  /** The last message of a person that the model had heard when it said this. */
  readonly heard: number
  readonly sequences: number[]
  text: string
  readonly calls: ModelToolCall[]
  readonly results: Map<string, ModelToolResult>
}

const always = Number.POSITIVE_INFINITY

export class Fold {
  readonly #options: FoldOptions
  readonly #entries: FoldedEntry[] = []
  /** What people wrote to runs that have not taken it in yet: it is no part of the conversation before they do. */
  readonly #unheard: LogEvent[] = []
  #notices: LogEvent[] = []
  #turn: Turn | undefined

  constructor(options: FoldOptions) {
    this.#options = options
  }

  all(events: readonly LogEvent[]): readonly FoldedEntry[] {
    for (const event of events) this.#take(event)
    const turn = this.#turn
    if (turn && turn.runId === this.#options.ownRunId && openOf(turn).length > 0) {
      this.#write(turn)
      return this.#entries
    }
    this.#closeTurn()
    this.#listen(this.#options.ownRunId, always)
    // Between two replies of a run it can wait; otherwise what happened is what there is to answer.
    if (this.#last?.message.role !== 'tool') this.#tellNotices()
    return this.#entries
  }

  /** A user's text; what happened meanwhile is told with it. */
  say(text: string, from: readonly LogEvent[], isMessage = false): void {
    const texts = [...this.#notices.map(noticeText), text]
    const sequences = [...this.#notices, ...from].map(({ sequence }) => sequence)
    this.#notices = []
    this.#entries.push({ message: { role: 'user', text: texts.join('\n\n') }, sequences, isMessage })
  }

  /** What is in the log and is not told yet. */
  get untold(): readonly LogEvent[] {
    return [...this.#unheard, ...this.#notices]
  }

  #take(event: LogEvent): void {
    switch (event.type) {
      case 'user.message':
        this.#unheard.push(event)
        break
      case 'notification':
        this.#notices.push(event)
        break
      case 'agent.message':
        this.#speak(event)
        break
      case 'agent.tool_use':
        this.#call(event)
        break
      case 'agent.tool_result':
        this.#answer(event)
        break
      case 'run.finished':
        if (this.#turn?.runId === event.runId) this.#closeTurn()
        this.#listen(event.runId, always)
        break
    }
  }

  #speak(event: LogEvent): void {
    const text = textOf(event.payload['content'])
    if (text.trim() === '') return
    const turn = this.#turnFor(event, ({ calls }) => calls.length === 0)
    turn.text = turn.text === '' ? text : `${turn.text}\n\n${text}`
  }

  #call(event: LogEvent): void {
    const id = wordOf(event.payload['toolUseId'])
    const name = wordOf(event.payload['name'])
    if (id === '' || name === '') return
    const turn = this.#turnFor(event, ({ results }) => results.size === 0)
    if (turn.calls.some((call) => call.id === id)) return
    turn.calls.push({ id, name, input: inputOf(event) })
  }

  #answer(event: LogEvent): void {
    const turn = this.#turn
    const id = wordOf(event.payload['toolUseId'])
    const call = turn?.calls.find((asked) => asked.id === id)
    if (!turn || !call || turn.runId !== event.runId || turn.results.has(id)) return
    turn.results.set(id, resultOf(event, call, this.#options.leaveOutOutputsBefore ?? 0))
    turn.sequences.push(event.sequence)
  }

  /** The turn that the event belongs to: the one under way, if it is of the same reply, or a new one. */
  #turnFor({ runId, sequence, payload }: LogEvent, isSameReply: (turn: Turn) => boolean): Turn {
    const heard = numberOf(payload['readThrough']) ?? always
    const turn = this.#turn
    if (turn && turn.runId === runId && turn.heard === heard && isSameReply(turn)) {
      turn.sequences.push(sequence)
      return turn
    }
    this.#closeTurn()
    this.#listen(runId, heard)
    if (!this.#last) this.say(withoutBeginning, [])
    if (this.#last?.message.role === 'user') this.#tellNotices()
    const begun: Turn = { runId, heard, sequences: [sequence], text: '', calls: [], results: new Map() }
    this.#turn = begun
    return begun
  }

  /** A call that nobody will answer any more is said to have been interrupted. */
  #closeTurn(): void {
    const turn = this.#turn
    this.#turn = undefined
    if (!turn) return
    for (const { id: toolCallId, name } of openOf(turn))
      turn.results.set(toolCallId, { toolCallId, name, output: interrupted, isError: true })
    this.#write(turn)
  }

  #write({ sequences, text, calls, results }: Turn): void {
    const before = this.#last?.message.role === 'assistant' ? this.#entries.pop() : undefined
    const texts = [before?.message.role === 'assistant' ? before.message.text : '', text]
    const said = texts.filter((part) => part !== '').join('\n\n')
    this.#push({ role: 'assistant', text: said, toolCalls: calls }, [
      ...(before?.sequences ?? []),
      ...sequences,
    ])
    const given = calls.flatMap(({ id }) => results.get(id) ?? [])
    if (given.length > 0) this.#push({ role: 'tool', results: given }, sequences)
  }

  #push(message: ModelMessage, sequences: readonly number[]): void {
    this.#entries.push({ message, sequences, isMessage: false })
  }

  /** What was written to the run, or to nobody in particular, up to there. */
  #listen(runId: string | null, through: number): void {
    const isHeard = (event: LogEvent) =>
      (event.runId === runId || event.runId === null) && event.sequence <= through
    for (const event of this.#unheard.filter(isHeard))
      this.say(messageText(event, this.#options.speaker), [event], true)
    const others = this.#unheard.filter((event) => !isHeard(event))
    this.#unheard.splice(0, this.#unheard.length, ...others)
  }

  /** Beside what a user said last, or by themselves. */
  #tellNotices(): void {
    if (this.#notices.length === 0) return
    const notices = this.#notices
    this.#notices = []
    const text = notices.map(noticeText).join('\n\n')
    const last = this.#last
    if (last?.message.role === 'user') {
      const message = { role: 'user', text: `${last.message.text}\n\n${text}` } as const
      const sequences = [...last.sequences, ...notices.map(({ sequence }) => sequence)]
      this.#entries[this.#entries.length - 1] = { ...last, message, sequences }
    } else this.say(text, notices)
  }

  get #last(): FoldedEntry | undefined {
    return this.#entries.at(-1)
  }
}

function openOf({ calls, results }: Turn): ModelToolCall[] {
  return calls.filter(({ id }) => !results.has(id))
}
