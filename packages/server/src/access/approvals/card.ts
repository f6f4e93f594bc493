import { unusual } from '@guildhall/contract'
import { jsonBytes } from '#machinery/graph/graph.ts'

/** An action in a list: how much there is of what is long, and whether to look at it twice, instead of all of it. */
export function toCard(action: unknown) {
  if (typeof action !== 'object' || action === null) return null
  const { args, diff, ...short } = action as { args?: unknown; diff?: string }
  return {
    ...short,
    ...(args !== undefined && { argsBytes: jsonBytes(args) }),
    ...(diff !== undefined && { diffLines: diff.split('\n').length }),
    unusual: isUnusual(action),
  }
}

function isUnusual(action: object): boolean {
  let found = false
  JSON.stringify(action, (name, value) => {
    found ||= unusual.test(name) || (typeof value === 'string' && unusual.test(value))
    return value
  })
  return found
}
