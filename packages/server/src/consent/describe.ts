import { defaultMode, describeScope, type GrantMode, missingScopes } from '@guildhall/contract'
import type { RequestRow } from './store.ts'

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

export function describeKey(row: RequestRow) {
  return {
    id: row.key_id,
    label: row.key_label,
    client_label: row.client_label,
    client_ua: row.client_ua,
    client_ip: row.client_ip,
    created_at: row.key_created_at,
  }
}

/** The mode each approved scope is granted in: what the person chose, else what was asked for. */
export function modesOf(
  scopes: readonly string[],
  chosen: Readonly<Record<string, GrantMode>> | undefined,
  fallback: GrantMode,
): Record<string, GrantMode> {
  return Object.fromEntries([...scopes].sort().map((scope) => [scope, chosen?.[scope] ?? fallback]))
}

/** What a passkey signs when it approves: this request, these scopes, in these modes, and nothing else. */
export function approvalSubject(requestId: string, modes: Readonly<Record<string, GrantMode>>) {
  return { purpose: 'approve', requestId, modes }
}

export function isSensitive(scope: string): boolean {
  return describeScope(scope)?.sensitive ?? true
}
