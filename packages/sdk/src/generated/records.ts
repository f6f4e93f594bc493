// Printed from the contract by "npm run sdk". Do not edit.

/** One of these today; a later server may say something else. */
export type Open<T extends string> = T | (string & {})

/** Subscription mode of the account */
export type AccountMode = 'byokmode' | 'paygmode' | 'basedmode'

/** `Action`, as the API has it. */
export interface Action {
  summary: string
  tool?: string | undefined
  /** At most 65536 bytes as JSON and 64 levels deep */
  args?: unknown
  diff?: string | undefined
  target?: string | undefined
  estimatedCost?: number | undefined
  request?:
    | {
        method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
        path: string
        /** Of the body. Send that as args too, so that the person is shown what they allow. Without it a grant fits any body to that path, and the person is told so */
        bodySha256?: string | undefined
      }
    | undefined
}

/** `ActivityEntry`, as the API has it. */
export interface ActivityEntry {
  id: string
  /** What happened */
  type: Open<
    | 'activation.approved'
    | 'activation.denied'
    | 'agent.created'
    | 'agent.deleted'
    | 'agent.updated'
    | 'artifact.deleted'
    | 'ask.answered'
    | 'ask.denied'
    | 'budget.denied'
    | 'budget.granted'
    | 'consent.denied'
    | 'consent.granted'
    | 'credits.adjusted'
    | 'credits.charged'
    | 'credits.granted'
    | 'credits.refunded'
    | 'execution.canceled'
    | 'execution.started'
    | 'grant.ended'
    | 'invitation.accepted'
    | 'invitation.created'
    | 'invitation.declined'
    | 'invitation.withdrawn'
    | 'key.created'
    | 'key.leak_reported'
    | 'key.revoked'
    | 'key.rotated'
    | 'key.updated'
    | 'member.added'
    | 'member.removed'
    | 'oauth_client.created'
    | 'oauth_client.deleted'
    | 'oauth_grant.allowed'
    | 'oauth_grant.denied'
    | 'oauth_grant.revoked'
    | 'passkey.added'
    | 'passkey.invited'
    | 'passkey.recovery_codes_made'
    | 'passkey.removed'
    | 'passkey.reset'
    | 'passkey.reset_asked'
    | 'passkey.reset_canceled'
    | 'permission.denied'
    | 'permission.granted'
    | 'provider_key.removed'
    | 'provider_key.stored'
    | 'scope.removed'
    | 'session.signed_in'
    | 'session.signed_out'
    | 'skill.installed'
    | 'skill.uninstalled'
    | 'skill.updated'
    | 'tool.allowed'
    | 'tool.denied'
    | 'trace.turn_erased'
    | 'workflow.answer_withdrawn'
    | 'workflow.answered'
    | 'workflow.canceled'
    | 'workflow.installed'
    | 'workflow.launch_failed'
    | 'workflow.launched'
    | 'workflow.uninstalled'
    | 'workflow.updated'
    | 'workspace.created'
  >
  at: string
  actor: {
    kind: Open<'session' | 'key' | 'oauth' | 'anonymous' | 'operator'>
    userId: string | null
    apiKeyId: number | null
  }
  workspace: WorkspaceRef | null
  details: Record<string, unknown>
}

/** `Agent`, as the API has it. */
export interface Agent {
  /** {workspaceUuid}:{slug} */
  id: string
  slug: string
  name: string
  description: string
  instructions: string
  model: string | null
  primary: boolean
  tools: string[]
  skills: string[]
  /** In Ds */
  maxCostPerRun: number | null
  /** Whether the agent may ask for what reaches outside of the house */
  outside: Open<'ask' | 'never'>
  status: string
  versionNumber: number
  createdAt: string
  updatedAt: string
}

/** `AgentInfo`, as the API has it. */
export type AgentInfo =
  | {
      /** A file has been kept */
      kind: 'file'
      name: string
      mimeType: string
      sizeBytes: number
      artifactId: string
      /** A path that answers its content */
      url: string
    }
  | {
      kind: 'json'
      data: unknown
    }
  | {
      /** The model is asked again */
      kind: 'retry'
      reason: string
      attempt: number
      retryInMs: number
      /** The deltas since the last event are void */
      voidsText: boolean
    }
  | {
      /** Another model is asked, the one before cannot answer */
      kind: 'fallback'
      from: string
      to: string
      reason: string
      /** The deltas since the last event are void */
      voidsText: boolean
    }
  | {
      /** Too many or too large to be kept */
      kind: 'files-left-out'
      /** Of those that were looked at, the first 50 */
      paths: string[]
      /** How many more there are at least */
      others?: number
    }

/** `AgentVersion`, as the API has it. */
export interface AgentVersion {
  versionNumber: number
  name: string
  description: string
  instructions: string
  model: string | null
  tools: string[]
  skills: string[]
  /** In Ds */
  maxCostPerRun: number | null
  /** Whether the agent may ask for what reaches outside of the house */
  outside: Open<'ask' | 'never'>
  createdBy: string | null
  note: string | null
  createdAt: string
  active: boolean
}

