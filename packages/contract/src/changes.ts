/**
 * What people look at, by the name of its routes (`resource`), and who is told when it reads differently: everybody who
 * listens in the workspace, or all sessions of the one person who sees it. The activity grows with each of them.
 */
export const changeKinds = {
  agents: 'workspace',
  artifacts: 'workspace',
  executions: 'workspace',
  handovers: 'workspace',
  members: 'workspace',
  notifications: 'workspace',
  receipts: 'workspace',
  runs: 'workspace',
  skills: 'workspace',
  threads: 'workspace',
  traces: 'workspace',
  workflows: 'workspace',
  approvals: 'person',
  billing: 'person',
  invitations: 'person',
  keys: 'person',
  oauthClients: 'person',
  oauthGrants: 'person',
  passkeys: 'person',
  profile: 'person',
  providerKeys: 'person',
  push: 'person',
  session: 'person',
  workspaces: 'person',
} as const satisfies Record<string, 'workspace' | 'person'>

export type ChangeKind = keyof typeof changeKinds
