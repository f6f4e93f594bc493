import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { expectWithin } from '../../../test/support/proof.ts'
import { ConnectionError } from './errors.ts'
import { follow, type Source } from './event-stream.ts'

interface Numbered {
  readonly sequence: number
}

/** Says all its events after the last one that was seen, and breaks off wherever it is told to. */
function sourceOf(count: number, cuts: number[], fault: 'end' | 'error' | 'gap' | 'repeat' = 'end') {
  const openings: (number | undefined)[] = []
  const source: Source<Numbered> = {
    name: 'the stream',
    isGapless: true,
    async open(last = 0) {
      openings.push(last)
      const from = fault === 'repeat' ? Math.max(0, last - 3) : last
      const frames = Array.from({ length: count - from }, (_, index) => frameOf(from + 1 + index))
      if (fault === 'gap' && openings.length % 2 === 1) frames.splice(1, 1)
      const bytes = new TextEncoder().encode(frames.join(''))
      const cut = cuts.shift()
      return new Response(
        bodyOf(cut === undefined ? bytes : bytes.slice(0, cut), cut !== undefined && fault === 'error'),
      )
    },
    read: (data) => {
      const event = JSON.parse(data) as Numbered
      return { event, sequence: event.sequence }
    },
    isLast: ({ sequence }) => sequence === count,
  }
  return { source, openings }
}

const frameOf = (sequence: number) =>
  `id: ${sequence}\ndata: ${JSON.stringify({ sequence, text: 'é'.repeat(sequence % 7) })}\n\n`

function bodyOf(bytes: Uint8Array<ArrayBuffer>, breaks: boolean): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes)
      if (breaks) queueMicrotask(() => controller.error(new TypeError('terminated')))
      else controller.close()
    },
  })
}

async function readAll(source: Source<Numbered>): Promise<number[]> {
  const read: number[] = []
  for await (const { sequence } of follow(source, 0)) read.push(sequence)
  return read
}

test.each(['end', 'error', 'repeat'] as const)(
  'cut anywhere (%s), each event comes once and in order',
  async (fault) => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.nat(700), { maxLength: 30 }),
        async (count, cuts) => {
          const { source } = sourceOf(count, [...cuts], fault)
          expect(await readAll(source)).toEqual(Array.from({ length: count }, (_, index) => index + 1))
        },
      ),
      { numRuns: 200 },
    )
    vi.restoreAllMocks()
  },
)

test('what is left out once is fetched; what is left out again is an error', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0)
  const { source, openings } = sourceOf(9, [], 'gap')
  expect(await readAll(source)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(openings).toEqual([0, 1])
  const always: Source<Numbered> = { ...source, open: async () => new Response(frameOf(1) + frameOf(3)) }
  await expect(readAll(always)).rejects.toMatchObject({ name: 'StreamError' })
  vi.restoreAllMocks()
})

test('silence is a cut, beats are none, and a slow reader is not a dead server', async () => {
  const silent: Source<Numbered> = {
    ...sourceOf(2, []).source,
    open: vi
      .fn()
      .mockResolvedValueOnce(
        new Response(new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode(frameOf(1))) })),
      )
      .mockResolvedValueOnce(new Response(frameOf(2))),
  }
  const read: number[] = []
  const begun = performance.now()
  for await (const { sequence } of follow(silent, 0, { idleTimeoutMs: 100 })) {
    read.push(sequence)
    // Longer than silence may last: nothing is waited for meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
  expect(read).toEqual([1, 2])
  expect(silent.open).toHaveBeenCalledTimes(2)
  expectWithin(performance.now() - begun, 3000)
})

test('leaving the loop closes the connection, and so does the signal', async () => {
  const signals: AbortSignal[] = []
  const endless: Source<Numbered> = {
    ...sourceOf(99, []).source,
    open: async (_last, signal) => {
      signals.push(signal)
      const stream = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(frameOf(1)))
          signal.addEventListener('abort', () => controller.error(signal.reason))
        },
      })
      return new Response(stream)
    },
  }
  for await (const _ of follow(endless, 0)) break
  expect(signals[0]?.aborted).toBe(true)
  const stop = new AbortController()
  const reading = (async () => {
    for await (const _ of follow(endless, 0, { signal: stop.signal }))
      setTimeout(() => stop.abort('enough'), 10)
  })()
  await expect(reading).rejects.toBe('enough')
})

test('what never comes back is given up, with the reason', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0.01)
  const away: Source<Numbered> = {
    ...sourceOf(1, []).source,
    open: () => Promise.reject(new ConnectionError('away', 'unsent')),
  }
  await expect(follow(away, 0, { giveUpAfterMs: 50 }).next()).rejects.toMatchObject({ name: 'StreamError' })
  vi.restoreAllMocks()
})
