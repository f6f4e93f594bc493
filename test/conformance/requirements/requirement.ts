type Area =
  | 'keys'
  | 'workspaces'
  | 'auth'
  | 'activation'
  | 'scopes'
  | 'consent'
  | 'permission'
  | 'approvals'
  | 'passkeys'
  | 'agents'
  | 'activity'
  | 'oauth'
  | 'marketplace'
  | 'skills'
  | 'versions'
  | 'executions'
  | 'events'
  | 'stream'
  | 'control-plane'
  | 'workflows'
  | 'definition'
  | 'runs'
  | 'queue'
  | 'run-stream'
  | 'traces'
  | 'threads'
  | 'mcp'
  | 'errors'
  | 'limits'
  | 'rate-limit'
  | 'versioning'
  | 'billing'
  | 'artifacts'
  | 'install'

type Kind =
  | 'state'
  | 'format'
  | 'security'
  | 'limit'
  | 'error'
  | 'race'
  | 'field'
  | 'header'
  | 'status'
  | 'event'

/** The parts the service is built in; a pending rule names the one whose routes its test needs. */
export type Feature =
  | 'house'
  | 'permissions'
  | 'skills'
  | 'executions'
  | 'workflows'
  | 'traces'
  | 'chat'
  | 'mcp'

export interface Requirement {
  /** `area:subject:point`, cited by tests. */
  id: string
  area: Area
  /** Line of the interface specification that the rule stands on. */
  line: number
  /** What a test must show. Paths without a root of their own (/oauth, /mcp/) are below /api/v1. */
  rule: string
  kind: Kind
  /** The specification leaves it open and we settled it. */
  decided?: true
  /**
   * What a test needs besides HTTP: a shifted clock (or a wait of minutes), a part made to fail, an identity provider
   * at which anybody can sign in, or a remote server that the deployment may fetch from.
   */
  needs?: 'clock' | 'fault' | 'provider' | 'remote'
  /** No test cites the rule yet; it waits for this feature. */
  pending?: Feature
}
