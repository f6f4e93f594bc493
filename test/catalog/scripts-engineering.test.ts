import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { asset, file, json, output, run, text, work } from './workbench.ts'

describe('release-checklist', () => {
  const script = 'release-checklist/scripts/checklist.py'
  const template =
    'title: R {{v}}\nsections:\n- name: A # note\n  items:\n  - id: one\n    text: "x: y"\n    evidence: file\n  - id: two\n    text: z\n    needs: [one]\n'
  const record = (...args: string[]) =>
    run(script, 'record', join(work, 'plan.json'), '--log', join(work, 'log.jsonl'), '--by', 'me', ...args)
  const verify = () =>
    run(
      script,
      'verify',
      join(work, 'plan.json'),
      '--log',
      join(work, 'log.jsonl'),
      '--out',
      join(work, 'c.md'),
    )

  test('the default template makes a plan, and needs its variables', () => {
    const input = asset('release-checklist/assets/release.yaml')
    expect(run(script, 'new', input, '--out', join(work, 'p.json')).err).toContain('--set version=…')
    expect(run(script, 'new', input, '--out', join(work, 'p.json'), '--set', 'version=2.1.0').out).toContain(
      '10 item(s), 9 required',
    )
    const plan = json('p.json')
    expect(plan.title).toBe('Release 2.1.0')
    expect(plan.sections[0].items[2].text).toBe('The version is 2.1.0 everywhere: package, changelog, tag')
    expect(plan.sections[2].items[0].needs).toEqual(['tests', 'rollback'])
  })

  test('evidence, order and changed files decide', () => {
    run(script, 'new', file('t.yaml', template), '--out', join(work, 'plan.json'), '--set', 'v=1')
    const proof = file('proof.txt', 'passed')
    expect(record('--item', 'one', '--status', 'done').err).toContain("'one' needs evidence: --file")
    expect(record('--item', 'two', '--status', 'done', '--note', 'n').code).toBe(0)
    expect(record('--item', 'one', '--status', 'done', '--file', proof).code).toBe(0)
    expect(verify().out).toContain("ERROR two: recorded before 'one', which it needs")
    expect(record('--item', 'two', '--status', 'done', '--note', 'again').code).toBe(0)
    expect(verify()).toMatchObject({ code: 0, out: expect.stringContaining('READY: 2 of 2 done') })
    expect(text('c.md')).toMatch(/\*\*Ready\.\*\*[\s\S]*\| x \| x: y \| done \| me \|.*sha256/)
    writeFileSync(proof, 'changed')
    expect(verify()).toMatchObject({ code: 1, out: expect.stringContaining('changed after it was recorded') })
  })

  test.each([
    ['tabs', 'a:\n\tb: 1\n', 'not tabs'],
    ['no sections', 'title: x\n', "needs a list 'sections'"],
    ['circle', template.replace('evidence: file', 'needs: [two]'), 'round in a circle'],
    ['double id', template.replace('id: two', 'id: one'), 'occurs twice'],
    ['block text', 'title: |\n  x\n', 'outside the subset'],
  ])('a template with %s is refused', (_name, content, message) => {
    const result = run(script, 'new', file('t.yaml', content), '--out', join(work, 'p.json'), '--set', 'v=1')
    expect(result.code).toBe(2)
    expect(result.err).toContain(message)
  })
})

describe('sql-explainer', () => {
  const script = 'sql-explainer/scripts/sql_outline.py'

  test('outlines tables, joins, filters and grouping', () => {
    expect(run(script, asset('sql-explainer/assets/query.sql'), '--out', output()).code).toBe(0)
    const [statement] = json('output', 'outline.json').statements
    expect(statement.blocks[0]).toMatchObject({
      tables: [
        { table: 'customers', alias: 'c' },
        { table: 'orders', alias: 'o' },
      ],
      joins: [{ type: 'LEFT JOIN', table: 'orders', on: 'o.customer_id = c.id' }],
      group: 'c.name',
      having: 'SUM(o.total) > 100',
      limit: '10',
      aggregates: ['sum'],
    })
    expect(statement.blocks[0].filters).toHaveLength(3)
    expect(statement.risks.map((r: { code: string }) => r.code)).toEqual(['outer-join-undone', 'not-in-null'])
  })

  test.each([
    ['DELETE FROM users', 1, ['missing-where']],
    ['UPDATE a SET x = (SELECT 1 WHERE 1 = 2)', 1, ['missing-where']],
    ["DELETE FROM users WHERE name = 'where'", 0, []],
    ['SELECT a FROM t, u', 1, ['cross-join']],
    ['SELECT * FROM t LIMIT 3', 0, ['limit-without-order', 'select-star']],
    ['SELECT a FROM t WHERE b = NULL', 1, ['equals-null']],
    ["SELECT a FROM t WHERE b LIKE '%x' ESCAPE '\\'", 0, ['leading-wildcard']],
    ['SELECT a FROM t WHERE x = 1 OR y = 2 AND z BETWEEN 1 AND 2', 0, ['and-or-mixed']],
    ['DROP TABLE t', 1, ['destructive']],
    ['INSERT INTO t VALUES (1)', 0, ['insert-without-columns']],
    ["SELECT a FROM t -- DELETE FROM t\nWHERE b = 'x; DROP TABLE t'", 0, []],
  ])('risks of %s', (sql, code, codes) => {
    expect(run(script, file('q.sql', sql), '--out', output()).code).toBe(code)
    const { statements } = json('output', 'outline.json')
    expect(statements).toHaveLength(1)
    expect(statements[0].risks.map((r: { code: string }) => r.code)).toEqual(codes)
  })

  test('an open quote and a lost parenthesis are refused with the line', () => {
    expect(run(script, file('q.sql', "SELECT 1\nFROM t WHERE a = 'x"), '--out', output()).err).toContain(
      'q.sql:2:',
    )
    expect(run(script, file('q.sql', 'SELECT (1'), '--out', output()).err).toContain('not closed')
  })
})

