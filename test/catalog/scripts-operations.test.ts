import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { asset, file, json, output, run, text, work } from './workbench.ts'

describe('unit-test-writer', () => {
  const script = 'unit-test-writer/scripts/scan_functions.py'

  test('lists functions, branches and what no test mentions', () => {
    const result = run(script, asset('unit-test-writer/assets/sample'), '--out', output())
    expect(result.out).toContain('8 function(s) in 2 file(s), 2 test file(s), 6 untested, 0 skipped')
    const list = json('output', 'functions.json').list.map(
      (f: { name: string; branches: number; exported: boolean; tested: boolean }) =>
        `${f.name} ${f.branches} ${f.exported ? 'public' : 'private'} ${f.tested ? 'tested' : 'untested'}`,
    )
    expect(list).toEqual([
      'discount 3 public untested',
      'total 0 public tested',
      '_hidden 0 private untested',
      'add 2 public untested',
      'slug 1 public tested',
      'shorten 1 public untested',
      'helper 0 private untested',
      'count 1 public untested',
    ])
  })

  test('TypeScript with types and generics; broken Python is reported, not fatal', () => {
    file(
      'src/a.ts',
      'export async function load<T>(id: string): Promise<T> {\n  return id ? get(id) : none()\n}\nexport const x = (a: number): number => a\n',
    )
    file('src/b.py', 'def broken(:\n')
    file('src/node_modules/c.js', 'function skipped() {}\n')
    expect(run(script, join(work, 'src'), '--out', output()).out).toContain('2 function(s) in 1 file(s)')
    const result = json('output', 'functions.json')
    expect(result.list.map((f: { name: string; line: number }) => [f.name, f.line])).toEqual([
      ['load', 1],
      ['x', 4],
    ])
    expect(result.skipped[0].file).toBe('b.py')
  })

  test('a folder without code is refused', () => {
    file('docs/a.txt', 'x')
    expect(run(script, join(work, 'docs'), '--out', output()).err).toContain('holds no JavaScript')
  })
})

describe('invoice-extraction', () => {
  const script = 'invoice-extraction/scripts/invoice.py'
  const printed = asset('invoice-extraction/assets/invoice-example.txt')
  const example = asset('invoice-extraction/assets/invoice-example.json')
  const changed = (change: (data: Record<string, unknown>) => void) => {
    const data = JSON.parse(readFileSync(example, 'utf8'))
    change(data)
    return file('invoice.json', JSON.stringify(data))
  }

  test('the draft of the example is the example, and it adds up', () => {
    expect(run(script, 'draft', printed, '--out', join(work, 'draft.json')).code).toBe(0)
    expect(json('draft.json')).toEqual(JSON.parse(readFileSync(example, 'utf8')))
    expect(run(script, 'check', example, '--text', printed)).toMatchObject({
      code: 0,
      out: '0 error(s), 0 warning(s)\n',
    })
  })

  test.each<[string, (data: Record<string, unknown>) => void, string]>([
    [
      'gross',
      (d) => Object.assign(d, { gross: '313.38' }),
      'net + VAT against gross: 312.38 calculated, 313.38 printed',
    ],
    ['IBAN', (d) => Object.assign(d, { iban: 'DE89370400440532013001' }), 'wrong checksum'],
    [
      'IBAN length',
      (d) => Object.assign(d, { iban: 'DE8937040044053201300' }),
      'has 21 characters, DE needs 22',
    ],
    [
      'VAT',
      (d) => Object.assign(d, { vat: [{ rate: '7', base: '262.50', amount: '49.88' }] }),
      'VAT 7 %: 18.38',
    ],
    ['due', (d) => Object.assign(d, { due: '2026-03-01' }), 'lies before issued'],
    ['date', (d) => Object.assign(d, { issued: '2026-02-30' }), 'is no date'],
    ['number as a number', (d) => Object.assign(d, { net: 262.5 }), 'net must be a string'],
    ['VAT id', (d) => Object.assign(d, { seller: { name: 'x', vat_id: 'DE12' } }), 'has not the form'],
  ])('a wrong %s is found', (_name, change, message) => {
    const result = run(script, 'check', changed(change))
    expect(result.code).toBe(1)
    expect(result.out).toContain(message)
  })

  test('an amount that the text does not hold is found', () => {
    const invented = changed((d) => Object.assign(d, { number: 'NW-1', lines: [], net: '262.51' }))
    const result = run(script, 'check', invented, '--text', printed)
    expect(result.out).toContain('ERROR net 262.51 does not occur in the text')
    expect(result.out).toContain("ERROR number 'NW-1' does not occur in the text")
  })

  test('the CSV defuses formulas', () => {
    const input = changed((d) => Object.assign(d, { seller: { name: '=HYPERLINK("x")' }, gross: '-312.38' }))
    expect(run(script, 'csv', example, input, '--out', join(work, 'a.csv')).code).toBe(0)
    const rows = text('a.csv').split('\r\n')
    expect(rows[1]).toBe(
      'invoice-example.json,invoice,NW-2026-0117,2026-03-04,2026-03-18,Nordlicht Werkstatt GmbH,DE123456789,,EUR,' +
        '262.50,49.88,312.38,DE89370400440532013000,0',
    )
    expect(rows[2]).toContain(`"'=HYPERLINK(""x"")",,,EUR,262.50,49.88,-312.38`)
  })
})