/** `Approval`, as the API has it. */
export interface Approval {
  id: string
  kind: Open<'activation' | 'consent' | 'permission' | 'workflow' | 'budget' | 'tool' | 'ask'>
  status: Open<'pending' | 'granted' | 'denied' | 'expired'>
  workspace: WorkspaceRef | null
  key: KeyFacts | null
  scopes: RequestedScope[]
  mode: Open<GrantMode> | null
  reason: string | null
  action: ShownAction | null
  /** What a device that wants to be paired said it is; of an activation */
  client: {
    label: string
    ua: string
    ip: string
    /** As who asks now */
    same_network: boolean
  } | null
  /** The code the agent shows, if it has one */
  code: string | null
  deny_reason: string | null
  /** How often it was asked while it waited */
  times: number
  history: {
    asked: number
    allowed: number
    denied: number
  }
  workflow?: {
    runId: string
    workflowId: string
    stepId: string
    /** Of the item, in a foreach; else 0 */
    index: number
    /** What is asked; of more than 32 KiB the beginning */
    payload: unknown
    /** Of the whole, when only its beginning is shown */
    payloadBytes?: number
    /** Where the whole is, then */
    payloadUrl?: string
  }
  budget?: {
    executionId: string
    /** In Ds, when the key reached it */
    limit: number
  }
  tool?: {
    name: string
    threadId: string
    runId: string
    toolUseId: string
    /** Of who has one: send device_auth with the approval */
    needsPasskey: boolean
    choices: Open<ToolChoice>[]
  }
  ask?: {
    question: string
    choices?: AskChoice[]
    schema?: Record<string, unknown>
    choice?: string
    /** Fits the schema of the ask, if it has one. At most 65536 bytes as JSON and 64 levels deep */
    answer?: unknown
    /** In place of the args of its action, where it has any. At most 65536 bytes as JSON and 64 levels deep */
    edited_args?: unknown
    /** The agent took it back */
    withdrawn?: {
      because: string | null
    }
  }
  /** Its page in the app */
  approval_url: string
  created_at: string
  expires_at: string | null
  decided_at: string | null
  /** Null while nobody has, and where it is not known */
  decided_by: Decider | null
}

/** `Artifact`, as the API has it. */
export interface Artifact {
  id: string
  type: Open<'skill' | 'workflow' | 'file'>
  slug: string
  name: string
  description: string
  filesCount: number
  sizeBytes: number
  contentChecksum: string
  files: {
    path: string
    sizeBytes: number
    checksum: string
  }[]
  createdBy: string
  createdAt: string
}

/** `ArtifactSummary`, as the API has it. */
export interface ArtifactSummary {
  id: string
  type: Open<'skill' | 'workflow' | 'file'>
  slug: string
  name: string
  description: string
  filesCount: number
  sizeBytes: number
  contentChecksum: string
  createdBy: string
  createdAt: string
}

/** `AskChoice`, as the API has it. */
export interface AskChoice {
  id: string
  label: string
  /** deny: whoever chooses it says no; answer: it needs an answer, where there is a schema */
  kind: 'allow' | 'deny' | 'answer'
}

/** `AskedAction`, as the API has it. */
export interface AskedAction {
  summary: string
  tool?: string | undefined
  /** At most 65536 bytes as JSON and 64 levels deep */
  args?: unknown
  diff?: string | undefined
  target?: string | undefined
  estimatedCost?: number | undefined
  request?:
    | {
        method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
        path: string
        /** Of the body. Send that as args too, so that the person is shown what they allow. Without it a grant fits any body to that path, and the person is told so */
        bodySha256?: string | undefined
      }
    | undefined
  /** args are the body of the request, to be sent as JSON without blanks: without bodySha256 a grant is bound to them */
  argsAreBody?: boolean | undefined
}

/** `Attachment`, as the API has it. */
export interface Attachment {
  name: string
  mimeType?: string | undefined
  artifactId?: string | undefined
  /** Base64 */
  data?: string | undefined
}

/** `Billing`, as the API has it. */
export interface Billing {
  mode: Open<AccountMode>
  unit: 'Ds'
  /** All credits, those set aside for running executions included */
  balance: number
  /** What can still be set aside */
  availableBalance: number
  /** Set aside for running executions */
  reserved: number
  /** What must be available for anything to start */
  minimumRequired: number
  spend: {
    /** What was charged, less refunds */
    total: number
    /** Of the key that asks; null for other credentials */
    key: {
      /** In Ds */
      total: number
      /** In Ds */
      reserved: number
      /** In Ds */
      limit: number | null
    } | null
  }
  limits: {
    /** The most that one execution sets aside */
    maxCost: number
  }
}

/** `ChatRun`, as the API has it. */
export interface ChatRun {
  /** chat_<uuid> */
  runId: string
  threadId: string
  agentId: string
  agentVersion: number
  status: Open<ChatRunStatus>
  /** end_turn, interrupt, limit_reached or error */
  stopReason: string | null
  errorCode: string | null
  model: string | null
  usage: ChatUsage
  /** So far, in Ds */
  cost: number
  /** In Ds: what the agents and skills cost that it had work for it, beside `cost` */
  delegated: number
  waitsFor: {
    kind: Open<'approval' | 'execution' | 'run'>
    id: string
    until: string | null
  } | null
  createdAt: string
  startedAt: string | null
  completedAt: string | null
  /** Whether it has read anything from outside */
  tainted: boolean
}

/** `ChatRunStatus`, as the API has it. */
export type ChatRunStatus = 'queued' | 'working' | 'waiting' | 'completed' | 'failed'

/** `ChatUsage`, as the API has it. */
export interface ChatUsage {
  inputTokens: number
  outputTokens: number
}

/** `Consent`, as the API has it. */
export interface Consent {
  consent_id: string
  link_code: string
  status: Open<'pending' | 'granted' | 'denied' | 'expired'>
  requested_scopes: RequestedScope[]
  key: KeyFacts
  workspace: WorkspaceRef
  created_at: string
  expires_at: string
}

/** `ContentBlock`, as the API has it. */
export interface ContentBlock {
  type: 'text'
  text: string
}

/** `CurrentSession`, as the API has it. */
export interface CurrentSession {
  expires_at: string
  user: Person
  workspaces: Workspace[]
  current_workspace_id: string
  session_id: number
  kind: Open<SessionKind>
  signed_in_at: string
  /** Until then a first passkey may be added; after it, sign in again */
  fresh_until: string
  /** How many requests wait for the person, over all workspaces */
  pending: number
}

/** `Decider`, as the API has it. */
export interface Decider {
  user_id: string
  name: string | null
  you: boolean
  /** Of the key through which an agent of theirs answered */
  key_id: number | null
  /** Where you decided, as far as is known; null of others */
  device: {
    session_id: number
    /** Of the session, or what its client said it is */
    name: string | null
    /** The session that asks now */
    current: boolean
  } | null
  /** The id of the passkey that confirmed it; null of others, and without one */
  passkey: string | null
}

