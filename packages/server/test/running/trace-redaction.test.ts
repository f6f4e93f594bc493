import { describe, expect, test } from 'vitest'
import { type ExportFormat, exportFormats, exportTrace } from '#running/traces/export.ts'
import { Looking } from '#running/traces/looking.ts'
import { noRules, type RedactionRules, type Turn } from '#running/traces/redact.ts'
import { harmless, personal, planted } from '../support/redaction-corpus.ts'

const rules: RedactionRules = {
  ...noRules,
  emails: [personal.email],
  facts: personal.facts,
  secrets: [personal.secret],
}
const trace = {
  id: 'trace_1',
  kind: 'execution',
  title: 'Weekly report',
  status: 'completed',
  actor: { userId: '3c1f', apiKeyId: 12, agentSlug: 'nightly-bot' },
  totalCost: 12.5,
  startedAt: '2026-11-16T00:00:00.000Z',
  lastActivityAt: '2026-11-16T00:01:00.000Z',
  traceKey: 'lineage_1',
}

let seq = 0
function turn(type: string, payload: unknown, actorAgentSlug: string | null = null): Turn {
  seq += 1
  return { seq, type, payload, actorAgentSlug, at: '2026-11-16T00:00:30.000Z', origin: 'appended' }
}

/** Every place of a turn that holds text, each as what is put there makes it. */
const places: Readonly<Record<string, (text: string) => Turn>> = {
  message: (text) => turn('user.message', { content: [{ type: 'text', text }] }),
  'second block': (text) =>
    turn('agent.text', {
      content: [
        { type: 'text', text: 'Done.' },
        { type: 'text', text },
      ],
    }),
  'plain text': (text) => turn('agent.text', { text }),
  thinking: (text) => turn('agent.thinking', { thinking: text }),
  'tool input as text': (text) =>
    turn('tool.call', { name: 'bash', toolUseId: 't1', input: JSON.stringify({ command: text }) }),
  'tool input': (text) =>
    turn('tool.call', { name: 'http', toolUseId: 't2', input: { url: 'x', body: { a: [text] } } }),
  'tool name': (text) => turn('tool.call', { name: text, toolUseId: 't3' }),
  'tool id': (text) => turn('tool.result', { toolUseId: text, isError: false }),
  'tool output': (text) =>
    turn('tool.result', { toolUseId: 't1', isError: true, summary: text, output: text }),
  error: (text) => turn('error', { code: 'EXECUTION_FAILED', message: text }),
  key: (text) => turn('tool.result', { output: { [text]: 1 } }),
  'key deep down': (text) => turn('tool.call', { input: [[{ a: { b: [{ [text]: { c: null } }] } }]] }),
  'array of arrays': (text) => turn('tool.result', { rows: [['a', text], [text]] }),
  'file name': (text) => turn('agent.text', { content: [{ type: 'file', name: text, url: text }] }),
  slug: (text) => turn('agent.text', { text: 'Hello' }, text),
  'model and usage': (text) =>
    turn('agent.text', { model: text, provider: text, usage: { input_tokens: 1 } }),
}

async function exported(
  format: ExportFormat,
  turns: readonly Turn[],
  { title = trace.title, slug = trace.actor.agentSlug, using = rules } = {},
): Promise<string> {
  // One turn to a page: what lies across the edge of two of them must be found as well.
  async function* pages() {
    for (const each of turns) yield [each]
  }
  const about = { ...trace, title, actor: { ...trace.actor, agentSlug: slug } }
  const chunks: string[] = []
  for await (const chunk of exportTrace(about, pages(), {
    format,
    rules: using,
    content: true,
    looking: new Looking(''),
  }))
    chunks.push(chunk)
  return chunks.join('')
}

/** Names of fields and agents are not streamed; in the others something else stands between the halves. */
const uncut = new Set([
  'key',
  'key deep down',
  'slug',
  'tool input as text',
  'second block',
  'array of arrays',
])
const seen = 12

/** Parts of the secret that can still be read, in the text or in the JSON that is in it. */
function leaks(text: string, secret: string): string[] {
  const parts = secret.split('\n').flatMap((line) => {
    const length = Math.min(seen, line.length)
    return Array.from({ length: line.length - length + 1 }, (_, i) => line.slice(i, i + length))
  })
  const spoken = parts.filter((part) => part.length >= 6 && !/^-+(BEGIN|END)?/.test(part))
  return spoken.filter((part) => text.includes(part) || text.includes(JSON.stringify(part).slice(1, -1)))
}

const own = [
  { what: 'email', text: `write to ${personal.email.toUpperCase()}.`, secret: personal.email },
  {
    what: 'email in an address',
    text: `mailto:${personal.email.replace('@', '%40')}`,
    secret: personal.email,
  },
  ...personal.facts.map((fact) => ({ what: 'fact', text: `I know: ${fact}.`, secret: fact })),
  { what: 'known secret', text: personal.secret, secret: personal.secret },
  {
    what: 'known secret in an address',
    text: `?q=${encodeURIComponent(personal.secret)}`,
    secret: personal.secret,
  },
  ...[0, 1, 2].map((lead) => ({
    what: `known secret in base64, ${lead} before it`,
    text: Buffer.from(`${'u'.repeat(lead)}${personal.secret}:end`).toString('base64'),
    secret: Buffer.from(personal.secret).toString('base64').slice(0, -4),
  })),
]
const corpus = [...planted, ...own]