describe('incident-timeline', () => {
  const script = 'incident-timeline/scripts/timeline.py'
  const log = asset('incident-timeline/assets/app-log.txt')
  const notes = asset('incident-timeline/assets/notes.txt')

  test('merges in UTC, removes duplicates, marks moments and gaps', () => {
    const result = run(
      script,
      log,
      notes,
      '--out',
      output(),
      '--tz',
      'notes.txt=+01:00',
      '--date',
      'notes.txt=2026-03-04',
    )
    expect(result.out).toContain('7 event(s) from 2 source(s), 1 duplicate(s), 1 gap(s)')
    const timeline = json('output', 'timeline.json')
    expect(
      timeline.events.map((e: { at: string; mark: string | null }) => [e.at.slice(11, 19), e.mark]),
    ).toEqual([
      ['09:55:00', 'change'],
      ['10:00:03', 'failure'],
      ['10:04:00', 'detection'],
      ['10:10:00', null],
      ['10:28:00', 'mitigation'],
      ['10:31:00', 'mitigation'],
      ['10:32:10', 'resolved'],
    ])
    expect(timeline.gaps).toEqual([
      { from: '2026-03-04T10:10:00.000Z', to: '2026-03-04T10:28:00.000Z', minutes: 18 },
    ])
    expect(text('output', 'timeline.md')).toContain('| … | gap | | 18 minutes without an event |')
  })

  test('six forms of time, a wrong clock, and midnight', () => {
    const mixed = file(
      'mixed.txt',
      [
        '2026-03-04 11:00:00,5+01:00 a',
        '1.2.3.4 - - [04/Mar/2026:11:00:01 +0100] "GET b"',
        '1772618402 c',
        '04.03.2026 10:00:03 d',
        'Mar  4 10:00:04 host e',
        '{"ts":"2026-03-04T10:00:05Z","level":"warn","msg":"f"}',
      ].join('\n'),
    )
    const late = file('late.txt', '23:59 x\n00:01 y\n')
    const args = [
      '--date',
      'mixed.txt=2026-03-04',
      '--date',
      'late.txt=2026-03-04',
      '--offset',
      'late.txt=-60',
    ]
    expect(run(script, mixed, late, '--out', output(), ...args).code).toBe(0)
    const events = json('output', 'timeline.json').events.map(
      (e: { at: string; text: string }) => `${e.at} ${e.text}`,
    )
    expect(events).toEqual([
      '2026-03-04T10:00:00.500Z a',
      '2026-03-04T10:00:01.000Z 1.2.3.4 - - "GET b"',
      '2026-03-04T10:00:02.000Z c',
      '2026-03-04T10:00:03.000Z d',
      '2026-03-04T10:00:04.000Z host e',
      '2026-03-04T10:00:05.000Z WARN f',
      '2026-03-04T23:58:00.000Z x',
      '2026-03-05T00:00:00.000Z y',
    ])
  })

  test('a zone abbreviation, an unknown file and times without a day are refused', () => {
    expect(run(script, log, '--out', output(), '--tz', 'app-log.txt=IST').err).toContain(
      "zone 'IST' is not known",
    )
    expect(run(script, log, '--out', output(), '--tz', 'x.txt=UTC').err).toContain(
      "no input is called 'x.txt'",
    )
    expect(run(script, notes, '--out', output()).err).toContain('give --date notes.txt=YYYY-MM-DD')
  })
})
