import type { ActivityType, GrantMode } from '@guildhall/contract'
import type { Subject } from '#accounts/passkeys/passkeys.ts'
import type { Actor } from '#operations/actor.ts'
import type { Tx } from '#platform/database.ts'
import type { DecidableRow, StoredKind } from './store.ts'

/** What a person may say with a yes; each kind reads its own part. */
export interface Choice {
  readonly scopes?: readonly string[] | undefined
  readonly modes?: Readonly<Record<string, GrantMode>> | undefined
  readonly mode?: GrantMode | undefined
  readonly resumeData?: unknown
  readonly amount?: number | undefined
  readonly choice?: string | undefined
  readonly answer?: unknown
  readonly editedArgs?: unknown
  readonly deviceAuth?: unknown
}

export type Decision =
  | { readonly status: 'granted'; readonly choice: Choice }
  | { readonly status: 'denied'; readonly reason: string | null; readonly choice?: string | undefined }

/** What came of a decision. */
export interface Effect {
  /** For the line in the log. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly mode?: GrantMode | null
  /** When what was granted ends; null for what does not. */
  readonly until?: string | null
  /** The same for what has no row of its own but the request's: from now on. */
  readonly lastsSeconds?: number
  /** With which it was confirmed. */
  readonly passkey?: string | undefined
  /** What whoever asked is told with the decision. */
  readonly answer?: object
  /** The key's own scopes after it. */
  readonly scopes?: readonly string[]
}

/** Notes a decision under its caller's key, in the transaction that takes it. By its own id if it has another than the request's. */
export type KeepDecision = (tx: Tx, effect: Effect, id?: string) => Promise<void>

interface Described {
  readonly subject: string | null
  readonly question: unknown
  readonly answer: unknown
  readonly closed: 'expired' | 'withdrawn' | null
  readonly closed_because: string | null
}

interface Facts {
  /** Who may decide: the owner of the key that asks, while it is not revoked, or every member of its workspace. */
  readonly decidedBy: 'owner' | 'members'
  /** Where: on `/approvals/:id`, or on routes that its feature has for it. */
  readonly decidedOn: 'inbox' | 'own routes'
  /** What the inbox shows beside what all kinds have. */
  describe?(request: Described): object
  /** What a passkey signs to approve exactly this. Who asks for the challenge and who checks it call the same. */
  subjectOf?(request: DecidableRow, choice: Choice): Subject
}

/** Its effect comes about in the transaction that closes the request; locks are taken person, key, request. */
export interface AppliedKind extends Facts {
  /** What the person means, where it is not what the route is called: a choice that says no is a no. */
  meant?(request: DecidableRow, given: Decision): Decision
  readonly lines: Readonly<Record<Decision['status'], ActivityType>>
  apply(tx: Tx, person: Actor, request: DecidableRow, decision: Decision): Promise<Effect>
  /** After the commit, before anybody hears of it. */
  committed?(request: DecidableRow): Promise<void>
}

/** Somebody else's transaction takes the decision, closes the request, and tells of both. */
export interface ForwardedKind extends Facts {
  forward(
    person: Actor,
    request: DecidableRow,
    decision: Decision,
    keep: KeepDecision | undefined,
  ): Promise<void>
}

/** All there is to know about a kind of thing that waits for a person. A new one is one of these, and one line in `features.ts`. */
type ApprovalKind = AppliedKind | ForwardedKind

export type ApprovalKinds = Readonly<Record<StoredKind, ApprovalKind>>
