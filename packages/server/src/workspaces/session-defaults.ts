/** Word that must travel upward: a session remembers which workspace it acts in. */
export interface SessionDefaults {
  setSessionWorkspace(sessionId: number, workspaceId: string): Promise<void>
}
