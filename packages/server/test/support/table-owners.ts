import type { Tables } from '#platform/tables.ts'

/** The feature that alone writes a table, and through whose door the others read it. */
export const ownerOf: Readonly<Record<keyof Tables, string>> = {
  migrations: 'platform',
  users: 'users',
  user_identities: 'users',
  workspaces: 'workspaces',
  workspace_members: 'workspaces',
  workspace_slots: 'workspaces',
  invitations: 'invitations',
  sessions: 'sessions',
  sign_in_codes: 'sessions',
  api_keys: 'keys',
  api_key_secrets: 'keys',
  key_addresses: 'keys',
  activations: 'activation',
  code_misses: 'activation',
  idempotency_keys: 'idempotency',
  approval_requests: 'approvals',
  grants: 'consent',
  passkeys: 'passkeys',
  passkey_challenges: 'passkeys',
  passkey_invites: 'passkeys',
  passkey_recovery_codes: 'passkeys',
  passkey_resets: 'passkeys',
  oauth_clients: 'oauth',
  oauth_records: 'oauth',
  profiles: 'profile',
  used_addresses: 'sockets',
  activity: 'activity',
  blobs: 'artifacts',
  blobs_gone: 'artifacts',
  artifact_usage: 'artifacts',
  artifacts: 'artifacts',
  bundles: 'artifacts',
  bundle_files: 'artifacts',
  executions: 'executions',
  execution_events: 'executions',
  traces: 'traces',
  receipts_due: 'receipts',
  receipts: 'receipts',
  lineages: 'traces',
  trace_producers: 'traces',
  trace_pieces: 'traces',
  trace_turns: 'traces',
  trace_usage: 'traces',
  run_usage: 'runs',
  trace_marks: 'traces',
  handovers: 'traces',
  provider_keys: 'models',
  credit_accounts: 'billing',
  ledger: 'billing',
  reservations: 'billing',
  skills: 'skills',
  skill_fetches: 'skills',
  skill_versions: 'skills',
  catalog_skills: 'catalog',
  catalog_categories: 'catalog',
  catalog_state: 'catalog',
  agents: 'agents',
  agent_versions: 'agents',
  workflows: 'workflows',
  workflow_definitions: 'runs',
  workflow_runs: 'runs',
  workflow_steps: 'runs',
  threads: 'threads',
  thread_events: 'threads',
  thread_outputs: 'threads',
  thread_runs: 'threads',
  thread_subscriptions: 'threads',
  notifications: 'notifications',
  notifications_due: 'notifications',
  thread_notices_due: 'notifications',
  push_subscriptions: 'push',
  notification_settings: 'push',
  push_words: 'push',
  push_messages: 'push',
}

interface Exception {
  readonly feature: string
  readonly tables: readonly (keyof Tables)[]
  readonly may: 'read' | 'write'
  readonly because: string
}

const membership = 'whether its person is still a member is decided in the statement that lets them in'
const names = 'what is listed carries the name of its workspace, in the statement that pages through the list'

/** Where a statement of one feature may name a table of another. */
export const exceptions: readonly Exception[] = [
  {
    feature: 'threads',
    tables: ['notifications'],
    may: 'read',
    because: 'a list of threads says how much of each nobody has seen, page by page',
  },
  {
    feature: 'threads',
    tables: ['approval_requests', 'executions'],
    may: 'read',
    because: 'which of ten thousand waits are over is one statement, once a second',
  },
  {
    feature: 'notifications',
    tables: ['threads'],
    may: 'read',
    because: 'what is listed is what the threads show that the reader may see, page by page',
  },
  { feature: 'keys', tables: ['workspace_members', 'users'], may: 'read', because: membership },
  { feature: 'keys', tables: ['workspaces'], may: 'read', because: names },
  { feature: 'sessions', tables: ['workspace_members', 'users'], may: 'read', because: membership },
  {
    feature: 'sessions',
    tables: ['workspaces'],
    may: 'read',
    because:
      'a session whose default workspace is lost falls back to the personal one, in the same statement',
  },
  { feature: 'oauth', tables: ['workspace_members', 'users'], may: 'read', because: membership },
  { feature: 'oauth', tables: ['workspaces'], may: 'read', because: names },
  {
    feature: 'workspaces',
    tables: ['users'],
    may: 'read',
    because: 'members are listed with their names and addresses, page by page',
  },
  {
    feature: 'workspaces',
    tables: ['executions'],
    may: 'read',
    because: 'who finds the slot taken is told by what, under its outside name',
  },
  {
    feature: 'invitations',
    tables: ['users', 'workspace_members', 'workspaces'],
    may: 'read',
    because:
      'an invitation is for an address: whose it is and whether they are in is one statement, alike for all',
  },
  { feature: 'activity', tables: ['workspaces'], may: 'read', because: names },
  {
    feature: 'notifications',
    tables: ['executions'],
    may: 'read',
    because: 'which skills have ended that threads no longer wait for is one look, oldest first',
  },
  {
    feature: 'billing',
    tables: ['api_keys'],
    may: 'read',
    because:
      "a key's limit and counters are weighed against the account in one read; the ledger's trigger counts them",
  },
  {
    feature: 'approvals',
    tables: ['activations', 'api_keys', 'users', 'workspaces', 'workspace_members'],
    may: 'read',
    because:
      'the inbox is one page over requests and pairing codes, with who asks and where, and who decided; what a member may decide',
  },
  {
    feature: 'push',
    tables: ['approval_requests', 'workspace_members', 'sessions'],
    may: 'read',
    because:
      'who may decide what is asked, and is still signed in, is decided in the statement that takes a message',
  },
  {
    feature: 'artifacts',
    tables: ['executions', 'skill_versions', 'catalog_skills', 'workflows'],
    may: 'read',
    because: 'a bundle goes when nothing refers to it, decided in the statement that deletes it',
  },
  {
    feature: 'catalog',
    tables: ['bundles'],
    may: 'read',
    because: 'a skill is described with what its bundle holds, in one read',
  },
  {
    feature: 'skills',
    tables: ['bundles'],
    may: 'read',
    because: 'a skill is described with what its bundle holds, in one read',
  },
  {
    feature: 'models',
    tables: ['users'],
    may: 'read',
    because: "a person's own provider key counts only in the mode they are in now, asked with the key",
  },
  {
    feature: 'profile',
    tables: ['users'],
    may: 'read',
    because: 'a profile is the account with what was added to it, which may be nothing',
  },
  {
    feature: 'executions',
    tables: ['workspace_slots'],
    may: 'read',
    because: 'queues that wait although the slot is free are found over all workspaces at once',
  },
  {
    feature: 'runs',
    tables: ['threads'],
    may: 'read',
    because: 'what launched a run is told to who sees that conversation, in the statement that reads runs',
  },
  {
    feature: 'runs',
    tables: ['activity'],
    may: 'write',
    because: 'a launch is one statement: definition, run and the line that tells of it, for many at once',
  },
  {
    feature: 'status',
    tables: ['migrations'],
    may: 'read',
    because: 'readiness reads one row of something small',
  },
]
