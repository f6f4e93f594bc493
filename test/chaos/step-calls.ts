/**
 * A step whose outcome was recorded is followed by the next level, which is the number in a step's id; begun again after
 * that, it was done again.
 */
export function callsAfterLaterOnes<C extends { readonly runId: string; readonly stepId: string }>(
  calls: readonly C[],
): C[] {
  const levels = new Map<string, number>()
  return calls.filter(({ runId, stepId }) => {
    const level = Number(/\d+/.exec(stepId)?.[0])
    const highest = Math.max(level, levels.get(runId) ?? 0)
    levels.set(runId, highest)
    return level < highest
  })
}
