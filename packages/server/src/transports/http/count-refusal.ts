import { type ApiError, toApiError } from '#operations/errors.ts'
import { countRequest, refuseIfFull } from '#operations/limits.ts'
import type { Deps } from '#platform/deps.ts'

export interface ShownWindow {
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
}

export type Counting = Pick<Deps, 'config' | 'rateWindows' | 'metrics'>

/**
 * What is refused before the framework has it counts like any other refused credential, against its address: the answer
 * bears a window, and of too many the refusal is that.
 */
export async function countRefusal(
  deps: Counting,
  address: string,
  refusal: ApiError,
): Promise<{ refusal: ApiError; window: ShownWindow | undefined }> {
  const names = ['refused'] as const
  const states = await countRequest(deps, names, { caller: undefined, userId: undefined, address })
  const [state] = states
  const window = state && {
    limit: deps.config.limits.refused.max,
    remaining: state.remaining,
    resetSeconds: Math.ceil(state.resetMs / 1000),
  }
  try {
    refuseIfFull(deps, names, states)
    return { refusal, window }
  } catch (error) {
    return { refusal: toApiError(error), window }
  }
}
