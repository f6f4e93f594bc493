import { isRecord } from './json.ts'

export type Path = readonly string[]

/** What mappings, templates and conditions can read at one moment of a run. */
export interface Scope {
  readonly initData: unknown
  readonly inputData: unknown
  readonly state: unknown
  /** The output of a step that succeeded, else undefined. */
  outputOf(stepId: string): unknown
  requestValue(key: string): string | null | undefined
}

/** Server-set and the same after a resume; the keys are fixed, so that a typo is found at install. */
const requestContextKeys = [
  'workspaceId',
  'userId',
  'runId',
  'workflowId',
  'definitionId',
  'workflowSlug',
  'apiKeyId',
  'agentSlug',
  'conversationId',
  'source',
  'launchedAt',
] as const

export type RequestContext = Readonly<Record<(typeof requestContextKeys)[number], string | null>>

export function isRequestContextKey(key: string): key is keyof RequestContext {
  return (requestContextKeys as readonly string[]).includes(key)
}

export type Reference =
  | { readonly root: 'initData' | 'inputData' | 'state'; readonly path: Path }
  | { readonly root: 'stepResults'; readonly stepId: string; readonly path: Path }
  | { readonly root: 'requestContext'; readonly key: string }

/** `""` and `"."` are the whole value; undefined is returned for what the grammar does not know. */
export function parsePath(text: string): Path | undefined {
  if (text === '' || text === '.') return []
  const segments = text.split('.')
  return segments.every((segment) => /^[^.[\]$]+$/.test(segment)) ? segments : undefined
}

export function parseReference(text: string): Reference | undefined {
  const segments = text.split('.')
  if (!segments.every((segment) => /^[^.[\]$]+$/.test(segment))) return undefined
  const [root, first, ...rest] = segments
  if (root === 'initData' || root === 'inputData' || root === 'state')
    return { root, path: segments.slice(1) }
  if (first === undefined) return undefined
  if (root === 'stepResults') return { root, stepId: first, path: rest }
  return root === 'requestContext' ? { root, key: segments.slice(1).join('.') } : undefined
}

export type Found =
  | { readonly found: true; readonly value: unknown }
  /** `parent` tells a missing leaf, which is tolerated, from a way that leads nowhere. */
  | { readonly found: false; readonly parent: boolean }

const nowhere: Found = { found: false, parent: false }
const missingLeaf: Found = { found: false, parent: true }

/** Own properties of records, indexes and `length` of arrays; texts and numbers are never entered. */
export function findAt(value: unknown, path: Path): Found {
  let current = value
  for (const [depth, segment] of path.entries()) {
    const isLeaf = depth === path.length - 1
    if (Array.isArray(current)) {
      const index = /^(0|[1-9]\d{0,9})$/.test(segment) ? Number(segment) : -1
      if (segment === 'length') current = current.length
      else if (index >= 0 && index < current.length) current = current[index]
      else return isLeaf ? missingLeaf : nowhere
    } else if (isRecord(current)) {
      // Also when data brings a key of that name: it must not travel on into objects built from it.
      if (segment === '__proto__' || !Object.hasOwn(current, segment)) return isLeaf ? missingLeaf : nowhere
      current = current[segment]
    } else return nowhere
  }
  return { found: true, value: current }
}

/** Undefined is returned for a step without a successful, non-null output. */
export function resolveReference(reference: Reference, scope: Scope): Found | undefined {
  if (reference.root === 'requestContext') {
    const value = scope.requestValue(reference.key)
    return value === undefined ? missingLeaf : { found: true, value }
  }
  if (reference.root !== 'stepResults') return findAt(scope[reference.root], reference.path)
  const output = scope.outputOf(reference.stepId)
  return output === undefined || output === null ? undefined : findAt(output, reference.path)
}