describe('translation-with-glossary', () => {
  const script = 'translation-with-glossary/scripts/check_translation.py'
  const source = asset('translation-with-glossary/assets/en.json')
  const glossary = asset('translation-with-glossary/assets/glossary.csv')
  const check = (target: string, from = source) =>
    run(script, '--source', from, '--target', target, '--glossary', glossary, '--out', join(work, 'check.md'))

  test('a good translation passes', () => {
    expect(check(asset('translation-with-glossary/assets/de.json'))).toMatchObject({
      code: 0,
      out: expect.stringContaining('4 entries, 0 error(s), 0 warning(s)'),
    })
  })

  test('finds terms, forbidden words, placeholders, numbers, gaps and extras', () => {
    const target = {
      greeting: 'Willkommen bei Guildhall!',
      invoices: { count: 'Sie haben {count} Invoices über 1.243,50 EUR.' },
      signin: 'Melden Sie sich im Arbeitsbereich an',
      more: 'x',
    }
    const result = check(file('de.json', JSON.stringify(target)))
    expect(result.code).toBe(1)
    expect(result.out.match(/^ERROR \w+ [\w.]+/gm)).toEqual([
      'ERROR placeholder greeting',
      'ERROR term invoices.count',
      'ERROR forbidden invoices.count',
      'ERROR number invoices.count',
      'ERROR missing invoices.open',
      'ERROR extra more',
    ])
    expect(text('check.md')).toContain('| error | placeholder | greeting | lost {name} |')
  })

  test('text files line by line; a CSV with both columns', () => {
    const from = file('en.txt', 'Open 2 files\nSee https://example.org.\n')
    const result = check(file('de.txt', 'Öffne 2 Dateien\nSiehe https://example.com.\n'), from)
    expect(result.out).toContain('ERROR link line 2')
    const table = file('t.csv', 'key;source;target\na;Total %s;Summe %d\n')
    const csv = run(script, '--target', table, '--glossary', glossary, '--out', join(work, 'c.md'))
    expect(csv).toMatchObject({
      code: 1,
      out: expect.stringContaining('ERROR placeholder a: lost %s; added %d'),
    })
  })

  test('a glossary without its columns is refused', () => {
    const wrong = file('g.csv', 'a,b\n1,2\n')
    const result = run(
      script,
      '--source',
      source,
      '--target',
      source,
      '--glossary',
      wrong,
      '--out',
      join(work, 'c'),
    )
    expect(result).toMatchObject({
      code: 2,
      err: expect.stringContaining('needs the columns source and target'),
    })
  })
})

describe('readme-review', () => {
  const script = 'readme-review/scripts/readme_check.py'

  test('a weak README: dead links and anchors, levels, fences, placeholder, score', () => {
    const result = run(script, asset('readme-review/assets/weak-readme.txt'), '--out', output())
    expect(result.code).toBe(1)
    const check = json('output', 'readme-check.json')
    expect(check.score).toBe(20)
    expect(check.findings.map((f: { code: string; line: number }) => `${f.code}:${f.line}`)).toEqual([
      'dead-link:7',
      'dead-anchor:7',
      'dead-link:8',
      'placeholder:2',
      'heading-level:3',
      'fence-language:4',
      'alt:8',
    ])
  })

  test('a good README has all points; links in code and outside are left alone', () => {
    const readme = file(
      'repo/README.md',
      '# Tool\n\nA small tool that turns files into other files for teams.\n\n## Install\n\n```bash\nnpm run setup\n```\n\n' +
        '## Usage\n\nSee [docs](docs/a.md), [site](https://example.org), [top](#install), `[x](gone.md)`.\n\n' +
        '## Contributing\n\nWelcome. License: MIT.\n',
    )
    file('repo/docs/a.md', 'x')
    file('repo/package.json', '{"scripts":{"setup":"true"}}')
    expect(run(script, readme, '--root', join(work, 'repo'), '--out', output()).out).toContain(
      'score 60 of 60',
    )
    file('repo/package.json', '{"scripts":{}}')
    const wrong = run(script, readme, '--root', join(work, 'repo'), '--out', output())
    expect(wrong).toMatchObject({
      code: 1,
      out: expect.stringContaining("package.json has no script 'setup'"),
    })
  })

  test('an open fence is an error', () => {
    const readme = file('README.md', '# A\n\n```sh\nls\n')
    expect(run(script, readme, '--out', output()).out).toContain('ERROR line 3 fence-open')
  })
})
