import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planCatalogue } from '#running/traces/catalogue.ts'
import type { CatalogueChange, OpenProducer, Piece } from '#running/traces/store.ts'

/**
 * The catalogue as a model: logs grow, somebody looks, somebody appends, in any order. Whatever was read up to a number
 * must stay as it was, and in the end every event has exactly one number, in the order of its log.
 */
interface Model {
  lastSeq: number
  pieces: Piece[]
  producers: (OpenProducer & { last: number; ended: boolean; done: boolean })[]
  appended: number[]
}

type Step =
  | { readonly do: 'produce'; readonly who: number; readonly events: number }
  | { readonly do: 'join' }
  | { readonly do: 'end'; readonly who: number }
  | { readonly do: 'look' }
  | { readonly do: 'append'; readonly turns: number; readonly gap: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('produce' as const), who: fc.nat(5), events: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ do: fc.constant('join' as const) }),
  fc.record({ do: fc.constant('end' as const), who: fc.nat(5) }),
  fc.record({ do: fc.constant('look' as const) }),
  fc.record({ do: fc.constant('append' as const), turns: fc.integer({ min: 1, max: 4 }), gap: fc.nat(3) }),
)

function look(model: Model): void {
  const open = model.producers.filter(({ done }) => !done)
  const change = planCatalogue(model.lastSeq, model.pieces.at(-1), open)
  if (change) apply(model, change)
}

function apply(model: Model, { lastSeq, pieces, producers }: CatalogueChange): void {
  const byFirst = new Map(model.pieces.map((piece) => [piece.firstSeq, piece]))
  for (const piece of pieces) byFirst.set(piece.firstSeq, piece)
  model.pieces = [...byFirst.values()].sort((a, b) => a.firstSeq - b.firstSeq)
  model.producers = model.producers.map((producer) => ({
    ...producer,
    ...producers.find(({ id }) => id === producer.id),
  }))
  model.lastSeq = lastSeq
}

function append(model: Model, turns: number, gap: number): void {
  look(model)
  for (let turn = 1; turn <= turns; turn++) model.appended.push(model.lastSeq + gap + turn)
  model.lastSeq += gap + turns
}

/** Which event, or which append, each number means. */
function read({ pieces, appended }: Model): Map<number, string> {
  const turns = new Map<number, string>()
  const say = (seq: number, what: string) => {
    expect(turns.has(seq), `${seq} means two turns`).toBe(false)
    turns.set(seq, what)
  }
  for (const seq of appended) say(seq, `append ${seq}`)
  for (const { firstSeq, lastSeq, producerId, firstEvent } of pieces) {
    for (let seq = firstSeq; seq <= lastSeq; seq++) say(seq, `${producerId}:${firstEvent + seq - firstSeq}`)
  }
  return new Map([...turns].sort(([a], [b]) => a - b))
}

function run(steps: readonly Step[], onLook: (model: Model) => void): Model {
  const model: Model = { lastSeq: 0, pieces: [], producers: [], appended: [] }
  for (const each of steps) {
    const found = each.do === 'produce' || each.do === 'end' ? model.producers[each.who] : undefined
    if (each.do === 'join') {
      const id = model.producers.length + 1
      model.producers.push({
        id,
        kind: 'execution',
        rowId: id,
        indexedThrough: 0,
        last: 0,
        ended: false,
        done: false,
      })
    } else if (each.do === 'produce' && found && !found.ended) found.last += each.events
    else if (each.do === 'end' && found) found.ended = true
    else if (each.do === 'append') append(model, each.turns, each.gap)
    else look(model)
    onLook(model)
  }
  look(model)
  return model
}

test('a number that was given never means another turn, and all later ones are higher', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let seen = new Map<number, string>()
      const model = run(steps, (now) => {
        const turns = read(now)
        const known = [...turns].slice(0, seen.size)
        expect(known).toEqual([...seen])
        expect(Math.max(0, ...turns.keys())).toBeLessThanOrEqual(now.lastSeq)
        seen = turns
      })
      const turns = [...read(model).values()]
      for (const { id, last, ended, done } of model.producers) {
        const own = turns.filter((what) => what.startsWith(`${id}:`))
        expect(own).toEqual(Array.from({ length: last }, (_, index) => `${id}:${index + 1}`))
        expect(done).toBe(ended)
      }
      expect(turns.filter((what) => what.startsWith('append'))).toHaveLength(model.appended.length)
    }),
    { numRuns: 500 },
  )
})

test('what goes on where it ended is one piece', () => {
  const first = { firstSeq: 4, lastSeq: 6, producerId: 1, firstEvent: 1 }
  const producer = { id: 1, kind: 'execution', rowId: 9, indexedThrough: 3, last: 5, ended: true } as const
  expect(planCatalogue(6, first, [producer])).toEqual({
    lastSeq: 8,
    pieces: [{ firstSeq: 4, lastSeq: 8, producerId: 1, firstEvent: 1 }],
    producers: [{ id: 1, indexedThrough: 5, done: true }],
  })
  expect(planCatalogue(7, first, [producer])?.pieces).toEqual([
    { firstSeq: 8, lastSeq: 9, producerId: 1, firstEvent: 4 },
  ])
  expect(planCatalogue(6, first, [{ ...producer, last: 3, ended: false }])).toBeUndefined()
})
