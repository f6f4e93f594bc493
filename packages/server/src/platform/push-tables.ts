import type { ColumnType, Generated } from 'kysely'
import type { OptionalTime, Time } from './access-tables.ts'

/** What browsers are told of, and which. */
export interface PushTables {
  push_subscriptions: {
    id: string
    user_id: string
    session_id: number
    endpoint_hash: Buffer
    endpoint: string
    origin: string
    p256dh: Buffer
    auth: Buffer
    vapid_version: number
    label: string | null
    created_at: Time
    delivered_at: OptionalTime
    failures: Generated<number>
    failing_since: OptionalTime
  }
  notification_settings: {
    user_id: string
    approvals: 'all' | 'sensitive' | 'none'
    questions: boolean
    budget: boolean
    quiet: ColumnType<unknown, string | null, string | null>
    digest: ColumnType<unknown, string | null, string | null>
    muted: ColumnType<unknown, string, string>
  }
  push_words: { id: Generated<number>; approval_id: string; kind: 'asked' | 'ended' }
  push_messages: {
    id: Generated<number>
    subscription_id: string
    kind: 'asked' | 'ended' | 'digest' | 'test' | 'reset'
    approval_ids: Generated<string[]>
    due_at: Time
    expires_at: Time
    attempts: Generated<number>
    sent_at: OptionalTime
  }
}
