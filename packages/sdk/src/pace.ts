/** What the server says of a window. */
export interface Rate {
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
}

/** What an answer says of the window that it was counted in. */
export function rateOf(headers: Headers): Rate | undefined {
  const read = (name: string) => Number(headers.get(`x-ratelimit-${name}`) ?? Number.NaN)
  const rate = { limit: read('limit'), remaining: read('remaining'), resetSeconds: read('reset') }
  return rate.limit + rate.remaining + rate.resetSeconds >= 0 ? rate : undefined
}
