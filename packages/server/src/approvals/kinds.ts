import type { ActivityType, GrantMode } from '@guildhall/contract'
import type { Actor } from '../operations/actor.ts'
import type { Subject } from '../passkeys/passkeys.ts'
import type { Tx } from '../platform/database.ts'
import type { DecidableRow, StoredKind } from './store.ts'

/** What a person may say with a yes; each kind reads its own part. */
export interface Choice {
  readonly scopes?: readonly string[] | undefined
  readonly modes?: Readonly<Record<string, GrantMode>> | undefined
  readonly mode?: GrantMode | undefined
  readonly resumeData?: unknown
  readonly amount?: number | undefined
  readonly deviceAuth?: unknown
}

export type Decision =
  | { readonly status: 'granted'; readonly choice: Choice }
  | { readonly status: 'denied'; readonly reason: string | null }

/** What came of a decision. */
export interface Effect {
  /** For the line in the log. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly mode?: GrantMode | null
  /** When what was granted ends; null for what does not. */
  readonly until?: string | null
  /** The key's own scopes after it. */
  readonly scopes?: readonly string[]
}

interface Facts {
  /** Who may decide: the owner of the key that asks, while it is not revoked, or every member of its workspace. */
  readonly decidedBy: 'owner' | 'members'
  /** Where: on `/approvals/:id`, or on routes that its feature has for it. */
  readonly decidedOn: 'inbox' | 'own routes'
  /** What the inbox shows beside what all kinds have. */
  describe?(request: { readonly subject: string | null; readonly question: unknown }): object
  /** What a passkey signs to approve exactly this. Who asks for the challenge and who checks it call the same. */
  subjectOf?(request: DecidableRow, choice: Choice): Subject
}

/** Its effect comes about in the transaction that closes the request; locks are taken person, key, request. */
export interface AppliedKind extends Facts {
  readonly lines: Readonly<Record<Decision['status'], ActivityType>>
  apply(tx: Tx, person: Actor, request: DecidableRow, decision: Decision): Promise<Effect>
  /** After the commit, before anybody hears of it. */
  committed?(request: DecidableRow): Promise<void>
}

/** Somebody else's transaction takes the decision, closes the request, and tells of both. */
export interface ForwardedKind extends Facts {
  forward(person: Actor, request: DecidableRow, decision: Decision): Promise<void>
}

/** All there is to know about a kind of thing that waits for a person. A new one is one of these, and one line in `app.ts`. */
type ApprovalKind = AppliedKind | ForwardedKind

export type ApprovalKinds = Readonly<Record<StoredKind, ApprovalKind>>
