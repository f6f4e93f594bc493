import { isSensitiveScope } from '@guildhall/contract'
import { wordOfApprovals } from '#access/approvals/approvals.ts'
import type { Bus } from '#platform/bus.ts'
import type { Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import type { PushSettings } from '#platform/push-settings.ts'
import type { Tables } from '#platform/tables.ts'
import { deliver } from './deliver.ts'
import * as store from './outbox-store.ts'
import { deleteSubscription } from './store.ts'

const lookEveryMs = 1000
const wordsAtOnce = 20
const places = 64
const mostOfOneService = 32
const longestBackoffSeconds = 60

export interface SenderParts extends Pick<Deps, 'config' | 'database' | 'logger' | 'metrics' | 'outbound'> {
  readonly bus: Bus
  /** What every member of a workspace may decide. */
  readonly sharedKinds: readonly Tables['approval_requests']['kind'][]
}

/**
 * Tells browsers, in workers and nowhere else. What is to be told stands in the database until a push service has it, so
 * any number may look at once, and whoever dies leaves nothing behind but a message that is sent a little later.
 */
export class PushSender {
  readonly #parts: SenderParts
  readonly #push: PushSettings
  readonly #underWay = new Map<number, { readonly origin: string; readonly done: Promise<void> }>()
  #leave = () => {}
  #isClosed = false
  #lookAgain = false
  #isMoreDue = false
  #wake = () => {}

  constructor(parts: SenderParts, push: PushSettings) {
    this.#parts = parts
    this.#push = push
  }

  start(): void {
    this.#leave = this.#parts.bus.listen(wordOfApprovals, () => this.#poke())
    void this.#run()
  }

  /** What is under way is waited for, and is short. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#leave()
    this.#poke()
    await this.settled()
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#underWay.values()].map(({ done }) => done))
  }

  /** Shares out what there is to tell and begins to send what is due. */
  async look(): Promise<void> {
    const { database } = this.#parts
    while (await database.transaction((tx) => this.#share(tx)));
    const free = places - this.#underWay.size
    if (free === 0) return
    const claimed = await store.claimMessages(database.db, free, this.#busyOrigins())
    this.#isMoreDue = claimed.length === free
    for (const message of claimed) {
      const done = this.#send(message).finally(() => this.#leavePlace(message.id))
      this.#underWay.set(message.id, { origin: message.origin, done })
    }
  }

  async #run(): Promise<void> {
    const { database, logger } = this.#parts
    while (!this.#isClosed) {
      this.#lookAgain = false
      if (database.available)
        await this.look().catch((error) => logger.warn({ err: error }, 'no browser was told; looking again'))
      if (!this.#lookAgain) await this.#sleep()
    }
  }

  #sleep(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, lookEveryMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #poke(): void {
    this.#lookAgain = true
    this.#wake()
  }

  #leavePlace(id: number): void {
    this.#underWay.delete(id)
    // Not for each alone: a claim of many costs as much as a claim of one.
    if (this.#isMoreDue && this.#underWay.size <= places / 2) this.#poke()
  }

  #busyOrigins(): string[] {
    const counts = new Map<string, number>()
    for (const { origin } of this.#underWay.values()) counts.set(origin, (counts.get(origin) ?? 0) + 1)
    return [...counts].filter(([, count]) => count >= mostOfOneService).map(([origin]) => origin)
  }

  /** False when nothing is left. */
  async #share(tx: Tx): Promise<boolean> {
    const words = await store.claimWords(tx, wordsAtOnce)
    const idsOf = (kind: 'asked' | 'ended') =>
      words.filter((word) => word.kind === kind).map(({ approvalId }) => approvalId)
    const asked = [...new Set(idsOf('asked'))]
    if (asked.length > 0) {
      const requests = await store.listAsked(tx, asked)
      await store.insertAsked(tx, requests.map(describeAsked), this.#parts.sharedKinds)
    }
    const ended = [...new Set(idsOf('ended'))]
    if (ended.length > 0) await store.insertEnded(tx, ended)
    return words.length === wordsAtOnce
  }

  async #send(message: store.ClaimedMessage): Promise<void> {
    const { database, logger, metrics } = this.#parts
    const { db } = database
    try {
      if (!message.isLive) return await store.deleteMessage(db, message.id)
      const outcome = await deliver(this.#parts, this.#push, message)
      metrics.pushes.inc({ outcome: outcome.is })
      switch (outcome.is) {
        case 'sent':
          return await store.updateSent(db, message)
        case 'gone':
          return await deleteSubscription(db, message.subscriptionId)
        case 'later':
          return await store.updateLater(
            db,
            message.id,
            outcome.afterSeconds ?? backoffSeconds(message.attempts),
          )
        case 'refused':
          logger.warn({ origin: message.origin, status: outcome.status }, 'a push service refused a message')
          return await store.deleteRefused(db, message)
      }
    } catch (error) {
      // It is due again when its lease ends.
      logger.warn({ err: error, origin: message.origin }, 'a browser was not told yet')
    }
  }
}

/** With some chance in it, or all that a service refused in one moment come back in one. */
function backoffSeconds(attempts: number): number {
  return Math.min(2 ** (attempts - 1), longestBackoffSeconds) * (0.75 + Math.random() / 2)
}

function describeAsked({ id, kind, scopes, question }: Awaited<ReturnType<typeof store.listAsked>>[number]) {
  const setting = kind === 'workflow' ? 'questions' : kind === 'budget' ? 'budget' : 'approvals'
  const needsPasskey = (question as { needsPasskey?: unknown } | null)?.needsPasskey === true
  return { id, setting, sensitive: needsPasskey || scopes.some(isSensitiveScope) } as const
}
