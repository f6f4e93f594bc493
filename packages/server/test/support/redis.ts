import { inject } from 'vitest'

/**
 * The Redis of this worker. Its words know no database numbers, so files that run side by side on one Redis would hear
 * each other; files of one worker follow each other.
 */
export function redisUrl(): string {
  const urls = inject('redisUrls')
  const url = urls[Number(process.env['VITEST_POOL_ID']) - 1]
  if (url === undefined)
    throw new Error(`worker ${process.env['VITEST_POOL_ID']} has no Redis: there are ${urls.length}`)
  return url
}
