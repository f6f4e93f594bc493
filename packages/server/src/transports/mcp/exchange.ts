import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { EventsAnswer } from '#operations/answer.ts'
import { ApiError } from '#operations/errors.ts'
import type { Bearer } from '#operations/signed-url.ts'
import type { Bus } from '#platform/bus.ts'
import type { KeyRing } from '#platform/secrets.ts'
import type { OperationCaller } from './caller.ts'
import { isRequestId, type RequestId, RpcError, type RpcRequest } from './message.ts'
import { type Place, readState, type SessionNote, sealEvent, sealState } from './sealed.ts'
import { isRecord, type RecordOf } from './shapes.ts'

/** An answer of events that stays open. */
interface FrameWriter {
  readonly open: boolean
  write(frames: string): boolean
  drained(): Promise<void>
  end(): void
}

export interface ExchangeParts {
  readonly bus: Bus
  readonly signingKeys: KeyRing
  /** Aborted when the process begins to stop: who waits answers what there is. */
  readonly stopping: AbortSignal
  /** Holds it under the credential, with which it ends, or with the rights that it needs beside. */
  openStream(
    bearer: Bearer,
    seat: { take(stream: FrameWriter): void; leave(): void },
    rights?: { confirm(): Promise<void>; readonly isBrief: boolean },
  ): Promise<EventsAnswer>
  /** Calls `end` when the credential does. Undefined when it has ended. */
  hold(
    bearer: Bearer,
    end: (because: 'credential_ended' | 'too_many') => void,
  ): Promise<{ release(): void } | undefined>
  /** Another text whenever something has come of it; another first word when its state is another. Undefined: not here. */
  findMark(kind: Place['kind'], workspaceId: string, id: string): Promise<string | undefined>
  listSkills(workspaceId: string, asked: SkillsAsked): Promise<SkillFacts[]>
}

/** A page of the library, of those that have every word. */
export interface SkillsAsked {
  readonly words?: readonly string[]
  readonly slug?: string
  readonly limit: number
  readonly offset: number
}

/** A skill without its instructions: one of megabytes must not take the others away. */
export interface SkillFacts {
  readonly slug: string
  readonly name: string
  readonly description: string
  readonly filesCount: number
  readonly sizeBytes: number
  /** How its instructions begin. */
  readonly head: string
  readonly digest: string | null
}

/** Where no library goes on. */
const beyond = 1_000_000_000

interface Given {
  readonly request: RpcRequest
  readonly response: ServerResponse
  readonly caller: OperationCaller
  readonly session: SessionNote | undefined
  /** Aborted when the client has gone. */
  readonly gone: AbortController
  readonly takesEvents: boolean
}

export const replyChannel = (credential: string, id: RequestId) => `mcp.reply:${credential}:${id}`
export const cancelChannel = (credential: string, word: string, id: RequestId) =>
  `mcp.cancel:${credential}:${word}:${typeof id}:${id}`

/** The first revision whose clients take an event without a message. */
const primedSince = '2025-11-25'

/**
 * One request and its answer, which is JSON unless there is something to say before the result. A modern client that loses
 * an open stream notices nothing until its own time is up, so none is opened without need.
 */
export class Exchange {
  readonly request: RpcRequest
  readonly caller: OperationCaller
  readonly signal: AbortSignal
  readonly stopping: AbortSignal
  readonly bus: Bus
  /** What the client was asked before and has answered, by name. */
  answers: RecordOf | undefined
  /** What was sealed for this call when the client was asked. */
  state: unknown
  readonly #parts: ExchangeParts
  readonly #given: Given
  #stream: FrameWriter | undefined
  #place: (() => Place) | undefined
  #isFinished = false
  #refusal: ApiError | undefined

