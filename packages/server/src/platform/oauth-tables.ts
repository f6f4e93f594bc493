import type { ColumnType, Generated } from 'kysely'
import type { OptionalTime, Time } from './access-tables.ts'

/** Apps, and what the authorization server keeps. */
export interface OAuthTables {
  oauth_clients: {
    id: string
    user_id: string | null
    kind: Generated<'owned' | 'document' | 'registered'>
    name: string
    redirect_uris: string[]
    secret_hash: Buffer | null
    created_at: Time
    decided_at: Time
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
    last_used_at: OptionalTime
    expires_at: Time
    created_at: Time
  }
}
