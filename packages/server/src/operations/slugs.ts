import type { ChangeKind } from '@guildhall/contract'

/** Of what is known by its slug: where a path says which. */
const slugParams: Partial<Record<ChangeKind, string>> = {
  skills: 'slug',
  workflows: 'slug',
  agents: 'agentId',
}

/** Which ones have changed, where all that has changed is of such a kind and the request or its answer names one. */
export function slugsOf(changes: readonly ChangeKind[], params: unknown, given: unknown): string[] {
  const named = changes.map((kind) => slugParams[kind])
  const [param] = named
  if (param === undefined || named.includes(undefined)) return []
  const slug = textAt(given, 'slug') ?? textAt(params, param)
  // An agent's full id ends with it.
  return slug === undefined ? [] : [slug.slice(slug.lastIndexOf(':') + 1)]
}

function textAt(value: unknown, field: string): string | undefined {
  const found = (value as Record<string, unknown> | null | undefined)?.[field]
  return typeof found === 'string' ? found : undefined
}
