/** Word that must travel upward: a session remembers which workspace it acts in, and open sockets end. */
export interface SessionDefaults {
  setSessionWorkspace(sessionId: number, workspaceId: string): Promise<void>
  announceRemoval(workspaceId: string, userId: string): void
}
