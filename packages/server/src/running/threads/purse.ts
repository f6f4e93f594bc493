import { type Allowance, findReservation, raiseReservation } from '#accounts/billing/billing.ts'
import type { ThreadParts } from './changes.ts'
import { firstMilliDs, leftOf, reservationOf } from './lifecycle.ts'
import { type LogConversation, patiently } from './log-conversation.ts'

/** Of what a prompt is estimated to cost: scripts other than ours have more tokens than letters let expect. */
const caution = 3

/**
 * What a segment of a run may spend. What is set aside rises with what the next reply may cost, never beyond what the
 * run may cost in all: a run that is cheap keeps nobody else from starting.
 */
export class Purse {
  readonly #parts: ThreadParts
  readonly #conversation: LogConversation
  readonly #signal: AbortSignal
  readonly #worstMilliDs: () => number

  /** `worstMilliDs`: what the next reply is estimated to cost at most. */
  constructor(
    parts: ThreadParts,
    conversation: LogConversation,
    worstMilliDs: () => number,
    signal: AbortSignal,
  ) {
    this.#parts = parts
    this.#conversation = conversation
    this.#worstMilliDs = worstMilliDs
    this.#signal = signal
  }

  /** What is left when so much of the run's cost is seen as spent. */
  async left(costMilliDs: number): Promise<Allowance> {
    const { database, config } = this.#parts
    const { run } = this.#conversation
    const name = reservationOf(run)
    const used = run.cost_milli_ds - run.settled_milli_ds
    const most = leftOf(config, run)
    const next = Math.max(firstMilliDs, caution * this.#worstMilliDs())
    const find = () => patiently(this.#signal, () => findReservation(database.db, name))
    let reserved = await find()
    if (reserved && reserved.amountMilliDs < Math.min(most, used + next)) {
      // Twice as much as is needed now, so that not every reply asks.
      const wanted = Math.min(most, used + 2 * next)
      await patiently(this.#signal, () => database.transaction((tx) => raiseReservation(tx, name, wanted)))
      reserved = await find()
    }
    if (!reserved) return { amountMilliDs: 0, limitedBy: 'max_cost' }
    const isAll = reserved.amountMilliDs >= most
    const amountMilliDs = Math.min(reserved.amountMilliDs, most) - (costMilliDs - run.settled_milli_ds)
    return { amountMilliDs: Math.max(0, amountMilliDs), limitedBy: isAll ? 'max_cost' : reserved.limitedBy }
  }
}
