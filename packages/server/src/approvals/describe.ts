import { defaultMode, describeScope, missingScopes } from '@guildhall/contract'

/** The scopes of a request in words for the person who decides. */
export function describeScopes(scopes: readonly string[], held: readonly string[]) {
  return scopes.flatMap((scope) => {
    const info = describeScope(scope)
    if (!info) return []
    const { group, description, sensitive } = info
    const isHeld = missingScopes(held, [scope]).length === 0
    return { scope, group, description, sensitive, default_mode: defaultMode(info), held: isHeld }
  })
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
