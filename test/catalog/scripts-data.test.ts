import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { asset, file, json, output, run, text, work } from './workbench.ts'

describe('csv-report', () => {
  const script = 'csv-report/scripts/csv_report.py'

  test('types, statistics, missing values, charts and both reports', () => {
    const input = asset('csv-report/assets/orders.csv')
    const findings = file('findings.md', 'One order is <b>huge</b>.')
    const result = run(script, input, '--out', output(), '--title', 'Orders', '--findings', findings)
    expect(result.code, result.err).toBe(0)
    const profile = json('output', 'profile.json')
    expect(profile.rows).toBe(10)
    const columns = Object.fromEntries(profile.columns.map((c: { name: string }) => [c.name, c]))
    expect(Object.values(columns).map((c) => (c as { type: string }).type)).toEqual([
      'integer',
      'date',
      'text',
      'number',
      'integer',
      'boolean',
      'text',
    ])
    expect(columns.amount).toMatchObject({ count: 9, missing: 1 })
    expect(columns.amount.stats).toMatchObject({
      min: 60,
      q1: 80,
      median: 95.25,
      mean: 348,
      q3: 110,
      sum: 3132,
    })
    expect(columns.amount.outliers).toEqual({ count: 1, examples: [{ row: 8, value: 2400 }] })
    expect(columns.order_id.possible_identifier).toBe(true)
    expect(text('output', 'report.md')).toContain('10 rows, 7 columns, 2 missing values.')
    const page = text('output', 'report.html')
    expect(page).toContain('&lt;b&gt;huge&lt;/b&gt;')
    expect(page.match(/<svg /g)?.length).toBe(profile.charts)
    expect(page).not.toMatch(/<script|<link|src=/)
    expect(text('output', 'chart-1.svg')).toMatch(/^<svg .*<polyline points="60\.0,/)
  })

  test('semicolons, decimal commas, ragged rows, double names', () => {
    const input = file('de.csv', 'preis;preis;ok\n1.234,50;2;x\n0,50;3\n')
    expect(run(script, input, '--out', output()).code).toBe(0)
    const profile = json('output', 'profile.json')
    expect(profile.delimiter).toBe(';')
    expect(profile.columns[0].stats).toMatchObject({ min: 0.5, max: 1234.5, sum: 1235 })
    expect(profile.columns[1].name).toBe('preis_2')
    expect(profile.warnings.join('\n')).toMatch(
      /two columns are called 'preis'[\s\S]*1 row\(s\) have another number/,
    )
  })

  test('a header alone and an unknown chart column are refused', () => {
    expect(run(script, file('head.csv', 'a,b\n'), '--out', output()).err).toContain('no rows')
    const wrong = run(script, file('ok.csv', 'a,b\n1,2\n'), '--out', output(), '--chart', 'c')
    expect(wrong).toMatchObject({ code: 2, err: "error: no column 'c' to draw; columns are: a, b\n" })
  })
})

describe('changelog-from-commits', () => {
  const script = 'changelog-from-commits/scripts/changelog.py'

  test('groups, breaking changes, a revert within the log, the next version', () => {
    const input = asset('changelog-from-commits/assets/log.txt')
    const result = run(script, input, '--out', output(), '--current', '1.4.0', '--date', '2026-03-04')
    expect(result.out).toContain('commits=6 listed=3 hidden=1 reverted=2 duplicates=0 suggested=2.0.0')
    expect(text('output', 'CHANGELOG.md')).toBe(
      [
        '## 2.0.0 - 2026-03-04\n',
        '### Breaking changes\n',
        '- **api:** lists return 50 items; follow `next` to read the rest. (aaaaaaa)\n',
        '### Added\n',
        '- **api:** page results (aaaaaaa)\n',
        '### Fixed\n',
        '- keep the time zone of imported events (#40) (bbbbbbb)\n',
        '### Other changes\n',
        '- Update the colours of the header (fffffff)\n',
      ].join('\n'),
    )
    expect(json('output', 'changes.json').breaking[0].issues).toEqual([42])
  })

  test("git's own format and --oneline; below 1.0.0 a breaking change raises the minor", () => {
    const own = file(
      'own.txt',
      'commit abcdef1234\nAuthor: Ada <a@b.c>\nDate:   Mon\n\n    fix!: drop x\n\n    body\n',
    )
    expect(run(script, own, '--out', output(), '--current', '0.3.1').out).toContain('suggested=0.4.0')
    expect(json('output', 'changes.json').entries[0]).toMatchObject({
      author: 'Ada',
      type: 'fix',
      text: 'drop x',
    })
    const short = file('short.txt', 'abcdef1 (HEAD -> main) feat: a\nabcdef2 feat: a\nabcdef3 ci: b\n')
    expect(run(script, short, '--out', output(), '--current', '1.0.0').out).toContain(
      'commits=3 listed=1 hidden=1 reverted=0 duplicates=1 suggested=1.1.0',
    )
  })

  test('text that is no log, and a wrong version, are refused', () => {
    expect(run(script, file('no.txt', 'hello there\n'), '--out', output())).toMatchObject({ code: 2 })
    const log = asset('changelog-from-commits/assets/log.txt')
    expect(run(script, log, '--out', output(), '--current', 'one').err).toContain('write it as 1.4.0')
  })
})

describe('meeting-notes-to-actions', () => {
  const script = 'meeting-notes-to-actions/scripts/actions.py'
  const notes = asset('meeting-notes-to-actions/assets/notes-example.txt')
  const example = asset('meeting-notes-to-actions/assets/actions-example.json')

  test('finds candidate lines', () => {
    const lines = run(script, 'candidates', notes).out.trim().split('\n')
    expect(lines.map((line) => line.split('\t')[0])).toEqual(['4', '6', '7', '8'])
  })

  test.each([
    ['by Friday', '2026-03-06 Friday'],
    ['next Friday', '2026-03-13 Friday'],
    ['end of the month', '2026-03-31 Tuesday'],
    ['in two weeks', '2026-03-18 Wednesday'],
    ['12 January', '2027-01-12 Tuesday'],
    ['end of Q1', '2026-03-31 Tuesday'],
  ])('resolves "%s"', (phrase, expected) => {
    expect(run(script, 'date', phrase, '--meeting', '2026-03-04').out.trim()).toBe(expected)
  })

  test('does not guess a date', () => {
    expect(run(script, 'date', 'soon', '--meeting', '2026-03-04').code).toBe(2)
  })

  test('renders what the notes prove', () => {
    const result = run(script, 'render', example, '--notes', notes, '--out', join(work, 'a.md'))
    expect(result.out).toContain('3 action(s), 0 error(s), 2 warning(s)')
    expect(text('a.md')).toContain('| 2 | Review the contract | Ben | 2026-03-31 | normal |')
    expect(text('a.md')).toContain('- Who does this: Book the room for the offsite?')
  })

  test('refuses an invented quote, an unknown owner and a date before the meeting', () => {
    const data = JSON.parse(readFileSync(example, 'utf8'))
    data.actions[0] = { task: 'Send it', owner: 'Zoe', due: '2026-03-01', quote: 'I promise to send it' }
    const result = run(script, 'check', file('bad.json', JSON.stringify(data)), '--notes', notes)
    expect(result.code).toBe(1)
    expect(result.out.match(/^ERROR action 1: .*/gm)).toEqual([
      'ERROR action 1: the quote is not in the notes word for word',
      "ERROR action 1: owner 'Zoe' is neither an attendee nor in the notes",
      'ERROR action 1: due 2026-03-01 lies before the meeting on 2026-03-04',
    ])
  })
})

describe('log-triage', () => {
  const script = 'log-triage/scripts/log_triage.py'
  type Group = { template: string; spikes: { at: string; count: number }[]; new: boolean; trace: string[] }

  test('templates, counts, a spike, new errors and stack traces', () => {
    const result = run(script, asset('log-triage/assets/app-log.txt'), '--out', output())
    expect(result.out).toContain('56 lines = 54 grouped + 2 continued + 0 filtered + 0 blank; 4 templates')
    const { summary, templates } = json('output', 'triage.json')
    expect(summary.levels).toEqual({ error: 13, warn: 1, info: 40 })
    expect(templates[0]).toMatchObject({
      level: 'error',
      count: 12,
      template: 'upstream <ip> timed out after <n>',
      first: '2026-03-04T14:16:01Z',
      last: '2026-03-04T14:16:34Z',
      new: true,
      where: 'app-log.txt:35',
    })
    expect(templates[0].spikes).toEqual([{ at: '2026-03-04T14:16:00Z', count: 12, usual: 0 }])
    expect(templates.filter((g: Group) => g.spikes.length > 0)).toHaveLength(1)
    expect(templates.find((g: Group) => g.template.startsWith('request')).trace).toHaveLength(2)
  })

  test('JSON lines, levels and time limits', () => {
    const input = file(
      'a.jsonl',
      '{"time":1772618400000,"level":50,"msg":"user 12 failed"}\n{"time":"2026-03-04T11:00:00Z","level":"info","msg":"ok"}\n',
    )
    expect(run(script, input, '--out', output(), '--level', 'error').out).toContain('1 filtered')
    expect(json('output', 'triage.json').templates).toMatchObject([
      { level: 'error', template: 'user <n> failed', first: '2026-03-04T10:00:00Z' },
    ])
    expect(run(script, input, '--out', output(), '--since', 'noon').err).toContain(
      '--since must be an ISO time',
    )
  })
})

describe('json-schema-from-samples', () => {
  const script = 'json-schema-from-samples/scripts/json_schema.py'
  const samples = asset('json-schema-from-samples/assets/orders.jsonl')

  test('infers formats, enums, required and nullable, and accepts its samples', () => {
    expect(run(script, 'infer', samples, '--out', join(work, 'schema.json')).code).toBe(0)
    const schema = json('schema.json')
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
    expect(schema.required).toEqual(['id', 'status', 'total', 'created', 'lines'])
    expect(schema.properties).toMatchObject({
      id: { type: 'string', format: 'uuid' },
      status: { type: 'string', enum: ['open', 'paid'] },
      total: { type: 'number' },
      created: { type: 'string', format: 'date-time' },
      note: { type: ['string', 'null'] },
    })
    expect(schema.properties.lines.items.required).toEqual(['sku', 'quantity'])
    expect(run(script, 'check', join(work, 'schema.json'), samples).out).toBe(
      '6 sample(s), 6 valid, 0 invalid\n',
    )
  })

  test('finds each broken place', () => {
    run(script, 'infer', samples, '--out', join(work, 'schema.json'), '--closed')
    const bad = file(
      'bad.json',
      '{"id":"x","status":"lost","total":"1","created":"2026-02-30T00:00:00Z","extra":1}',
    )
    const result = run(script, 'check', join(work, 'schema.json'), bad)
    expect(result.code).toBe(1)
    expect(result.out.split('\n').map((line) => line.replace(/^ERROR \S+ /, ''))).toEqual([
      "$: 'lines' is required",
      "$.id: 'x' is no uuid",
      '$.status: "lost" is not one of ["open", "paid"]',
      '$.total: is string, must be number',
      "$.created: '2026-02-30T00:00:00Z' is no date-time",
      "$: 'extra' is not allowed",
      '1 sample(s), 0 valid, 1 invalid',
      '',
    ])
  })

  test.each([
    ['{"oneOf":[{"type":"integer"},{"minimum":2}]}', '1', 0],
    ['{"oneOf":[{"type":"integer"},{"minimum":2}]}', '3', 1],
    ['{"$defs":{"a":{"maxLength":2}},"$ref":"#/$defs/a"}', '"abc"', 1],
    ['{"prefixItems":[{"const":1}],"items":{"type":"string"}}', '[1,"a"]', 0],
    ['{"prefixItems":[{"const":1}],"items":{"type":"string"}}', '[true,"a"]', 1],
    ['{"$ref":"#"}', '1', 2],
  ])('checks %s against %s', (schema, value, code) => {
    expect(run(script, 'check', file('s.json', schema), file('v.json', value)).code).toBe(code)
  })

  test('never writes over a sample', () => {
    const input = file('a.json', '{"a":1}')
    expect(run(script, 'infer', input, '--out', input).err).toContain(
      'is an input; choose another output path',
    )
    expect(text('a.json')).toBe('{"a":1}')
  })
})
