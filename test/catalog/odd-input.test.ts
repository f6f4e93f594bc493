import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { asset, catalog, file, filesBelow, output, run, slugs, work } from './workbench.ts'

/** Each script with one input and an output path. */
const scripts: Record<string, (input: string, out: string) => string[]> = {
  'csv-report/scripts/csv_report.py': (input, out) => [input, '--out', out],
  'changelog-from-commits/scripts/changelog.py': (input, out) => [input, '--out', out],
  'meeting-notes-to-actions/scripts/actions.py': (input) => [
    'check',
    input,
    '--notes',
    asset('meeting-notes-to-actions/assets/notes-example.txt'),
  ],
  'log-triage/scripts/log_triage.py': (input, out) => [input, '--out', out],
  'json-schema-from-samples/scripts/json_schema.py': (input, out) => ['infer', input, '--out', `${out}.json`],
  'release-checklist/scripts/checklist.py': (input, out) => ['new', input, '--out', `${out}.json`],
  'sql-explainer/scripts/sql_outline.py': (input, out) => [input, '--out', out],
  'translation-with-glossary/scripts/check_translation.py': (input, out) => [
    '--source',
    input,
    '--target',
    input,
    '--glossary',
    asset('translation-with-glossary/assets/glossary.csv'),
    '--out',
    `${out}.md`,
  ],
  'readme-review/scripts/readme_check.py': (input, out) => [input, '--out', out],
  'unit-test-writer/scripts/scan_functions.py': (input, out) => [input, '--out', out],
  'invoice-extraction/scripts/invoice.py': (input) => ['check', input],
  'incident-timeline/scripts/timeline.py': (input, out) => [input, '--out', out],
}

test('every script in the catalog is run below', () => {
  const found = slugs.flatMap((slug) => filesBelow(join(catalog, slug, 'scripts')))
  expect(found.map((name) => relative(catalog, name)).sort()).toEqual(Object.keys(scripts).sort())
})

describe.each(Object.entries(scripts))('%s on odd input', (script, args) => {
  test('a missing file and an empty one are refused with a message that says what to do', () => {
    for (const input of [join(work, 'absent.txt'), file('empty.txt', '')]) {
      const result = run(script, ...args(input, output()))
      expect(result.code, `${input}: ${result.out}`).toBe(2)
      expect(result.err).toMatch(/^error: .{20,}/m)
      expect(result.err).not.toContain('Traceback')
    }
    expect(run(script).code).toBe(2)
  })

  test('wrong encodings, binary files and huge lines never end in a stack trace, and inputs stay', () => {
    const inputs = [
      file('latin.txt', Buffer.from('caf\xe9;1\nna\xefve;2\n', 'latin1')),
      file('utf16.txt', Buffer.from('\ufeffa,b\r\n1,2\r\n', 'utf16le')),
      file('binary.txt', Buffer.from([0, 1, 2, 255, 0, 10, 0])),
      file('huge.txt', `${'x'.repeat(300_000)}\n${'1,'.repeat(100_000)}\n${'['.repeat(5000)}\n`),
      file('huge.json', '['.repeat(100_000)),
      file('blank.txt', '\n \n\t\n'),
    ]
    for (const input of inputs) {
      const before = readFileSync(input)
      const result = run(script, ...args(input, join(work, `out-${inputs.indexOf(input)}`)))
      expect(result.err, input).not.toContain('Traceback')
      expect([0, 1, 2], input).toContain(result.code)
      if (result.code === 2) expect(result.err, input).toMatch(/error: /)
      expect(readFileSync(input).equals(before), input).toBe(true)
    }
  })
})
