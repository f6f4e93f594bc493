import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toIsoTime } from './database.ts'

const year = (n: number) => Date.UTC(n, 0)

/** As PostgreSQL writes it. */
function written(time: Date): string {
  const [date = '', clock = ''] = time.toISOString().slice(0, -1).split('T')
  const [second = '', fraction = ''] = clock.split('.')
  const kept = fraction.replace(/0+$/, '')
  return `${date} ${second}${kept === '' ? '' : `.${kept}`}+00`
}

test('a time of the database is the same time as ISO 8601, whatever zeros were left out', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date(year(1900)), max: new Date(year(9999)), noInvalidDate: true }),
      (time) => {
        expect(toIsoTime(written(time))).toBe(time.toISOString())
      },
    ),
  )
  expect(toIsoTime('2026-11-15 02:35:08.109+00')).toBe('2026-11-15T02:35:08.109Z')
  expect(toIsoTime('2026-11-15 02:35:08.1+00')).toBe('2026-11-15T02:35:08.100Z')
  expect(toIsoTime('2026-11-15 02:35:00+00')).toBe('2026-11-15T02:35:00.000Z')
})

test('what is written in another way is read all the same', () => {
  expect(toIsoTime('2026-11-15 02:35:08.109877+00')).toBe('2026-11-15T02:35:08.109Z')
  expect(toIsoTime('2026-11-15 02:35:08.109+02')).toBe('2026-11-15T00:35:08.109Z')
})
