import { noteDecider } from '#access/activation/activation.ts'
import { recordActivity } from '#accounts/activity/activity.ts'
import { challengeFor } from '#accounts/passkeys/passkeys.ts'
import type { Actor } from '#operations/actor.ts'
import { ApiError } from '#operations/errors.ts'
import type { Bus } from '#platform/bus.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { longPoll } from '#platform/long-poll.ts'
import { announceApprovals } from './announce.ts'
import { countInbox, listInbox, type Page } from './inbox-store.ts'
import type { ApprovalKinds, Choice, Decision, Effect, KeepDecision } from './kinds.ts'
import { refuseDecision } from './lifecycle.ts'
import * as store from './store.ts'
import { decisionChannel } from './wait.ts'

/** What people decide, of every kind. The only way from pending to granted or denied. */
export class Approvals {
  readonly #deps: Deps
  readonly #bus: Bus
  readonly #kinds: ApprovalKinds
  readonly #shared: readonly store.StoredKind[]
  readonly #goOn: (requestId: string) => Promise<void>

  /** `goOn` brings on whatever waits for a decision, after it is committed; it must not be needed for that. */
  constructor(
    deps: Deps,
    bus: Bus,
    kinds: ApprovalKinds,
    goOn: (requestId: string) => Promise<void> = async () => {},
  ) {
    this.#deps = deps
    this.#bus = bus
    this.#kinds = kinds
    this.#goOn = goOn
    const names = Object.keys(kinds) as store.StoredKind[]
    this.#shared = names.filter((name) => kinds[name].decidedBy === 'members')
  }

  /** What every member of a workspace may decide. */
  get sharedKinds(): readonly store.StoredKind[] {
    return this.#shared
  }

