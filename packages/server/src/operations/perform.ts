import type { BoundRoute, Call, FileAnswer } from './bind.ts'

/**
 * Runs a handler. What changes something has spent its grants by then, in its own transaction; what only reads spends
 * them now that there is an answer, so that a refusal costs nothing, and of parallel reads one is answered.
 */
export async function perform({ route, handler }: BoundRoute, call: Call): Promise<unknown> {
  const answer = await handler(call)
  const { access, deps } = call
  if (route.method !== 'GET' || !access?.mustSpend) return answer
  try {
    await deps.database.transaction((tx) => access.spend(tx))
  } catch (error) {
    if (route.answers === 'file') (answer as FileAnswer).stream.destroy()
    throw error
  }
  return answer
}