/** A passkey assertion (PublicKeyCredential as JSON) */
export interface DeviceAuth {
  id: string
  [field: string]: unknown
}

/** `ErrorCode`, as the API has it. */
export type ErrorCode =
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'ACTIVATION_REQUIRED'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'EXPIRED'
  | 'INVALID_INPUT'
  | 'INSUFFICIENT_CREDITS'
  | 'EXECUTION_RUNNING'
  | 'EXECUTION_FAILED'
  | 'NOT_SUSPENDED'
  | 'NO_SUSPEND_FRAME'
  | 'STEP_MISMATCH'
  | 'RESUME_IN_PROGRESS'
  | 'RESUME_FAILED'
  | 'RATE_LIMITED'
  | 'INTERNAL_ERROR'
  | 'SERVICE_UNAVAILABLE'

/** `Execution`, as the API has it. */
export interface Execution {
  id: number
  executionId: string
  skillSlug: string
  skillName: string
  skillVersion: number
  status: Open<'idle' | 'working' | 'completed' | 'failed'>
  /** end_turn, interrupt, limit_reached or error */
  stopReason: string | null
  errorCode: string | null
  cost: number
  source: string
  interface: string
  inputText: string
  startedAt: string | null
  completedAt: string | null
  queuedAt: string | null
  traceId: string
  parentExecutionId?: string
}

/** `ExecutionEvent`, as the API has it. */
export type ExecutionEvent = {
  id: string
  /** From 1, without gaps within an execution */
  sequence: number
} & (
  | {
      type: 'user.message'
      payload: {
        content: ContentBlock[]
      }
    }
  | {
      type: 'user.interrupt'
      payload: Record<string, unknown>
    }
  | {
      type: 'session.status_running'
      payload: Record<string, unknown>
    }
  | {
      type: 'session.status_idle'
      payload: {
        stop_reason: {
          type: Open<'end_turn' | 'interrupt' | 'limit_reached' | 'error'>
          code?: string
        }
      }
    }
  | {
      type: 'agent.message'
      payload: {
        content: ContentBlock[]
      }
    }
  | {
      type: 'agent.thinking'
      payload: Record<string, unknown>
    }
  | {
      type: 'agent.info'
      payload: AgentInfo
    }
  | {
      type: 'agent.tool_use'
      payload: {
        name: string
        tool: string
        label: string
        toolUseId?: string
        /** As JSON; cut after 4 KiB, with secrets of this service taken out */
        input?: string
      }
    }
  | {
      type: 'agent.tool_result'
      payload: {
        toolUseId: string
        isError: boolean
        summary: string
        /** Cut after 4 KiB, with secrets of this service taken out */
        output?: string
      }
    }
  | {
      type: 'execution.cost'
      payload: {
        /** Running total, in Ds */
        cost: number
      }
    }
  | {
      type: 'execution.result'
      payload: {
        summary: string
        cost: number
        tokenUsage: {
          inputTokens: number
          outputTokens: number
        }
      }
    }
  | {
      type: 'span.model_request_end'
      payload: {
        usage: {
          input_tokens: number
          output_tokens: number
        }
        model?: string
        /** From the question to the whole reply */
        durationMs?: number
      }
    }
)

/** `ExecutionStatus`, as the API has it. */
export interface ExecutionStatus {
  executionId: string
  status: Open<'idle' | 'working' | 'completed' | 'failed'>
  skillSlug: string
  skillName: string
  skillVersion: number
  /** end_turn, interrupt, limit_reached or error */
  stopReason: string | null
  errorCode: string | null
  traceId: string
  cost: number
  queuedAt: string | null
  startedAt: string | null
  completedAt: string | null
  parentExecutionId?: string
  connector?: Record<string, unknown>
  outputBlocks: OutputBlock[]
}

/** `ExecutionStreamEvent`, as the API has it. */
export type ExecutionStreamEvent =
  | ExecutionEvent
  | {
      /** Only with deltas=1; never repeated */
      type: 'agent.message_delta'
      payload: {
        text: string
      }
    }

/** `GrantMode`, as the API has it. */
export type GrantMode = 'persistent' | 'session' | 'one_time'

/** `Handover`, as the API has it. */
export interface Handover {
  handoverId: string
  /** workspace: any credential of this workspace goes on with the trace itself. person: also one of the same person in another workspace, which gets a redacted copy */
  reach: Open<'workspace' | 'person'>
  status: Open<'pending' | 'claimed' | 'revoked' | 'expired'>
  note: string | null
  /** Whom it is meant for; anybody within reach may claim it */
  toAgentSlug: string | null
  from: {
    userId: string
    apiKeyId: number | null
    agentSlug: string | null
  }
  claimedBy: {
    userId: string
    apiKeyId: number | null
    agentSlug: string | null
  } | null
  claimedAt: string | null
  createdAt: string
  expiresAt: string
}

/** What happens while a run is active: deliver it to that run if it is of the same credential and agent, else queue; queue a run of its own; interrupt the active one; reject with 409 */
export type IfActive = 'deliver' | 'queue' | 'interrupt' | 'reject'

/** `InstalledSkill`, as the API has it. */
export interface InstalledSkill extends Skill {
  /** What this version asks for and the one before did not */
  asksForMore?: {
    allowedTools: string[]
    scopes: string[]
  }
}

/** `Invitation`, as the API has it. */
export interface Invitation {
  id: string
  email: string
  role: Open<'owner' | 'member'>
  status: 'pending'
  createdAt: string
  expiresAt: string
}

