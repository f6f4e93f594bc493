import type { FinalState } from './evidence.ts'
import { isRefusal, isSuccess, type Operation, type Sort } from './history.ts'

/** Something that an operation made, named as an answer names it. */
type Effects = ReadonlyMap<string, readonly string[]>

/** Every operation's id is part of what it makes. */
const marker = /op-[a-z0-9]+-\d+/

/** What each operation made, for the sorts that make something under an Idempotency-Key, or share what is equal. */
export function findEffectViolations(operations: readonly Operation[], state: FinalState): string[] {
  const made = effectsOf(state)
  return operations.flatMap((operation) => {
    const effects = made[operation.sort]?.get(operation.id)
    const violations = made[operation.sort]
      ? checkMade(operation, effects ?? [])
      : checkChange(operation, state)
    return violations.map((violation) => `${operation.sort} ${operation.id}: ${violation}`)
  })
}

function checkMade({ attempts }: Operation, effects: readonly string[]): string[] {
  const told = [
    ...new Set(attempts.filter(isSuccess).flatMap((one) => (one.told === null ? [] : [one.told]))),
  ]
  const violations: string[] = []
  if (effects.length > 1) violations.push(`one key, and there are ${effects.join(' and ')}`)
  if (told.length > 1) violations.push(`one key, and the answers name ${told.join(' and ')}`)
  for (const id of told) {
    if (!effects.includes(id)) violations.push(`${id} was acknowledged and is not there`)
  }
  if (attempts.every(isRefusal) && effects.length > 0) {
    violations.push(
      `was refused for certain (${attempts.at(-1)?.text}) and there is ${effects.join(' and ')}`,
    )
  }
  return violations
}

function effectsOf(state: FinalState): Partial<Record<Sort, Effects>> {
  const byMarker = (executions: FinalState['executions']) =>
    group(
      executions.filter(({ runId }) => runId === null),
      ({ input }) => marker.exec(input)?.[0],
      ({ executionId }) => executionId,
    )
  const started = byMarker(state.executions.filter((one) => !cameToNothing(one)))
  const runs = group(
    state.runs.filter(({ status }) => status !== 'void' && status !== 'launching'),
    ({ inputs }) => marker.exec(inputs)?.[0],
    ({ runId }) => runId,
  )
  const id = ({ id }: { id: string | number }) => String(id)
  return {
    start: started,
    rerun: started,
    prepare: byMarker(state.executions),
    launch: runs,
    'use-key': runs,
    'make-key': group(state.keys, ({ label }) => label, id),
    artifact: group(state.artifacts, ({ name }) => name, id),
    ask: group(state.requests, ({ reason }) => reason ?? undefined, id),
  }
}

/** A start that was taken back: it was never worked on, and cost nothing. */
function cameToNothing({ status, errorCode, costMilliDs }: FinalState['executions'][number]): boolean {
  return status === 'failed' && errorCode === 'EXECUTION_FAILED' && costMilliDs === 0
}

function group<T>(
  items: readonly T[],
  operation: (item: T) => string | undefined,
  name: (item: T) => string,
): Effects {
  const groups = new Map<string, string[]>()
  for (const item of items) {
    const id = operation(item)
    if (id === undefined) continue
    groups.set(id, [...(groups.get(id) ?? []), name(item)])
  }
  return groups
}

/** What was changed and acknowledged stayed changed. */
function checkChange(operation: Operation, state: FinalState): string[] {
  const { sort, target, kind, attempts, workspaceId, id } = operation
  const acknowledged = attempts.some(isSuccess)
  const isRefused = attempts.every(isRefusal)
  const execution = () => state.executions.find(({ executionId }) => executionId === target)
  const run = () => state.runs.find(({ runId }) => runId === target)
  switch (sort) {
    case 'post': {
      const said = (state.logs.get(target ?? '') ?? []).filter(({ type }) => type === 'user.message').length
      if (said > 1) return [`${target} was told ${said} times`]
      if (acknowledged && said === 0) return [`${target} was told, and its log has no word of it`]
      // One that could not be handed over was told first; then it must have come to nothing.
      const found = execution()
      const isNothing = said === 0 || !found || cameToNothing(found)
      return isRefused && !isNothing ? [`was refused for certain, and ${target} is ${found.status}`] : []
    }
    case 'cancel': {
      if (!attempts.some((one) => isSuccess(one) && one.told === 'true')) return []
      const found = execution()
      return found?.stopReason === 'interrupt' ? [] : [`${target} was canceled and is ${found?.status}`]
    }
    case 'cancel-run':
    case 'unqueue': {
      const status = run()?.status
      if (acknowledged && status !== 'canceled') return [`${target} was canceled and is ${status}`]
      return []
    }
    case 'decide': {
      const status = state.requests.find((one) => one.id === target)?.status
      const wanted = kind === 'approve' ? 'granted' : 'denied'
      if (acknowledged && status !== wanted) return [`${target} was ${wanted} and is ${status}`]
      return isRefused && status === wanted ? [`was refused for certain, and ${target} is ${status}`] : []
    }
    case 'install': {
      const isThere =
        kind === 'workflow'
          ? state.workflows.some((one) => one.workspaceId === workspaceId && one.slug === id)
          : state.skillVersions.some((one) => one.workspaceId === workspaceId && one.artifactId === target)
      if (acknowledged && !isThere) return ['was acknowledged and is not there']
      const versions = state.skillVersions.filter((one) => one.artifactId === target).length
      return versions > 1 ? [`one key, and ${versions} versions of ${target}`] : []
    }
    case 'read':
      return attempts.some(({ status }) => status === 404) ? [`${target} was acknowledged and not found`] : []
    default:
      return []
  }
}
