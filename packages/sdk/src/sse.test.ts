import fc from 'fast-check'
import { expect, test } from 'vitest'
import { expectWithin } from '../../../test/support/proof.ts'
import { FrameParser } from './sse.ts'

/** The rules of the format, read line by line from the whole text. */
function reference(text: string): string[] {
  const frames: string[] = []
  const lines = text.split(/\r\n|\r|\n/)
  // What no line break ends is no line.
  lines.pop()
  let data: string[] = []
  for (const line of lines) {
    if (line === '') {
      if (data.length > 0) frames.push(data.join('\n'))
      data = []
    }
    const at = line.indexOf(':')
    const [field, rest] = at === -1 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)]
    const value = rest.startsWith(' ') ? rest.slice(1) : rest
    if (field === 'data') data.push(value)
  }
  return frames
}

const piece = fc.constantFrom(
  'data: a',
  'data:b',
  'data',
  ': beat',
  'id: 7',
  'id',
  'retry: 5',
  'event: x',
  'é😀',
  '',
  '\0',
  ':',
  ' ',
)
const breaks = fc.constantFrom('\n', '\r', '\r\n', '\n\n', '\r\r', '\r\n\r\n')
const streams = fc.array(fc.tuple(piece, breaks), { maxLength: 40 }).map((parts) => parts.flat().join(''))

test('pieces of any size give what the whole gives', () => {
  fc.assert(
    fc.property(streams, fc.array(fc.nat(12), { maxLength: 60 }), (text, sizes) => {
      const bytes = new TextEncoder().encode(`${text}: end\n`)
      const parser = new FrameParser()
      const frames: unknown[] = []
      let at = 0
      for (const size of [...sizes, bytes.length]) {
        frames.push(...parser.push(bytes.slice(at, at + size)))
        at += size
      }
      expect(frames).toEqual(reference(`${text}: end\n`))
    }),
    { numRuns: 2000 },
  )
})

test('a frame of ten megabytes in small pieces takes time in proportion', () => {
  const bytes = new TextEncoder().encode(`data: ${'x'.repeat(10_000_000)}\n\n`)
  const parser = new FrameParser()
  const frames = []
  const begun = process.cpuUsage()
  for (let at = 0; at < bytes.length; at += 16_384)
    frames.push(...parser.push(bytes.subarray(at, at + 16_384)))
  expect(frames[0]?.length).toBe(10_000_000)
  expectWithin(process.cpuUsage(begun).user / 1000, 2000)
})