/** `Key`, as the API has it. */
export interface Key {
  id: number
  label: string
  /** The visible start of the key */
  prefix: string
  workspace: WorkspaceRef
  scopes: string[]
  activated: boolean
  activity: Open<'ACTIVE' | 'IDLE' | 'DORMANT'>
  createdVia: Open<'pairing' | 'manual'>
  clientLabel: string | null
  clientUa: string | null
  clientIp: string | null
  lastUsedAt: string | null
  lastUsedIp: string | null
  createdAt: string
  expiresAt: string | null
  spend: {
    total: number
    /** In Ds; null for none */
    limit: number | null
    /** In Ds, charged since midnight UTC, less refunds */
    today: number
    /** In Ds, charged since the first of the month UTC, less refunds */
    month: number
  }
}

/** full: active at once and carries every scope; declared: unactivated until a consent is approved */
export type KeyAccess = 'full' | 'declared'

/** `KeyDetail`, as the API has it. */
export interface KeyDetail extends Key {
  spend: {
    /** In Ds */
    total: number
    /** In Ds; null for none */
    limit: number | null
    /** What the limit is for: all that the key ever spends */
    period: Open<'total'>
    /** In Ds, charged since midnight UTC, less refunds */
    today: number
    /** In Ds, charged since the first of the month UTC, less refunds */
    month: number
    /** In Ds, set aside for what runs */
    reserved: number
  }
  grants: KeyGrant[]
  /** Executions that work, the oldest first, at most 100 */
  running: {
    executionId: string
    skillName: string
    /** In Ds */
    cost: number
    startedAt: string | null
    lastSequence: number
  }[]
  /** Runs of workflows that have not ended, the oldest first, at most 100 */
  runs: {
    runId: string
    /** The slug of the workflow */
    name: string
    status: Open<'running' | 'suspended'>
  }[]
  /** Replies that agents are at, or have in front of them, the oldest first, at most 100 */
  chats: {
    runId: string
    threadId: string
    agentSlug: string
    status: Open<'queued' | 'working' | 'waiting'>
  }[]
  /** How many requests of it wait for a person */
  pending: number
  /** Until when the secret before the last rotation works */
  oldSecretUntil: string | null
}

/** `KeyFacts`, as the API has it. */
export interface KeyFacts {
  id: number
  label: string
  client_label: string | null
  client_ua: string | null
  client_ip: string | null
  created_at: string
}

/** `KeyGrant`, as the API has it. */
export interface KeyGrant {
  id: number
  scope: string
  mode: Open<'session' | 'one_time'>
  createdAt: string
  expiresAt: string
  /** What was approved; null for what came with the pairing */
  requestId: string | null
  /** The one request that it is good for */
  bound: {
    method: string
    path: string
    /** Null where it fits any body */
    bodySha256: string | null
  } | null
}

/** `KeyTouched`, as the API has it. */
export interface KeyTouched {
  key: {
    id: number
    label: string
    revokedAt: string | null
  }
  since: string
  until: string
  /** In Ds, charged in this time, less refunds */
  spend: number
  /** From where it was used in this time, the last one first, at most 100 */
  addresses: {
    /** An IPv4 address, or the /64 that an IPv6 address is of */
    ip: string
    firstAt: string
    lastAt: string
  }[]
  /** Only kinds of which there is something */
  groups: {
    kind: Open<TouchedKind>
    /** At most 10000 are counted */
    count: number
    /** The newest, at most 20 */
    items: TouchedItem[]
  }[]
}

/** `LedgerEntry`, as the API has it. */
export interface LedgerEntry {
  id: string
  kind: Open<'grant' | 'reserve' | 'settle' | 'release' | 'refund' | 'adjust'>
  /** The sides of an account; issued is outside of it, where credits come from */
  from: Open<'issued' | 'available' | 'reserved' | 'spent'>
  /** The sides of an account; issued is outside of it, where credits come from */
  to: Open<'issued' | 'available' | 'reserved' | 'spent'>
  /** What moved from the one to the other, in Ds */
  amount: number
  at: string
  /** With what follows: null outside the workspace of a key */
  workspaceId: string | null
  executionId: string | null
  apiKeyId: number | null
  note: string | null
}

/** `LiveEvent`, as the API has it. */
export type LiveEvent = {
  /** Of this event, not of what it is about */
  id: string
  workspaceId: string
  at: string
} & (
  | {
      type: 'cache-invalidate'
      keys: Open<
        | 'agents'
        | 'artifacts'
        | 'executions'
        | 'handovers'
        | 'members'
        | 'notifications'
        | 'receipts'
        | 'runs'
        | 'skills'
        | 'threads'
        | 'traces'
        | 'workflows'
        | 'approvals'
        | 'billing'
        | 'invitations'
        | 'keys'
        | 'oauthClients'
        | 'oauthGrants'
        | 'passkeys'
        | 'profile'
        | 'providerKeys'
        | 'push'
        | 'session'
        | 'workspaces'
      >[]
      ids: string[]
    }
  | {
      type: 'execution-started'
      executionId: string
      skillSlug: string
      status: 'working'
    }
  | {
      type: 'execution-progress'
      executionId: string
      skillSlug: string
      /** So far, in Ds */
      cost: number
    }
  | {
      type: 'execution-completed'
      executionId: string
      skillSlug: string
      status: string
      /** end_turn, interrupt, limit_reached or error */
      stopReason: string | null
      cost: number
    }
  | {
      type: 'execution-failed'
      executionId: string
      skillSlug: string
      status: string
      /** end_turn, interrupt, limit_reached or error */
      stopReason: string | null
      cost: number
    }
  | {
      type: 'approval-requested'
      approvalId: string
      kind: Open<'activation' | 'consent' | 'permission' | 'workflow' | 'budget' | 'tool' | 'ask'>
    }
  | {
      type: 'approval-resolved'
      approvalId: string
      kind: Open<'activation' | 'consent' | 'permission' | 'workflow' | 'budget' | 'tool' | 'ask'>
      status: Open<'granted' | 'denied' | 'expired'>
    }
  | {
      type: 'notification'
      notificationId: string
      threadId: string
      kind: string
    }
  | {
      type: 'thread-updated'
      threadId: string
      sequence: number
    }
  | {
      type: 'workflow-run-updated'
      runId: string
      workflowId: string
      status: Open<RunStatus>
    }
)

