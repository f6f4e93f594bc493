import { recordActivity } from '../activity/activity.ts'
import type { Bus } from '../bus/bus.ts'
import type { Deps } from '../deps.ts'
import type { Actor } from '../operations/actor.ts'
import { ApiError } from '../operations/errors.ts'
import { challengeFor } from '../passkeys/passkeys.ts'
import type { Db, Tx } from '../platform/database.ts'
import { announceApprovals } from './announce.ts'
import type { ApprovalKinds, Choice, Decision, Effect } from './kinds.ts'
import { refuseDecision } from './lifecycle.ts'
import * as store from './store.ts'
import { decisionChannel } from './wait.ts'

/** What people decide, of every kind. The only way from pending to granted or denied. */
export class Approvals {
  readonly #deps: Deps
  readonly #bus: Bus
  readonly #kinds: ApprovalKinds
  readonly #shared: readonly store.StoredKind[]

  constructor(deps: Deps, bus: Bus, kinds: ApprovalKinds) {
    this.#deps = deps
    this.#bus = bus
    this.#kinds = kinds
    const names = Object.keys(kinds) as store.StoredKind[]
    this.#shared = names.filter((name) => kinds[name].decidedBy === 'members')
  }

  /**
   * In one transaction: the effect, the decision, the line in the log. Without a kind it is whichever is decided in the
   * inbox; the others have routes of their own, and say which.
   */
  async decide(
    person: Actor,
    id: string,
    decision: Decision,
    only?: store.StoredKind,
  ): Promise<{ request: store.DecidableRow; effect: Effect }> {
    const { database } = this.#deps
    const request = await this.#find(database.db, person, id)
    if (!request || !this.#isMeant(request.kind, only)) throw new ApiError('NOT_FOUND')
    if (request.state !== 'pending') throw refuseDecision(request.state)
    const kind = this.#kinds[request.kind]
    if ('forward' in kind) {
      await kind.forward(person, request, decision)
      return { request, effect: {} }
    }
    const effect = await database.transaction(async (tx) => {
      const applied = await kind.apply(tx, person, request, decision)
      if (!(await store.claimDecision(tx, id, noted(decision, applied))))
        throw await this.#late(tx, person, id)
      await recordActivity(tx, person, {
        type: kind.lines[decision.status],
        workspaceId: request.workspace_id,
        details: { requestId: id, keyId: request.key_id, ...applied.details },
      })
      return applied
    })
    await kind.committed?.(request)
    this.#bus.wake(decisionChannel(id))
    const { workspace_id: workspaceId, user_id: userId } = request
    const word = { kind: request.kind, workspaceId, ids: [id], status: decision.status }
    await announceApprovals(
      { ...this.#deps, bus: this.#bus },
      kind.decidedBy === 'owner' ? { ...word, userId } : word,
    )
    return { request, effect }
  }

  /** What the person's passkey must sign to approve this with exactly this choice. */
  async challenge(person: Actor, id: string, choice: Choice) {
    const request = await this.#find(this.#deps.database.db, person, id)
    const subject = request && this.#kinds[request.kind].subjectOf?.(request, choice)
    if (!subject) throw new ApiError('NOT_FOUND')
    if (request.state !== 'pending') throw refuseDecision(request.state)
    return challengeFor(this.#deps, person.userId, subject)
  }

  findByLinkCode(db: Db, person: Actor, linkCode: string) {
    return store.findDecidable(db, person.userId, { linkCode }, this.#shared)
  }

  async list(person: Actor, page: store.Page) {
    const rows = await store.listInbox(this.#deps.database.db, person.userId, this.#shared, page)
    return rows.map((row) => ({
      ...row,
      more: row.kind === 'activation' ? {} : this.#kinds[row.kind].describe?.(row),
    }))
  }

  #find(db: Db, { userId }: Actor, id: string) {
    return store.findDecidable(db, userId, { id }, this.#shared)
  }

  #isMeant(kind: store.StoredKind, only: store.StoredKind | undefined): boolean {
    return only === undefined ? this.#kinds[kind].decidedOn === 'inbox' : kind === only
  }

  /** Read after the lost claim: what is decided stays so, hence this is what won. */
  async #late(tx: Tx, person: Actor, id: string): Promise<ApiError> {
    const now = await this.#find(tx, person, id)
    return now ? refuseDecision(now.state) : new ApiError('NOT_FOUND')
  }
}

function noted(decision: Decision, { mode, until }: Effect): store.DecisionNote {
  return {
    status: decision.status,
    deny_reason: decision.status === 'denied' ? decision.reason : null,
    granted_mode: mode ?? null,
    granted_until: until ?? null,
  }
}

/** A no, with the reason that was given, if there is more to it than blanks. */
export function refusal(reason: string | undefined): Decision {
  return { status: 'denied', reason: reason?.trim() || null }
}
