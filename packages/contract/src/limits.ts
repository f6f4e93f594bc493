/**
 * Sliding windows: at most `max` requests in any `windowSeconds`. What a window is counted against:
 * `caller` is the credential, or the client's address on public routes. Many people may share an address, so what one
 * of them can do too often without a credential has a window of its own and leaves the others' alone.
 */
export interface Limit {
  readonly max: number
  readonly windowSeconds: number
  readonly per: 'caller' | 'address' | 'code' | 'user'
}

export const limits = {
  rest: { max: 100, windowSeconds: 60, per: 'caller' },
  /** Requests whose credential is none. */
  refused: { max: 100, windowSeconds: 60, per: 'address' },
  /** What a browser asks before a request of a page elsewhere. */
  preflight: { max: 600, windowSeconds: 60, per: 'address' },
  /** Agents that wait for their pairing; each code has a window of its own beside it. */
  poll: { max: 600, windowSeconds: 60, per: 'address' },
  /** Apps that get, renew and revoke tokens of OAuth. */
  token: { max: 300, windowSeconds: 60, per: 'address' },
  /** Apps that register themselves, where the operator lets them. */
  registration: { max: 10, windowSeconds: 60, per: 'address' },
  /** Openings of streams, by the credential that asked for the address. */
  stream: { max: 300, windowSeconds: 60, per: 'caller' },
  /** Whatever is said to the MCP transport. */
  mcp: { max: 60, windowSeconds: 60, per: 'caller' },
  /** What an agent does for whoever wrote to it, by the credential it was written with. */
  toolCall: { max: 300, windowSeconds: 60, per: 'caller' },
  skillRun: { max: 30, windowSeconds: 60, per: 'user' },
  /** What browsers report of the app's pages. */
  report: { max: 10, windowSeconds: 60, per: 'address' },
  activate: { max: 1, windowSeconds: 1, per: 'address' },
  activationPoll: { max: 1, windowSeconds: 1, per: 'code' },
  codeMisses: { max: 10, windowSeconds: 600, per: 'user' },
  pendingCodes: { max: 500, windowSeconds: 600, per: 'address' },
} as const satisfies Record<string, Limit>

export type LimitName = keyof typeof limits

/** How many undecided requests one key may have. */
export const pendingPerKey = 5
/** Of the arguments that an agent shows with a request. */
export const actionArgsLimits = { bytes: 65_536, depth: 64 } as const
export const approvalLifetimeSeconds = 600
/** Of what an agent asks about an act of its own. */
export const askSchemaBytes = 16_384
export const askLifetimeSeconds = { least: 60, most: 86_400, otherwise: 3600 } as const
/** How long a run may wait for leave to use a tool, and how long a yes for a tool in a thread holds. */
export const toolRequestSeconds = 86_400
export const toolGrantSeconds = 3600
export const approvalPollIntervalSeconds = 2
export const sessionGrantSeconds = 3600
export const oneTimeGrantSeconds = 300
export const longPollMaxSeconds = 25
export const socketUrlLifetimeMs = 300_000

export const activationLifetimeSeconds = 600
export const activationPollIntervalSeconds = 2

/** How many keys a person may hold over all workspaces, by subscription mode; null is no cap. */
export const keysPerUser = { byokmode: 1, paygmode: 10, basedmode: null } as const

/** Caps that keep a person's and a workspace's own lists bounded. */
export const workspacesPerUser = 100
export const passkeysPerUser = 20
export const membersPerWorkspace = 1000
export const oauthClientsPerUser = 50