test('the corpus is as large as it says', () => {
  expect(planted.length).toBeGreaterThanOrEqual(60)
  expect(new Set(planted.map(({ secret }) => secret)).size).toBe(planted.length)
  expect(harmless.length).toBeGreaterThanOrEqual(40)
})

describe.each(exportFormats)('as %s', (format) => {
  test('nothing planted is found, in any field', async () => {
    const found: string[] = []
    for (const { what, text, secret } of corpus) {
      const output = await exported(
        format,
        Object.values(places).flatMap((place) => [place(text), place(`see ${text}`), place(`a\n${text}\nb`)]),
        { title: text, slug: text },
      )
      if (leaks(output.toLowerCase(), secret.toLowerCase()).length > 0) found.push(what)
    }
    expect(found).toEqual([])
  })

  test.each([0.1, 0.35, 0.5, 0.75])('nothing is found that was cut at %d of it', async (share) => {
    const found: string[] = []
    for (const { what, text, secret } of corpus) {
      const at = text.indexOf(secret) + Math.round(secret.length * share)
      if (!text.includes(secret)) continue
      const halves = [`First ${text.slice(0, at)}`, `${text.slice(at)} and so on`] as const
      for (const [where, place] of Object.entries(places)) {
        if (uncut.has(where)) continue
        const output = await exported(format, halves.map(place))
        if (leaks(output, secret).length > 0) found.push(`${what}, ${where}`)
      }
      const blocks = halves.map((half) => ({ type: 'text', text: half }))
      const output = await exported(format, [turn('agent.text', { content: blocks })])
      if (leaks(output, secret).length > 0) found.push(`${what}, blocks`)
    }
    expect(found).toEqual([])
  })

  test('nothing harmless is removed', async () => {
    const removed: string[] = []
    for (const text of harmless) {
      const output = await exported(format, [
        turn('agent.text', { text }),
        turn('agent.text', { text: `(${text})` }),
      ])
      if (output.includes('[redacted')) removed.push(text)
    }
    expect(removed).toEqual([])
  })

  test('of marked turns nothing is left but their number', async () => {
    const using = { ...rules, isMarked: (number: number) => number === 2 }
    const words = Object.values(places).map((place) => place('what nobody else should read'))
    for (const each of words) {
      const output = await exported(
        format,
        [
          { ...each, seq: 1, payload: {}, actorAgentSlug: null },
          { ...each, seq: 2 },
        ],
        { using },
      )
      expect(output).not.toContain('nobody else')
      expect(output).toContain('[redacted: marked]')
    }
  })

  test('without rules everything is there', async () => {
    const [{ text }] = planted as unknown as readonly [{ text: string }]
    const chunks: string[] = []
    async function* pages() {
      yield [turn('agent.text', { text })]
    }
    for await (const chunk of exportTrace(trace, pages(), {
      format,
      rules: undefined,
      content: true,
      looking: new Looking(''),
    }))
      chunks.push(chunk)
    expect(chunks.join('')).toContain(text)
  })
})

test('names of fields that hold nothing but secrets are enough', async () => {
  const headers = {
    Authorization: 'abc',
    'Set-Cookie': ['a=1', 'b=2'],
    password: 'one',
    client_secret: { is: 'two' },
  }
  const lines = (await exported('jsonl', [turn('tool.call', { headers, password_hint: 'a dog' })])).split(
    '\n',
  )
  expect(JSON.parse(lines[1] ?? '').payload).toEqual({
    headers: {
      Authorization: '[redacted: authorization]',
      'Set-Cookie': ['[redacted: authorization]', '[redacted: authorization]'],
      password: '[redacted: credential]',
      client_secret: { is: '[redacted: credential]' },
    },
    password_hint: 'a dog',
  })
})

test('what cannot be looked through is removed: what is too deep, and bytes', async () => {
  let deep: unknown = 'at the bottom'
  for (let i = 0; i < 80; i++) deep = i % 2 ? [deep] : { deep }
  const bytes = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * 7919) % 251)).toString('base64')
  const output = await exported('jsonl', [
    turn('tool.result', { deep, image: `data:image/png;base64,${bytes}` }),
  ])
  expect(output).not.toContain('bottom')
  expect(output).not.toContain(bytes.slice(100, 140))
  expect(output).toContain('{"redactions":{"unscannable":2}}')
})

test('what was taken out is counted by its kind, and keys that become equal are kept apart', async () => {
  const [one, two] = planted as unknown as readonly [{ text: string }, { text: string }]
  const turns = [turn('tool.result', { [one.text]: 1, [two.text]: 2, mail: personal.email, __proto__: null })]
  const lines = (await exported('jsonl', turns)).trim().split('\n')
  const { payload } = JSON.parse(lines[1] ?? '') as { payload: object }
  expect(Object.keys(payload).length).toBeGreaterThanOrEqual(3)
  expect(lines.at(-1)).toBe('{"redactions":{"guildhall_secret":2,"email":1}}')
  const last = (await exported('md', turns)).trim().split('\n').at(-1)
  expect(last).toBe('Taken out: 2 × guildhall_secret, 1 × email.')
})