/** `MarketplaceSkill`, as the API has it. */
export interface MarketplaceSkill {
  slug: string
  name: string
  description: string
  category: string
  repository: string
}

/** `MarketplaceSkillDetail`, as the API has it. */
export interface MarketplaceSkillDetail extends MarketplaceSkill {
  prompt: string
  author: string
  version: string
  commitHash: string
  filesCount: number
  contentChecksum: string
}

/** `Me`, as the API has it. */
export interface Me {
  credential: Open<'key' | 'session' | 'oauth'>
  user: {
    id: string
    /** Told to a session only */
    email?: string | null
    /** Told to a session only */
    name?: string | null
  }
  workspace: WorkspaceRef
  mode: Open<AccountMode>
  /** Held for good: `*` for all, as a session has it; agents/me tells more of a key */
  scopes: string[]
  expiresAt?: string | null
  key?: {
    id: number
    label: string
    prefix: string
  }
  session?: {
    id: number
  }
  /** What an app was allowed */
  grant?: {
    id: number
  }
}

/** `Member`, as the API has it. */
export interface Member {
  userId: string
  email: string | null
  name: string | null
  role: Open<'owner' | 'member'>
  joinedAt: string
}

/** `MessageAuthor`, as the API has it. */
export interface MessageAuthor {
  userId: string
  apiKeyId: number | null
  /** The grant of the app that wrote it */
  oauthGrantId?: number
  /** What the agent calls itself that wrote it */
  agentSlug?: string
}

/** `NewKey`, as the API has it. */
export interface NewKey extends Key {
  /** Shown this once */
  api_key: string
}

/** `NewOAuthClient`, as the API has it. */
export interface NewOAuthClient extends OAuthClient {
  /** Shown this once; null for a public app */
  client_secret: string | null
}

/** `Notification`, as the API has it. */
export interface Notification {
  id: string
  threadId: string
  /** The workspace */
  resourceId: string
  agentId: string
  /** Where it comes from: workflow, approval, execution or handover */
  source: string
  /** workflow.completed, workflow.failed, workflow.suspended, workflow.canceled, approval.resolved, execution.completed, execution.failed (of a skill that the thread no longer waits for) or trace.picked_up; more may come */
  kind: string
  priority: Open<'low' | 'medium' | 'high' | 'urgent'>
  status: Open<NotificationStatus>
  summary: string
  payload: Record<string, unknown>
  /** Of a workflow: <runId>:<status>; of anything else its id in place of the run */
  dedupeKey: string
  /** Rises when the same thing happens again, as a second pause of a run */
  revision: number
  /** Of the event in the thread's log that told it last */
  sequence: number
  createdAt: string
  deliveredAt?: string
  seenAt?: string
}

/** `NotificationSettings`, as the API has it. */
export interface NotificationSettings {
  /** sensitive: only what a passkey must confirm */
  approvals: Open<'all' | 'sensitive' | 'none'>
  /** What runs of workflows ask */
  questions: boolean
  /** A key has reached its limit */
  budget: boolean
  /** What comes in these hours is told in one message when they end */
  quiet: {
    /** HH:MM */
    from: string
    /** HH:MM */
    to: string
    /** As in Europe/London */
    timezone: string
    /** Kinds that are told all the same */
    except: Open<'consent' | 'permission' | 'workflow' | 'budget' | 'tool' | 'ask'>[]
  } | null
  /** That message comes at this time, and not when the quiet hours end */
  digest: {
    /** HH:MM */
    at: string
    /** As in Europe/London */
    timezone: string
  } | null
  /** Agents that are not told of until then */
  muted: {
    apiKeyId: number
    until: string
  }[]
}

/** delivered: somebody listened to the thread, or has read it here */
export type NotificationStatus = 'pending' | 'delivered' | 'seen' | 'dismissed'

/** `OAuthClient`, as the API has it. */
export interface OAuthClient {
  client_id: string
  name: string
  redirect_uris: string[]
  /** Has no secret and must use PKCE */
  public: boolean
  created_at: string
}

/** `OAuthGrant`, as the API has it. */
export interface OAuthGrant {
  id: number
  /** For an app that nobody registered here, the address of the document that describes it */
  client_id: string
  /** What the app calls itself */
  name: string
  scopes: string[]
  workspace: WorkspaceRef
  created_at: string
  last_used_at: string | null
  expires_at: string
}

/** `OutputBlock`, as the API has it. */
export type OutputBlock =
  | {
      /** Of the event it began with */
      sequence: number
      type: 'text'
      text: string
    }
  | {
      /** Of the event it began with */
      sequence: number
      type: 'tool'
      name: string
      label: string
      status: Open<'running' | 'success' | 'error'>
    }
  | {
      /** Of the event it began with */
      sequence: number
      type: 'file'
      name: string
      mimeType: string
      sizeBytes: number
      url: string
    }
  | {
      /** Of the event it began with */
      sequence: number
      type: 'json'
      data: unknown
    }
  | {
      /** Of the event it began with */
      sequence: number
      type: 'error'
      code: string
      message: string
    }

/** `Passkey`, as the API has it. */
export interface Passkey {
  id: string
  name: string
  createdAt: string
  lastUsedAt: string | null
  /** Synchronised by its provider, so it survives the loss of a device */
  backedUp: boolean
}

/** `PendingRequest`, as the API has it. */
export interface PendingRequest {
  id: string
  kind: Open<'consent' | 'permission' | 'ask'>
  scopes: string[]
  approval_url: string
  poll_url: string
  created_at: string
  expires_at: string
}

/** `Person`, as the API has it. */
export interface Person {
  id: string
  email: string | null
  name: string | null
  mode: Open<AccountMode>
}

/** `Profile`, as the API has it. */
export interface Profile {
  name: string | null
  email: string | null
  bio: string | null
  timezone: string | null
  /** What the person wants agents to know, by name */
  facts: Record<string, string>
  updatedAt: string | null
}

