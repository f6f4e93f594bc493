import { expect, test } from 'vitest'
import { createFrameReader, encodeFrame } from './frames.ts'

const bytesOf = (head: Record<string, unknown>, body?: Uint8Array) => Buffer.concat(encodeFrame(head, body))

test('frames come out as they went in, however they are cut', () => {
  const sent = [
    { head: { op: 'a', text: 'ü€' }, body: Buffer.from('body') },
    { head: {}, body: Buffer.alloc(0) },
    { head: { n: 1 }, body: Buffer.alloc(3000, 'x') },
  ]
  const stream = Buffer.concat(sent.map(({ head, body }) => bytesOf(head, body)))
  for (const size of [1, 7, 8, 9, 100, stream.length]) {
    const read = createFrameReader(() => 5000)
    const received = []
    for (let at = 0; at < stream.length; at += size) received.push(...read(stream.subarray(at, at + size)))
    expect(received).toEqual(sent)
  }
})

test('a body beyond what was asked for, or a huge head, is refused by its length alone', () => {
  const tooLong = bytesOf({}, Buffer.alloc(11)).subarray(0, 8)
  expect(() => createFrameReader(() => 10)(tooLong)).toThrow('more than was asked for')
  expect(() => createFrameReader(() => 10)(Buffer.from([255, 0, 0, 0, 0, 0, 0, 0]))).toThrow(
    'more than was asked for',
  )
})

test('what is no object is refused', () => {
  for (const head of ['null', '7', '{']) {
    const lengths = Buffer.from([0, 0, 0, head.length, 0, 0, 0, 0])
    expect(() => createFrameReader(() => 10)(Buffer.concat([lengths, Buffer.from(head)]))).toThrow()
  }
})
