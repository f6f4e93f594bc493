import { expect, test } from 'vitest'
import { retry } from './retry.ts'

function failing(times: number): () => Promise<string> {
  let left = times
  return async () => {
    if (left-- > 0) throw new Error(`${left} left`)
    return 'done'
  }
}

test('the work is done again until it succeeds, or nobody wants it any more', async () => {
  const told: [string, number][] = []
  const pause = (error: unknown, failures: number) => {
    told.push([(error as Error).message, failures])
    return failures < 3 ? 0 : undefined
  }
  expect(await retry(failing(2), pause)).toBe('done')
  expect(told).toEqual([
    ['1 left', 1],
    ['0 left', 2],
  ])
  await expect(retry(failing(9), pause)).rejects.toThrow('6 left')
})

test('what the judge throws is thrown', async () => {
  const judge = () => {
    throw new Error('explained')
  }
  await expect(retry(failing(1), judge)).rejects.toThrow('explained')
})

test('it waits as long as it is told, and an abort ends the wait', async () => {
  const begun = performance.now()
  expect(await retry(failing(1), () => 30)).toBe('done')
  expect(performance.now() - begun).toBeGreaterThanOrEqual(29)
  const leaving = new AbortController()
  const late = retry(failing(1), () => 60_000, leaving.signal)
  leaving.abort(new Error('left'))
  await expect(late).rejects.toThrow('left')
})