/** `ProviderKey`, as the API has it. */
export interface ProviderKey {
  /** The protocol that a model provider speaks */
  provider: Open<'anthropic' | 'openai-compatible'>
  /** The only address the key is sent to */
  baseUrl: string
  /** The last four characters of the key */
  hint: string
  createdAt: string
}

/** `PushSubscription`, as the API has it. */
export interface PushSubscription {
  id: string
  /** What the person calls this browser */
  label: string | null
  createdAt: string
  deliveredAt: string | null
  /** Its push service has refused three messages in a row */
  failing: boolean
  /** It was made in this session */
  current: boolean
}

/** `QueueJob`, as the API has it. */
export interface QueueJob {
  runId: string
  workflowSlug: string
  enqueuedAt: string
  status: string
}

/** `Receipt`, as the API has it. */
export interface Receipt {
  v: 1
  id: string
  issuer: string
  /** The id of the execution, run or trace; a trace’s is followed by a part of its hash */
  subject: string
  traceId: string | null
  traceKey: string
  previous: {
    id: string
    sha256: string
  } | null
  actor: {
    userId: string
    apiKeyId: number | null
    keyPrefix: string | null
    oauthGrantId: number | null
    /** What it called itself; not proved */
    agentSlug: string | null
  }
  what:
    | {
        kind: 'execution'
        skill: {
          slug: string
          version: number
          contentChecksum: string
        }
        /** The workflow run that a step of started it */
        run: string | null
        models: string[]
        toolCalls: {
          name: string
          calls: number
          errors: number
        }[]
      }
    | {
        kind: 'run'
        workflow: {
          slug: string
          definitionId: string
          definitionChecksum: string
        }
        steps: {
          id: string
          status: string
        }[]
      }
    | {
        kind: 'trace'
        /** Those of all that ran on it, whose rights, costs and outputs are repeated here */
        receipts: {
          id: string
          sha256: string
        }[]
      }
  authority: ReceiptRight[]
  approvals: ReceiptApproval[]
  cost: {
    ds: number
    ledger: number[]
  }
  outputs: {
    path: string
    /** SHA-256; null when the file was deleted before */
    checksum: string | null
    sizeBytes: number
    artifactId: string
  }[]
  started: string | null
  ended: string | null
  stopReason: string | null
  /** Over a line for each event in order: number, blank, type, blank, payload as it is stored, line feed. For a run over its steps: id, blank, record; for a trace over its turns, payloads as canonical JSON */
  log: {
    events: number
    /** Hexadecimal */
    sha256: string
  }
  /** Events whose payload had been erased by then */
  redactions: number
}

/** `ReceiptApproval`, as the API has it. */
export interface ReceiptApproval {
  id: string
  kind: string
  decision: Open<'granted' | 'denied'>
  /** A user id */
  by: string | null
  /** The key it was said through */
  byKey: number | null
  at: string
  /** Of what was asked, as canonical JSON */
  actionSha256: string
}

/** `ReceiptItem`, as the API has it. */
export interface ReceiptItem {
  id: string
  subject: string
  traceId: string | null
  keyId: string
  at: string
}

/** `ReceiptRight`, as the API has it. */
export interface ReceiptRight {
  /** The right as it was held; for a person or an app what was needed */
  scope: string
  /** key: a scope of the key; full: a key with full access; grant: for a time or a single use; person: in person; app: through OAuth */
  via: Open<'key' | 'full' | 'grant' | 'person' | 'app'>
  grantId?: number
  oauthGrantId?: number
  /** The request that a person approved */
  requestId?: string
  /** A user id */
  approvedBy?: string
  approvedAt?: string
  /** The passkey that confirmed it */
  passkey?: string
}

/** `ReceivedInvitation`, as the API has it. */
export interface ReceivedInvitation {
  id: string
  workspace: {
    name: string | null
  }
  invitedBy: {
    name: string | null
    email: string | null
  }
  role: Open<'owner' | 'member'>
  createdAt: string
  expiresAt: string
}

/** `RequestedScope`, as the API has it. */
export interface RequestedScope {
  scope: string
  group: string
  description: string
  sensitive: boolean
  default_mode: Open<GrantMode>
  held: boolean
}

/** `RunChangesEvent`, as the API has it. */
export interface RunChangesEvent {
  type: 'workflow-changes'
  runId: string
  workflowId: string
  status: Open<RunStatus>
  updatedAt: string
  /** The id of the frame that it builds on */
  since: number
  /** Fields of the snapshot that replace those before; of `context` only the entries that it names */
  changed: {
    status?: Open<RunStatus>
    /** Of a run that succeeded */
    result?: unknown
    error?: RunError
    /** `input`, and each step that began, by its id: a RunStep */
    context?: Record<string, unknown>
    value?: Record<string, unknown>
    /** Which entry of the graph it is at */
    activePaths?: number[]
    /** Steps that wait for a person, and where they are in the graph */
    suspendedPaths?: Record<string, number[]>
    /** Milliseconds since 1970 */
    timestamp?: number
  }
  /** Entries of `context` that are gone */
  removed: string[]
}

/** `RunError`, as the API has it. */
export interface RunError {
  code: string
  message: string
  [field: string]: unknown
}

/** `RunSnapshot`, as the API has it. */
export interface RunSnapshot {
  status: Open<RunStatus>
  /** Of a run that succeeded */
  result?: unknown
  error?: RunError
  /** `input`, and each step that began, by its id: a RunStep */
  context: Record<string, unknown>
  value: Record<string, unknown>
  /** Which entry of the graph it is at */
  activePaths: number[]
  /** Steps that wait for a person, and where they are in the graph */
  suspendedPaths: Record<string, number[]>
  /** Milliseconds since 1970 */
  timestamp: number
}

/** `RunStatus`, as the API has it. */
export type RunStatus = 'running' | 'suspended' | 'success' | 'failed' | 'canceled'

/** `RunStreamEvent`, as the API has it. */
export interface RunStreamEvent {
  type: 'workflow-snapshot'
  runId: string
  workflowId: string
  status: Open<RunStatus>
  updatedAt: string
  snapshot: RunSnapshot
}

