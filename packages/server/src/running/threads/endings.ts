import { chatLimits, type LoopOutcome } from '#machinery/loop/loop.ts'
import { ModelError } from '#machinery/models/models.ts'
import { isPassing } from '#platform/database-errors.ts'
import type { Ending } from './lifecycle.ts'
import { Fenced } from './log-conversation.ts'

/** This process stops: another worker goes on from the log. */
export class Stopping extends Error {
  override name = 'Stopping'
}

/** The run must end, for what was found before a step. */
export class Over extends Error {
  readonly ending: Ending

  constructor(ending: Ending) {
    super(ending.message)
    this.ending = ending
  }
}

export const cutOff: Ending = {
  status: 'failed',
  stopReason: 'limit_reached',
  code: 'REPLY_TOO_LONG',
  message: `A reply was longer than ${chatLimits.outputTokens} tokens and was cut off; ask for less`,
}

/** Undefined when the reply that was the last has ended the run, or somebody has said something to it meanwhile. */
export function endOf(outcome: LoopOutcome<unknown>): Ending | undefined {
  const failed = { status: 'failed', stopReason: 'limit_reached' } as const
  switch (outcome.end) {
    case 'answered':
      return undefined
    case 'cut':
      return cutOff
    case 'too_many_steps':
      return {
        ...failed,
        code: 'TOO_MANY_STEPS',
        message: `A run has at most ${chatLimits.steps} steps; ask for less at a time`,
      }
    case 'tool_loop':
      return {
        status: 'failed',
        stopReason: 'error',
        code: 'TOOL_LOOP',
        message: 'The agent went on making the same call; say differently what you want',
      }
    case 'limit_reached':
      return {
        ...failed,
        ...(outcome.limitedBy === 'key_limit' && { code: 'KEY_SPEND_LIMIT' }),
        message:
          outcome.limitedBy === 'max_cost'
            ? 'The run has used what it may cost at most; send again with a higher maxCost'
            : 'There are too few credits to go on; add credits or raise the limit of the key',
      }
    default:
      return { status: 'failed', stopReason: 'error', code: 'INTERNAL_ERROR' }
  }
}

/** How a failure ends a run; undefined when it does not, because somebody else goes on. */
export function endingOf(error: unknown): Ending | undefined {
  if (error instanceof Fenced || error instanceof Stopping || isPassing(error)) return undefined
  if (error instanceof Over) return error.ending
  const failed = { status: 'failed', stopReason: 'error' } as const
  if (error instanceof ModelError) return { ...failed, code: 'MODEL_FAILED', message: error.message }
  // A fault of ours would come again and again, and the model be asked each time.
  return {
    ...failed,
    code: 'INTERNAL_ERROR',
    message: 'Something went wrong on our side; send the message again',
  }
}
