import { setTimeout as delay } from 'node:timers/promises'
import type { Answer } from '../../support/caller.ts'
import { type Attempt, isSuccess, isUnclear, type Operation } from './history.ts'

/** How long one request is waited for; a paused process answers later than that, or never. */
const answerWithinMs = 12_000
const operationWithinMs = 40_000
const longestWaitMs = 1000
const shownChars = 300

type Told = (answer: Answer) => unknown

export interface Intent extends Pick<Operation, 'id' | 'sort' | 'workspaceId'> {
  readonly target?: string
  readonly keyId?: number
  readonly kind?: string
  /** Sent again, alike, after every fault. */
  send(attempt: number, signal: AbortSignal): Promise<Answer>
  /** What the answer says was made or seen. */
  readonly told?: Told
  /** What is said in one attempt and in no other. */
  said?(attempt: number): string
  /** A refusal for now: worth another try. */
  waits?(answer: Answer): boolean
  /** A refusal that says the same as yes, when an attempt before had no clear answer: it was done by that one. */
  isDone?(answer: Answer): boolean
}

/** Does one thing as a careful client would, and gives what happened. */
export async function perform(intent: Intent): Promise<Operation> {
  const attempts: Attempt[] = []
  const end = performance.now() + operationWithinMs
  let succeeded = false
  for (let n = 0; ; n++) {
    const { attempt, answer } = await attemptOnce(intent, n)
    const wasUnclear = attempts.some(isUnclear)
    attempts.push(attempt)
    succeeded = isSuccess(attempt) || (wasUnclear && answer !== undefined && intent.isDone?.(answer) === true)
    // Also when it says that nothing was done: a client tries again, and must not have got two for it.
    const isFault = attempt.status === null || attempt.status >= 500
    const again = isFault || (answer !== undefined && intent.waits?.(answer) === true)
    if (succeeded || !again || performance.now() > end) break
    await delay(Math.min(150 * 2 ** n, longestWaitMs) * (0.5 + Math.random()))
  }
  const { id, sort, workspaceId, target = null, keyId = null, kind = null } = intent
  return { id, sort, workspaceId, target, keyId, kind, attempts, succeeded }
}

async function attemptOnce(intent: Intent, n: number): Promise<{ attempt: Attempt; answer?: Answer }> {
  const sentAt = Date.now()
  const said = intent.said?.(n)
  const more = said === undefined ? {} : { said }
  try {
    const answer = await intent.send(n, AbortSignal.timeout(answerWithinMs))
    const { status, text } = answer
    const told = isSuccess({ status }) ? intent.told?.(answer) : undefined
    const shown = text.slice(0, shownChars)
    const heard = {
      status,
      code: codeOf(answer),
      told: told === undefined ? null : String(told),
      text: shown,
    }
    return { attempt: { sentAt, answeredAt: Date.now(), ...heard, ...more }, answer }
  } catch (error) {
    const text = `${(error as Error).name}: ${String((error as Error).cause ?? (error as Error).message)}`
    return {
      attempt: { sentAt, answeredAt: Date.now(), status: null, code: null, told: null, text, ...more },
    }
  }
}

/** Flat on some routes, inside on others. */
export function codeOf({ body }: Pick<Answer, 'body'>): string | null {
  const error = body?.error
  return (typeof error === 'string' ? error : error?.code) ?? null
}
