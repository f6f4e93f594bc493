import type { Guildhall } from '@guildhall/sdk'
import type { Context } from '../context.ts'
import type { Shown } from '../output/safe-text.ts'
import { waitFor } from './waiting.ts'

type Body = Parameters<Guildhall['asks']['create']>[0]
export type AskAnswer = Awaited<ReturnType<Guildhall['asks']['poll']>>

export interface Question {
  body: Omit<Body, 'expires_in'>
  waitMs: number
  words: (approvalUrl: string) => Shown
  /** Resolves when it was answered here first; the ask is then taken back. */
  answeredHere?: (signal: AbortSignal) => Promise<AskAnswer>
}

const leastLifetimeSeconds = 60
const mostLifetimeSeconds = 86_400
const withdrawWithinMs = 2000

/**
 * Puts a question to the person's inbox and waits. However the wait ends without an answer, the ask is taken back:
 * nobody shall be asked on a phone about something that was settled or given up elsewhere. Should this process be
 * killed outright, the ask ends by itself soon after the wait would have.
 */
export async function askPerson(context: Context, client: Guildhall, question: Question): Promise<AskAnswer> {
  const lifetime = Math.ceil(question.waitMs / 1000) + 5
  const asked = await client.asks.create(
    { ...question.body, expires_in: Math.min(mostLifetimeSeconds, Math.max(leastLifetimeSeconds, lifetime)) },
    { signal: context.signal },
  )
  const withdraw = async (because: string) => {
    const options = { signal: AbortSignal.timeout(withdrawWithinMs), maxRetries: 0 }
    await client.asks.withdraw(asked.ask_id, { because }, options).catch(() => {})
  }
  const here = new AbortController()
  const remote = waitFor(context, {
    words: question.words(asked.approval_url),
    waitMs: question.waitMs,
    poll: (wait) =>
      client.asks.poll(asked.ask_id, { wait }, { signal: AbortSignal.any([context.signal, here.signal]) }),
    isOver: ({ status }) => status !== 'pending',
  })
  remote.catch(() => {})
  try {
    const answer = await Promise.race([
      remote,
      ...(question.answeredHere ? [question.answeredHere(here.signal)] : []),
    ])
    if (answer && answer.status !== 'pending') {
      const settledRemotely = await settled(remote, answer)
      if (!settledRemotely) await withdraw('Answered at the terminal')
      return answer
    }
    await withdraw('Nobody answered in time')
    return { status: 'expired' }
  } catch (error) {
    await withdraw(context.signal.aborted ? 'The agent stopped waiting' : 'The agent could not go on waiting')
    throw error
  } finally {
    here.abort()
  }
}

/** Whether this very answer came from the inbox. */
async function settled(remote: Promise<AskAnswer | undefined>, answer: AskAnswer): Promise<boolean> {
  return (await Promise.race([remote, Promise.resolve(undefined)])) === answer
}
