import type { ActivityType } from '@guildhall/contract'
import type { ColumnType, Generated } from 'kysely'

/** Timestamps are read as ISO 8601 text with milliseconds. */
export type Time = ColumnType<string, string | Date | undefined, string | Date>
export type OptionalTime = ColumnType<string | null, string | Date | null | undefined, string | Date | null>
export type Mode = 'byokmode' | 'paygmode' | 'basedmode'
export type Role = 'owner' | 'member'
export type GrantMode = 'persistent' | 'session' | 'one_time'

/** Who let somebody have a right: as much of it as is known. */
export interface Approval {
  /** What the person was asked, when it was asked for. */
  readonly requestId?: string
  readonly approvedBy?: string
  readonly approvedAt?: string
  /** The passkey that confirmed it, by the name that it has in addresses. */
  readonly passkey?: string
}

/**
 * By which right something is done. `key`: a scope that the key holds; `full`: a key that may do everything; `grant`: a
 * permission for a time or for a single use; `person`: nobody but the person; `app`: one that the person allowed (OAuth).
 */
export interface Right extends Approval {
  readonly scope: string
  readonly via: 'key' | 'full' | 'grant' | 'person' | 'app'
  readonly grantId?: number
  readonly oauthGrantId?: number
}

/** People, workspaces, credentials and what they may do. */
export interface AccessTables {
  migrations: { name: string; applied_at: Time }
  users: {
    id: Generated<string>
    email: string | null
    email_verified: Generated<boolean>
    name: string | null
    mode: Mode
    created_at: Time
  }
  user_identities: { issuer: string; subject: string; user_id: string }
  workspaces: {
    id: Generated<string>
    name: string | null
    kind: 'personal' | 'team'
    created_at: Time
  }
  invitations: {
    id: Generated<string>
    workspace_id: string
    email: string
    role: Role
    invited_by: string
    created_at: Time
    expires_at: Time
  }
  workspace_members: { workspace_id: string; user_id: string; role: Role; joined_at: Time }
  sessions: {
    id: Generated<number>
    token_hash: Buffer
    user_id: string
    workspace_id: string
    created_at: Time
    expires_at: Time
    last_used_at: Time
    client_ua: string | null
    client_ip: string | null
    label: string | null
    lifetime_seconds: number | null
    kind: Generated<'token' | 'browser'>
  }
  sign_in_codes: { code_hash: Buffer; user_id: string; challenge: string | null; expires_at: Time }
  api_keys: {
    id: Generated<number>
    workspace_id: string
    user_id: string
    label: string
    hint: string | null
    scopes: Generated<string[]>
    approvals: Generated<Readonly<Record<string, Approval>>>
    activated_at: OptionalTime
    created_via: 'pairing' | 'manual'
    client_label: string | null
    client_ua: string | null
    client_ip: string | null
    created_at: Time
    expires_at: OptionalTime
    spend_limit_milli_ds: number | null
    reserved_milli_ds: Generated<number>
    spent_milli_ds: Generated<number>
    last_used_at: OptionalTime
    last_used_ip: string | null
    claim_before: OptionalTime
    revoked_at: OptionalTime
    revoked_because: 'revoked' | 'leak_reported' | 'member_removed' | null
  }
  api_key_secrets: {
    secret_hash: Buffer
    pepper_version: number
    key_id: number
    expires_at: OptionalTime
  }
  key_addresses: { key_id: number; network: string; first_at: Time; last_at: Time }
  activations: {
    id: Generated<number>
    device_code_hash: Buffer
    user_code: string
    status: Generated<'pending' | 'approved' | 'denied' | 'consumed'>
    client_label: string
    client_ua: string
    client_ip: string
    client_network: string
    created_at: Time
    expires_at: Time
    decided_by: string | null
    decided_at: OptionalTime
    decided_session: number | null
    decided_device: string | null
    decided_passkey: string | null
    key_id: number | null
    seen_by: string | null
    requested_scopes: Generated<string[]>
    match_number: string | null
    match_choices: string[] | null
  }
  code_misses: { user_id: string; missed_at: Time }
  idempotency_keys: {
    caller: string
    idempotency_key: string
    request_hash: Buffer
    answer: unknown
    resource_id: string | null
    created_at: Time
  }
  approval_requests: {
    id: string
    kind: 'consent' | 'permission' | 'workflow' | 'budget' | 'tool' | 'ask'
    key_id: number | null
    user_id: string
    workspace_id: string
    scopes: string[]
    mode: GrantMode | null
    reason: string | null
    action: unknown
    link_code: string | null
    same_as: Buffer
    subject: string | null
    question: ColumnType<unknown, string | null | undefined, string | null>
    status: Generated<'pending' | 'granted' | 'denied'>
    granted_mode: GrantMode | null
    granted_until: OptionalTime
    deny_reason: string | null
    created_at: Time
    expires_at: OptionalTime
    decided_at: OptionalTime
    decided_by: string | null
    decided_by_key: number | null
    decided_session: number | null
    decided_device: string | null
    decided_passkey: string | null
    times: Generated<number>
    closed: 'expired' | 'withdrawn' | null
    closed_because: string | null
    answer: ColumnType<unknown, string | null | undefined, string | null>
  }
  grants: {
    id: Generated<number>
    key_id: number
    workspace_id: string
    scope: string
    mode: 'session' | 'one_time'
    request_id: string | null
    bound_method: string | null
    bound_path: string | null
    bound_body_sha256: string | null
    approved_by: string | null
    passkey: string | null
    created_at: Time
    expires_at: Time
    consumed_at: OptionalTime
    spent_for: string | null
  }
  passkeys: {
    id: string
    user_id: string
    public_key: Buffer
    counter: number
    transports: Generated<string[]>
    backed_up: boolean
    name: string
    created_at: Time
    last_used_at: OptionalTime
  }
  passkey_invites: { user_id: string; code_hash: Buffer; expires_at: Time }
  passkey_recovery_codes: { user_id: string; code_hash: Buffer }
  passkey_resets: { user_id: string; workspace_id: string; asked_at: Time; effective_at: Time }
  passkey_challenges: {
    challenge_hash: Buffer
    user_id: string
    purpose: string
    subject_hash: Buffer
    expires_at: Time
  }
  profiles: {
    user_id: string
    bio: string | null
    timezone: string | null
    facts: ColumnType<Record<string, string>, string, string>
    updated_at: Time
  }
  used_addresses: { id: string; expires_at: Time }
  activity: {
    id: Generated<number>
    workspace_id: string | null
    user_id: string | null
    api_key_id: number | null
    actor_kind: 'session' | 'key' | 'oauth' | 'anonymous' | 'operator'
    type: ActivityType
    details: ColumnType<Record<string, unknown>, string, never>
    at: Time
  }
}
