import type { Tx } from '#platform/database.ts'

interface Membership {
  readonly workspaceId: string
  readonly userId: string
}

interface EndedAccess {
  readonly endedKeys: number
  readonly endedOAuthGrants: number
  /** For after the commit. */
  tell(): Promise<void>
}

/** What lies above workspaces and is needed by them. */
export interface WorkspaceDoors {
  /** A session remembers which workspace it acts in. */
  setSessionWorkspace(sessionId: number, workspaceId: string): Promise<void>
  /** Ends every credential that acts for a member there, for good: whoever comes back starts with none. */
  endAccess(tx: Tx, member: Membership): Promise<EndedAccess>
  /** Open sockets and streams end. */
  announceRemoval(workspaceId: string, userId: string): void
}
