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
