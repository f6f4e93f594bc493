import type { ChangeKind } from '@guildhall/contract'

/**
 * What reads differently now, and to whom: in a workspace, to a person, or both, as its kinds are. Where no workspace is
 * named all of it is for the person alone.
 */
export interface Changed {
  readonly kinds: readonly ChangeKind[]
  readonly workspaceId?: string
  readonly userId?: string
}

const noted = new WeakMap<object, Map<string, Changed>>()

/**
 * In the transaction that makes the change: who listens is told once it is committed. For what is not its caller's alone,
 * or has no caller; what a route changes for who calls it, its contract says.
 */
export function noteChange(tx: object, changed: Changed): void {
  const own = noted.get(tx) ?? new Map<string, Changed>()
  noted.set(tx, own.set(JSON.stringify(changed), changed))
}

/** What was noted in a transaction, each once. */
export function changesOf(tx: object): Iterable<Changed> {
  return noted.get(tx)?.values() ?? []
}
