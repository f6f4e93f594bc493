import { expect, test } from 'vitest'
import { LargeBodies } from './large-bodies.ts'

const stays = new AbortController().signal
const bytesOf = (value: unknown) => Buffer.from(new TextEncoder().encode(JSON.stringify(value)).buffer)

test('of many that come at once, callers are read in turn', async () => {
  const bodies = new LargeBodies()
  const read: string[] = []
  const come = async (caller: string, name: string) => {
    expect(await bodies.read(caller, bytesOf({ name }), 5, stays)).toEqual({ name })
    read.push(name)
  }
  await Promise.all([come('a', 'a1'), come('a', 'a2'), come('a', 'a3'), come('b', 'b1')])
  expect(read).toEqual(['a1', 'a2', 'b1', 'a3'])
})

test('who has gone is not waited for', async () => {
  const bodies = new LargeBodies()
  const gone = new AbortController()
  const first = bodies.read('a', bytesOf('first'), 5, stays)
  const left = bodies.read('b', bytesOf('left'), 5, gone.signal)
  gone.abort()
  await expect(left).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(await first).toBe('first')
  expect(await bodies.read('c', bytesOf('next'), 5, stays)).toBe('next')
})