/** `Session`, as the API has it. */
export interface Session {
  id: number
  kind: Open<SessionKind>
  current: boolean
  /** What the person called it when they signed in */
  label: string | null
  /** What the client said it is */
  client_ua: string | null
  /** Where it signed in from */
  client_ip: string | null
  created_at: string
  last_used_at: string
  expires_at: string
}

/** token: shown in x-auth-token; browser: a cookie that only pages of the app send */
export type SessionKind = 'token' | 'browser'

/** What the agent says it will do; in a card without args and diff */
export interface ShownAction {
  summary: string
  tool?: string
  /** At most 65536 bytes as JSON and 64 levels deep */
  args?: unknown
  diff?: string
  target?: string
  estimatedCost?: number
  request?: {
    method: Open<'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'>
    path: string
    /** Of the body. Send that as args too, so that the person is shown what they allow. Without it a grant fits any body to that path, and the person is told so */
    bodySha256?: string
  }
  /** args are the very body that a single use is bound to; without it they are the words of the agent */
  argsAreBody?: boolean
  /** Of args as JSON, which a card leaves out */
  argsBytes?: number
  /** Of diff, which a card leaves out */
  diffLines?: number
  /** Of a card: something in it is invisible, or changes the direction of text */
  unusual?: boolean
}

/** `SignedIn`, as the API has it. */
export interface SignedIn {
  auth_token: string
  expires_at: string
  user: Person
  workspaces: Workspace[]
  current_workspace_id: string
}

/** `SignedReceipt`, as the API has it. */
export interface SignedReceipt {
  receipt: Receipt
  /** Ed25519 over the receipt as canonical JSON; base64url */
  signature: string
  /** kid of the key among /.well-known/guildhall-receipt-keys */
  keyId: string
  /** Not signed: how many events of its log were erased after it was made, so that log.sha256 fits no more */
  redactedSince: number
}

/** `Skill`, as the API has it. */
export interface Skill {
  name: string
  slug: string
  description: string
  category: string
  /** The whole SKILL.md */
  prompt: string
  /** folder, or file where the bundle is SKILL.md alone */
  bundleType: string
  storagePath: string
  /** Where the catalog has it from, if it came from one */
  repository?: string
  commitHash?: string
  /** The git repository and its commit, if it was installed from one */
  fetchedFrom?: {
    repository: string
    commitHash: string
  }
  filesCount: number
  versionNumber: number
  contentChecksum: string
  /** What a person should look at before running it */
  warnings: SkillWarning[]
}

/** `SkillVersion`, as the API has it. */
export interface SkillVersion {
  id: number
  workspaceId: string
  skillId: number
  versionNumber: number
  contentChecksum: string
  storagePath: string
  bundleType: string
  prompt: string
  name: string
  description: string
  createdBy: string
  note: string | null
  createdAt: string
  active: boolean
}

/** `SkillWarning`, as the API has it. */
export interface SkillWarning {
  code: string
  path?: string
  message: string
}

/** `StepOutcome`, as the API has it. */
export type StepOutcome =
  | {
      status: 'success'
      output?: unknown
    }
  | {
      status: 'failed'
      error: RunError
    }
  | {
      status: 'suspended'
      suspendPayload?: unknown
    }
  | {
      status: 'canceled'
    }

/** `Success`, as the API has it. */
export interface Success {
  success: true
}

/** `Thread`, as the API has it. */
export interface Thread {
  id: string
  agentId: string
  title: string
  visibility: Open<'workspace' | 'private'>
  onNotification: Open<'record' | 'wake'>
  status: Open<'idle' | 'queued' | 'working' | 'waiting'>
  /** chat_<uuid> */
  activeRunId: string | null
  lastSequence: number
  /** Notifications that nobody has seen yet; counted up to 100 */
  unseen: number
  /** A private thread, and one without a run, has none */
  traceId: string | null
  /** Of all its runs, in Ds */
  cost: number
  createdAt: string
  lastActivityAt: string
}

/** `ThreadEvent`, as the API has it. */
export type ThreadEvent = {
  id: string
  /** From 1, without gaps within a thread */
  sequence: number
  threadId: string
  /** The run that it belongs to, if it does to one */
  runId?: string
  at: string
} & (
  | {
      type: 'user.message'
      payload: {
        messageId: string
        content: string
        author: MessageAuthor
      }
    }
  | {
      type: 'run.started'
      payload: {
        agentId: string
        agentVersion: number
        model: string
        /** The ids of the messages that it was started for */
        answers: string[]
      }
    }
  | {
      type: 'agent.message'
      payload: {
        messageId: string
        content: string
        /** The last message that had been read when this was said: one may come while an agent speaks */
        readThrough: number
      }
    }
  | {
      type: 'agent.thinking'
      payload: Record<string, unknown>
    }
  | {
      type: 'agent.tool_use'
      payload: {
        toolUseId: string
        name: string
        label: string
        /** As JSON; cut after 4 KiB */
        input: string
        /** The last message that had been read when this was said: one may come while an agent speaks */
        readThrough: number
      }
    }
  | {
      type: 'agent.tool_result'
      payload: {
        toolUseId: string
        isError: boolean
        /** The beginning of what the tool gave */
        summary: string
        truncated: boolean
        sizeBytes: number
      }
    }
  | {
      type: 'approval.required'
      payload: {
        approvalId: string
        kind: Open<'permission' | 'tool' | 'budget'>
        toolUseId: string
        scope?: string
        summary: string
        expiresAt: string
      }
    }
  | {
      type: 'run.cost'
      payload: {
        /** Of the run so far, in Ds */
        cost: number
        /** What it may cost at most, in Ds */
        limit: number | null
      }
    }
  | {
      type: 'thread.compacted'
      payload: {
        throughSequence: number
        /** Events up to there that the summary does not stand for */
        keeps: number[]
        summary: string
        tokensBefore: number
        tokensAfter: number
        /** Which of those that its run had written */
        ordinal: number
        author?: MessageAuthor
      }
    }
  | {
      type: 'run.finished'
      payload: {
        status: Open<'completed' | 'failed'>
        stop_reason: {
          type: Open<'end_turn' | 'interrupt' | 'limit_reached' | 'error'>
          code?: string
        }
        usage: ChatUsage
        /** In Ds */
        cost: number
        model: string | null
        workflowRuns?: string[]
      }
    }
  | {
      type: 'notification'
      payload: Notification
    }
  | {
      type: 'error'
      payload: {
        code: string
        message: string
        /** The run goes on */
        recovered?: boolean
      }
    }
)

