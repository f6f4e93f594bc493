import type { Config } from '#platform/config.ts'

/** The page of a request in the app. */
export function approvalUrl({ appUrl }: Pick<Config, 'appUrl'>, id: string): string {
  return `${appUrl}/approvals/${id}`
}

interface AskingKey {
  readonly key_label: string | null
  readonly client_label: string | null
  readonly client_ua: string | null
  readonly client_ip: string | null
  readonly key_created_at: string | null
  readonly created_at: string
}

/** The key that asks, or asked before it was deleted. */
export function describeKey(id: number, row: AskingKey) {
  return {
    id,
    label: row.key_label ?? '',
    client_label: row.client_label,
    client_ua: row.client_ua,
    client_ip: row.client_ip,
    created_at: row.key_created_at ?? row.created_at,
  }
}
