import { limits as defaultLimits, type Limit, type LimitName } from '@guildhall/contract'
import { readList } from './setting-readers.ts'

/**
 * `name=max/seconds,…` replaces single limits. `off` lifts the ceilings but keeps the limiter at work; its
 * windows shrink to a second so that the log of a hammered caller stays small.
 */
export function readLimits(value: string): Record<LimitName, Limit> {
  const result: Record<LimitName, Limit> = { ...defaultLimits }
  if (value === 'off') {
    for (const name of Object.keys(result) as LimitName[]) {
      result[name] = { ...result[name], max: 1_000_000_000, windowSeconds: 1 }
    }
    return result
  }
  for (const part of readList(value)) {
    const match = /^(\w+)=(\d+)\/(\d+)$/.exec(part)
    const name = match?.[1] as LimitName
    if (!match || !(name in result)) {
      throw new Error(`"${part}" is not name=max/seconds with a name of ${Object.keys(result).join(', ')}`)
    }
    result[name] = { ...result[name], max: Number(match[2]), windowSeconds: Number(match[3]) }
  }
  return result
}