  constructor(parts: ExchangeParts, given: Given) {
    this.#parts = parts
    this.#given = given
    this.request = given.request
    this.caller = given.caller
    this.bus = parts.bus
    this.stopping = parts.stopping
    this.signal = given.gone.signal
    given.response.on('close', () => {
      if (!this.#isFinished) given.gone.abort()
    })
    const { inputResponses, requestState } = given.request.params
    if (given.request.era !== 'modern') return
    this.answers = isRecord(inputResponses) ? inputResponses : undefined
    if (requestState !== undefined) this.state = this.#readState(requestState)
  }

  get credential(): string {
    return this.caller.principal.credential
  }

  /** Whether the client can be shown an address, or a form. */
  get elicits(): { readonly url: boolean; readonly form: boolean } {
    const { request } = this
    const { session } = this.#given
    if (request.era === 'legacy')
      return { url: session?.elicitsUrl ?? false, form: session?.elicitsForm ?? false }
    const { elicitation } = request.capabilities
    const url = elicitation?.url !== undefined
    return { url, form: elicitation !== undefined && (elicitation.form !== undefined || !url) }
  }

  get hasTasks(): boolean {
    const { era, capabilities } = this.request
    return era === 'modern' && capabilities.extensions?.['io.modelcontextprotocol/tasks'] !== undefined
  }

  get clientName(): string | undefined {
    return this.request.clientName ?? this.#given.session?.name
  }

  /** What the client wants to be told how far the work is under; undefined when it does not. */
  get progressToken(): RequestId | undefined {
    const token = this.request.meta['progressToken']
    return isRequestId(token) && this.#given.takesEvents ? token : undefined
  }

  /** From now on the stream can be gone on with from its last event, in any process. */
  resumeAt(place: () => Place): void {
    if (this.request.era === 'legacy' && this.progressToken !== undefined) this.#place = place
  }

  async progress(progress: number, message?: string, total?: number): Promise<void> {
    const progressToken = this.progressToken
    if (progressToken === undefined) return
    const told = { progressToken, progress, ...(total !== undefined && { total }) }
    await this.notify('notifications/progress', { ...told, ...(message !== undefined && { message }) })
  }

  async notify(method: string, params: RecordOf): Promise<void> {
    if (await this.openStream()) this.#write({ jsonrpc: '2.0', method, params })
  }

  /** Resolves when the client has read enough to be told more, or has gone: until then nothing piles up for it. */
  drained(): Promise<void> {
    return this.#stream?.drained() ?? Promise.resolve()
  }

  /** False when the client takes no events, or has gone. Ends when `confirm` refuses, which is asked from time to time. */
  async openStream(confirm?: () => Promise<void>): Promise<boolean> {
    const { takesEvents, response } = this.#given
    if (this.#stream) return this.#stream.open
    if (!takesEvents || this.signal.aborted) return false
    const seat = {
      take: (stream: FrameWriter) => {
        this.#stream = stream
      },
      leave: () => {},
    }
    const rights = confirm && { confirm, isBrief: false }
    const answer = await this.#parts.openStream(this.caller.principal, seat, rights)
    if (this.signal.aborted) {
      answer.abandon()
      return false
    }
    answer.open({ response, headers: {} })
    this.#prime()
    return true
  }

  /**
   * Asks a legacy client on its open answer. What it says may reach any process, and finds this one over the bus.
   * Undefined when it cannot be asked, or `orWhen` came first.
   */
  async ask(
    method: string,
    params: RecordOf,
    orWhen?: (signal: AbortSignal) => Promise<void>,
  ): Promise<RecordOf | undefined> {
    if (!(await this.openStream())) return undefined
    const id = `ask-${randomUUID()}`
    const over = new AbortController()
    const signal = AbortSignal.any([this.signal, this.stopping, over.signal])
    const replied = new Promise<RecordOf | undefined>((resolve) => {
      const leave = this.bus.listen(replyChannel(this.credential, id), (text) => resolve(JSON.parse(text)))
      signal.addEventListener('abort', () => {
        leave()
        resolve(undefined)
      })
    })
    const told = params['mode'] === 'url' ? { ...params, elicitationId: id } : params
    this.#write({ jsonrpc: '2.0', id, method, params: told })
    try {
      return await Promise.race([replied, ...(orWhen ? [orWhen(signal).then(() => undefined)] : [])])
    } finally {
      over.abort()
    }
  }

  /** Waits for as long as the credential is good and nobody says that it need not go on. */
  async whileWanted<T>(wait: () => Promise<T>): Promise<T> {
    const { gone } = this.#given
    const { kind, credentialId, userId, workspaceId } = this.caller.principal
    const held = await this.#parts.hold({ kind, credentialId, userId, workspaceId }, (because) => {
      this.#refusal = because === 'too_many' ? tooMany() : credentialEnded()
      gone.abort()
    })
    if (!held) throw credentialEnded()
    const stop = this.#heedCancel()
    try {
      return await wait()
    } finally {
      stop()
      held.release()
    }
  }

