import type { LimitName } from '@guildhall/contract'
import type { Deps } from '#platform/deps.ts'
import { networkOf } from '#platform/network.ts'
import type { WindowState } from '#platform/rate-window.ts'
import { ApiError } from './errors.ts'

/** Counts one request in the named windows at once. Who has no credential is its address. */
export async function countRequest(
  deps: Pick<Deps, 'config' | 'rateWindows'>,
  names: readonly LimitName[],
  identity: { caller: string | undefined; userId: string | undefined; address: string },
): Promise<WindowState[]> {
  return deps.rateWindows.count(
    names.map((name) => {
      const limit = deps.config.limits[name]
      const who = (limit.per === 'user' ? identity.userId : identity.caller) ?? ''
      const counted = limit.per === 'address' || who === '' ? `ip:${networkOf(identity.address)}` : who
      return { key: `${name}:${counted}`, max: limit.max, windowMs: limit.windowSeconds * 1000 }
    }),
  )
}

/**
 * A window of all that a person has is counted after the right to do the thing: a credential that may not would otherwise
 * keep the person's others from doing it.
 */
export function splitLimits(
  { config }: Pick<Deps, 'config'>,
  names: readonly LimitName[],
): { own: readonly LimitName[]; persons: readonly LimitName[] } {
  const isPersons = (name: LimitName) => config.limits[name].per === 'user'
  // Nearly no route has one.
  if (!names.some(isPersons)) return { own: names, persons: [] }
  return { own: names.filter((name) => !isPersons(name)), persons: names.filter(isPersons) }
}

export function refuseIfFull(
  deps: Pick<Deps, 'config' | 'metrics'>,
  names: readonly LimitName[],
  states: readonly WindowState[],
): void {
  const index = states.findIndex((state) => !state.allowed)
  const state = states[index]
  if (state) throw tooManyRequests(deps, names[index] ?? 'rest', Math.ceil(state.resetMs / 1000))
}

export function tooManyRequests(
  deps: Pick<Deps, 'config' | 'metrics'>,
  limit: LimitName,
  retryAfterSeconds: number,
): ApiError {
  deps.metrics.rateLimited.inc({ limit })
  return new ApiError('RATE_LIMITED', {
    message: `Too many requests; try again in ${retryAfterSeconds} s`,
    retryAfterSeconds,
    window: { limit: deps.config.limits[limit].max, resetSeconds: retryAfterSeconds },
  })
}
