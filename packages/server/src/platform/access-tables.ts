import type { ActivityType } from '@guildhall/contract'
import type { ColumnType, Generated } from 'kysely'

/** Timestamps are read as ISO 8601 text with milliseconds. */
export type Time = ColumnType<string, string | Date | undefined, string | Date>
export type OptionalTime = ColumnType<string | null, string | Date | null | undefined, string | Date | null>

export type Mode = 'byokmode' | 'paygmode' | 'basedmode'
export type Role = 'owner' | 'member'
export type GrantMode = 'persistent' | 'session' | 'one_time'

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
  }
  sign_in_codes: { code_hash: Buffer; user_id: string; challenge: string | null; expires_at: Time }
  api_keys: {
    id: Generated<number>
    workspace_id: string
    user_id: string
    label: string
    hint: string | null
    scopes: Generated<string[]>
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
    revoked_because: 'revoked' | 'leak_reported' | null
  }
  api_key_secrets: {
    secret_hash: Buffer
    pepper_version: number
    key_id: number
    expires_at: OptionalTime
  }
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
    key_id: number | null
    seen_by: string | null
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
    kind: 'consent' | 'permission' | 'workflow' | 'budget'
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
  passkey_challenges: {
    challenge_hash: Buffer
    user_id: string
    purpose: string
    subject_hash: Buffer
    expires_at: Time
  }
  oauth_clients: {
    id: string
    user_id: string
    name: string
    redirect_uris: string[]
    secret_hash: Buffer | null
    created_at: Time
  }
  oauth_records: {
    id: Generated<number>
    model: string
    id_hash: Buffer
    payload: ColumnType<Record<string, unknown>, string, string>
    grant_id: string | null
    client_id: string | null
    user_id: string | null
    workspace_id: string | null
    consumed_at: OptionalTime
    expires_at: Time
    created_at: Time
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