  /** Why a wait was broken off, if not by the client. */
  get refusal(): ApiError | undefined {
    return this.#refusal
  }

  findMark(kind: Place['kind'], id: string): Promise<string | undefined> {
    return this.#parts.findMark(kind, this.caller.principal.workspaceId, id)
  }

  /** Asks for what there cannot be: whoever may read the library is told that there is nothing, and reads it here. */
  async listSkills(asked: SkillsAsked): Promise<SkillFacts[]> {
    await this.caller.perform('listSkills', { query: { limit: 1, offset: beyond } })
    return this.#parts.listSkills(this.caller.principal.workspaceId, asked)
  }

  /** Stops waiting when a legacy client says that it does not wait any more. Gives what ends the listening. */
  #heedCancel(): () => void {
    const { session, request, gone } = this.#given
    if (request.era !== 'legacy' || session === undefined) return () => {}
    return this.bus.listen(cancelChannel(this.credential, session.word, request.id), () => gone.abort())
  }

  sealState(value: unknown): string {
    const { method, params } = this.request
    return sealState(this.#parts.signingKeys, { credential: this.credential, method, params }, value)
  }

  /** Writes the answer and ends it. */
  finish(
    message: RecordOf,
    { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
  ): void {
    if (this.#isFinished) return
    this.#isFinished = true
    const { response } = this.#given
    if (this.#stream) {
      this.#write(message)
      this.#stream.end()
    } else if (!response.headersSent) {
      answerJson(response, status, message, headers)
    }
  }

  /** Ends without a word: whoever asked does not wait any more. */
  leave(): void {
    if (this.#isFinished) return
    this.#isFinished = true
    if (this.#stream) this.#stream.end()
    else if (!this.#given.response.headersSent) answerEmpty(this.#given.response)
  }

  /** Whether something has been said, so that a refusal cannot have a status of its own any more. */
  get isStreaming(): boolean {
    return this.#stream !== undefined
  }

  #readState(sealed: unknown): unknown {
    const { id, method, params } = this.request
    const asked = { credential: this.credential, method, params }
    const state = typeof sealed === 'string' ? readState(this.#parts.signingKeys, asked, sealed) : undefined
    if (!state)
      throw new RpcError('invalidParams', 'Invalid or expired requestState; make the call anew without it', {
        id,
      })
    return state.value
  }

  /** Told first, so that a client that is cut off before the first message can come back too. */
  #prime(): void {
    if (!this.#place || (this.#given.session?.version ?? '') < primedSince) return
    this.#stream?.write(`id: ${this.#eventId(this.#place())}\nretry: 500\ndata: \n\n`)
  }

  #write(message: RecordOf): void {
    const id = this.#place ? `id: ${this.#eventId(this.#place())}\n` : ''
    this.#stream?.write(`event: message\n${id}data: ${JSON.stringify(message)}\n\n`)
  }

  #eventId(place: Place): string {
    const note = { ...place, id: this.request.id, token: this.progressToken ?? '' }
    return sealEvent(this.#parts.signingKeys, this.credential, note)
  }
}

function credentialEnded(): ApiError {
  return new ApiError('UNAUTHORIZED', { message: 'The credential of this request has ended' })
}

function tooMany(): ApiError {
  return new ApiError('RATE_LIMITED', {
    message: 'Too many calls of this credential wait at once; the oldest was ended',
    retryAfterSeconds: 1,
  })
}

export function answerJson(
  response: ServerResponse,
  status: number,
  message: RecordOf,
  headers: Readonly<Record<string, string>> = {},
): void {
  answerText(response, status, JSON.stringify(message), headers)
}

export function answerText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  // The head goes with the text: one that is too much to be held is refused, which has a head of its own.
  response.statusCode = status
  response.setHeaders(new Map(Object.entries({ 'content-type': 'application/json', ...headers })))
  response.end(text)
}

/** That a message was taken which has no answer. */
export function answerEmpty(response: ServerResponse): void {
  response.writeHead(202, { 'content-length': 0 })
  response.end()
}