  /**
   * In one transaction: the effect, the decision, the line in the log. Without a kind it is whichever is decided in the
   * inbox; the others have routes of their own, and say which.
   */
  async decide(
    person: Actor,
    id: string,
    given: Decision,
    { only, keep }: { only?: store.StoredKind; keep?: KeepDecision } = {},
  ): Promise<{ request: store.DecidableRow; effect: Effect }> {
    const { database } = this.#deps
    const request = await this.#find(database.db, person, id)
    if (!request || !this.#isMeant(request.kind, only)) throw new ApiError('NOT_FOUND')
    if (request.state !== 'pending') throw await this.#late(person, id)
    const kind = this.#kinds[request.kind]
    if ('forward' in kind) {
      await kind.forward(person, request, given, keep).catch(async (error) => {
        throw await this.#orWinner(person, id, error)
      })
      this.#bus.wake(decisionChannel(id))
      return { request, effect: {} }
    }
    const decision = kind.meant?.(request, given) ?? given
    const deciding = database.transaction(async (tx) => {
      const applied = await kind.apply(tx, person, request, decision)
      const note = { ...noted(decision, applied), ...(await noteDecider(tx, person)) }
      if (!(await store.claimDecision(tx, id, { ...note, decided_by_key: person.apiKeyId })))
        throw new TooLate()
      await recordActivity(tx, person, {
        type: kind.lines[decision.status],
        workspaceId: request.workspace_id,
        details: { requestId: id, keyId: request.key_id, ...applied.details },
      })
      await keep?.(tx, applied)
      return applied
    })
    const effect = await deciding.catch(async (error) => {
      throw error instanceof TooLate ? await this.#late(person, id) : error
    })
    await kind.committed?.(request)
    const { workspace_id: workspaceId, user_id: userId } = request
    const word = { kind: request.kind, workspaceId, ids: [id], status: decision.status }
    await this.#tell(id, kind.decidedBy === 'owner' ? { ...word, userId } : word)
    return { request, effect }
  }

  /**
   * In the transaction that ends keys, and under their locks: nobody could decide any more what they ask. `tell` says so,
   * after the commit.
   */
  async endWithKeys(
    tx: Tx,
    keyIds: readonly number[],
  ): Promise<{ droppedRequests: number; tell: () => Promise<void> }> {
    const ended = await store.updateEndedWithKeys(tx, keyIds, this.#shared)
    const tell = async () => {
      for (const { id, kind, workspace_id: workspaceId, user_id: userId } of ended) {
        const word = { kind, workspaceId, userId, ids: [id], status: 'expired' } as const
        await this.#tell(id, word)
      }
    }
    return { droppedRequests: ended.length, tell }
  }

  async #tell(id: string, word: Parameters<typeof announceApprovals>[1]): Promise<void> {
    this.#bus.wake(decisionChannel(id))
    await announceApprovals({ ...this.#deps, bus: this.#bus }, word)
    await this.#goOn(id).catch((error) =>
      this.#deps.logger.warn({ err: error, id }, 'a decision woke nobody'),
    )
  }

  /** What the person's passkey must sign to approve this with exactly this choice. */
  async challenge(person: Actor, id: string, choice: Choice) {
    const request = await this.#find(this.#deps.database.db, person, id)
    const subject = request && this.#kinds[request.kind].subjectOf?.(request, choice)
    if (!subject) throw new ApiError('NOT_FOUND')
    if (request.state !== 'pending') throw await this.#late(person, id)
    return challengeFor(this.#deps, person.userId, subject)
  }

  findByLinkCode(db: Db, person: Actor, linkCode: string) {
    return store.findDecidable(db, person.userId, { linkCode }, this.#shared)
  }

  async list(person: Actor, page: Page) {
    const rows = await listInbox(this.#deps.database.db, person.userId, this.#shared, page)
    return rows.map((row) => ({
      ...row,
      more: row.kind === 'activation' ? {} : this.#kinds[row.kind].describe?.(row),
    }))
  }

  /** How many of the list are pending. */
  countPending(userId: string): Promise<number> {
    return countInbox(this.#deps.database.db, userId, this.#shared)
  }

  /** One of the list: at once, or with `wait` as soon as it is decided. Undefined alike for a foreign and an unknown one. */
  read(person: Actor, id: string, waiting: { wait: number | undefined; signal: AbortSignal }) {
    const { stopping } = this.#deps
    const page = { status: undefined, kind: undefined, limit: 1, after: undefined, only: id }
    return longPoll({ bus: this.#bus, stopping }, decisionChannel(id), waiting, async () => {
      const [found] = await this.list(person, page)
      return { found, isOver: found?.state !== 'pending' }
    })
  }

  #find(db: Db, { userId }: Actor, id: string) {
    return store.findDecidable(db, userId, { id }, this.#shared)
  }

  #isMeant(kind: store.StoredKind, only: store.StoredKind | undefined): boolean {
    return only === undefined ? this.#kinds[kind].decidedOn === 'inbox' : kind === only
  }

  /**
   * What became of it instead. A decision that began before the deadline may still be on its way: either it stands, or it
   * is shut out before anybody is told that the time was over.
   */
  async #late(person: Actor, id: string): Promise<ApiError> {
    const { db } = this.#deps.database
    let now = await this.#find(db, person, id)
    if (now?.state === 'expired') {
      await store.claimExpiry(db, id)
      now = await this.#find(db, person, id)
    }
    return now ? refuseDecision(now, person) : new ApiError('NOT_FOUND')
  }

  /** Of a decision that somebody else's transaction refused: who was first, if that is why. */
  async #orWinner(person: Actor, id: string, error: unknown): Promise<unknown> {
    if (!(error instanceof ApiError) || error.status !== 409) return error
    const now = await this.#find(this.#deps.database.db, person, id)
    return now?.decided_at ? refuseDecision(now, person) : error
  }
}

/** Ends a transaction in which somebody else was first. */
class TooLate extends Error {}

function noted(decision: Decision, effect: Effect) {
  const { mode, until, lastsSeconds, answer, passkey } = effect
  return {
    status: decision.status,
    deny_reason: decision.status === 'denied' ? decision.reason : null,
    granted_mode: mode ?? null,
    granted_until: until ?? null,
    lastsSeconds,
    answer: answer === undefined ? null : JSON.stringify(answer),
    decided_passkey: passkey ?? null,
  }
}

/** A no, with the reason that was given, if there is more to it than blanks. */
export function refusal(reason: string | undefined): Decision {
  return { status: 'denied', reason: reason?.trim() || null }
}