/** `ThreadMessage`, as the API has it. */
export interface ThreadMessage {
  id: string
  role: Open<'user' | 'agent'>
  content: string
  /** chat_<uuid> */
  runId: string | null
  /** Null for what an agent said */
  author: MessageAuthor | null
  sequence: number
  at: string
}

/** `ThreadStreamEvent`, as the API has it. */
export type ThreadStreamEvent =
  | ThreadEvent
  | {
      id: string
      /** The first of a subscription; not kept */
      type: 'thread.ready'
      /** After which the stream goes on */
      sequence: number
      threadId: string
      at: string
      payload: {
        lastSequence: number
        activeRunId: string | null
      }
    }
  | {
      /** Only with deltas; never repeated */
      type: 'agent.message_delta'
      threadId: string
      runId: string
      payload: {
        text: string
      }
    }
  | {
      /** To this stream alone, before it ends; not kept */
      type: 'error'
      payload: {
        code: 'TOO_MANY_STREAMS'
        message: string
      }
    }

/** once: this call; hour: this tool, in this thread, for an hour */
export type ToolChoice = 'once' | 'hour'

/** `TouchedItem`, as the API has it. */
export interface TouchedItem {
  /** As the routes for this kind of thing have it: an id or a slug */
  id: string
  /** In the words of whoever made it: text, and nothing else */
  title: string
  at: string
  /** What a person can do about it now. restore: an earlier version is kept; cancel: it goes on and can be stopped; undo: it can be taken away again */
  undo: Open<'restore' | 'cancel' | 'undo'> | null
}

/** chat: a reply it asked an agent for; artifact: made or deleted; permission: what people allowed it; trace: one that it wrote into */
export type TouchedKind =
  | 'execution'
  | 'workflow-run'
  | 'chat'
  | 'skill'
  | 'workflow'
  | 'agent'
  | 'artifact'
  | 'permission'
  | 'trace'

/** `Trace`, as the API has it. */
export interface Trace {
  id: string
  kind: Open<'execution' | 'chat'>
  title: string
  status: Open<'idle' | 'running' | 'waiting' | 'completed' | 'failed'>
  actor: {
    userId: string
    apiKeyId: number | null
    /** What whoever started it called itself; attribution only */
    agentSlug: string | null
  }
  /** What it is the trace of; for an execution the one that ran last on it */
  target: {
    kind: Open<'execution' | 'chat'>
    executionId?: string
  }
  /** In Ds, of all traces with this traceKey together and of what runs now. It never falls, also when something ends free of charge */
  totalCost: number
  /** In Ds, of this trace alone; add these up, not totalCost */
  ownCost: number
  startedAt: string
  lastActivityAt: string
  /** The lineage: a rerun has that of what it repeats, a remix a new one */
  traceKey: string
  /** The trace of what was run again or remixed */
  parentTraceId: string | null
  /** The highest number given so far; numbers are given when turns are first read */
  lastSeq: number
  holder: {
    apiKeyId: number | null
    agentSlug: string | null
    since: string
  } | null
}

/** `TraceTurn`, as the API has it. */
export interface TraceTurn {
  /** Rises within a trace; not every number is used */
  seq: number
  type: Open<'user.message' | 'agent.text' | 'agent.thinking' | 'tool.call' | 'tool.result' | 'error'>
  payload: Record<string, unknown>
  actorAgentSlug: string | null
  at: string
  /** producer: read from the log of what ran; appended: posted to the trace */
  origin: Open<'producer' | 'appended'>
}

/** XXXX-XXXX; read without regard to case, blanks and hyphens */
export type UserCode = string

/** `ValidatedSkill`, as the API has it. */
export interface ValidatedSkill {
  /** Whether it could be installed */
  valid: boolean
  /** Why not; what follows the first is not looked at */
  issues: {
    message: string
    path?: string
  }[]
  /** What a person should look at before running it */
  warnings: SkillWarning[]
  name?: string
  description?: string
  filesCount?: number
  sizeBytes?: number
  /** What this version asks for and the one before did not */
  asksForMore?: {
    allowedTools: string[]
    scopes: string[]
  }
}

/** `Workflow`, as the API has it. */
export interface Workflow {
  id: number
  slug: string
  name: string
  description: string
  category: string
  storagePath: string
  installedAt: string
  workspaceId: string
  requiresConnector: string | null
  /** The stored definition, as text */
  definition: string
}

/** `WorkflowIssue`, as the API has it. */
export interface WorkflowIssue {
  code: string
  /** Dotted, from the root of the definition; empty for the whole */
  path: string
  message: string
  /** What to write there instead */
  hint: string
}

/** `WorkflowRun`, as the API has it. */
export interface WorkflowRun {
  runId: string
  workflowId: string
  status: Open<RunStatus>
  /** The workspace */
  resourceId: string
  updatedAt: string
  snapshot: RunSnapshot
  conversationId?: string
  parentRunId?: string
}

/** `Workspace`, as the API has it. */
export interface Workspace {
  id: string
  name: string | null
  kind: Open<'personal' | 'team'>
  role: Open<'owner' | 'member'>
  createdAt: string
  /** The workspace this request acts in */
  current: boolean
}

/** `WorkspaceRef`, as the API has it. */
export interface WorkspaceRef {
  id: string
  name: string | null
}
