import { expect, type MockInstance, test, vi } from 'vitest'
import { Pace } from '#platform/pace.ts'
import { exportFormats, exportTrace } from '#running/traces/export.ts'
import { Looking } from '#running/traces/looking.ts'
import { noRules, type RedactionRules, Redactor, type Turn } from '#running/traces/redact.ts'

const trace = {
  id: 'trace_1',
  kind: 'execution',
  title: 'Letters',
  status: 'completed',
  actor: { userId: '3c1f', apiKeyId: 12, agentSlug: null },
  totalCost: 0,
  startedAt: '2026-11-16T00:00:00.000Z',
  lastActivityAt: '2026-11-16T00:01:00.000Z',
  traceKey: 'lineage_1',
}
const facts = Array.from({ length: 200 }, (_, n) => `f${String(n).padStart(3, '0')}`)
const rules: RedactionRules = { ...noRules, facts }
const letters = 16_000
const turnOf = (payload: unknown, seq = 1) =>
  ({
    seq,
    type: 'agent.text',
    payload,
    text: JSON.stringify(payload),
    actorAgentSlug: null,
    at: trace.startedAt,
    origin: 'appended',
  }) satisfies Turn
const turns = [1, 2, 3].map((seq) => turnOf({ content: Array.from({ length: letters }, () => 'a') }, seq))

/** How often others have the thread while something is done that waits for nothing outside. */
async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let count = 0
  let isOver = false
  const next = () => {
    count++
    if (!isOver) setImmediate(next)
  }
  setImmediate(next)
  await work()
  isOver = true
  return count
}

async function* pages(...each: readonly (readonly Turn[])[]) {
  yield* each
}

async function drain(chunks: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of chunks);
}

const options = exportFormats.flatMap((format) => [true, false].map((content) => ({ format, content })))

test.each(options)('others have the thread for every thousand texts: %o', async ({ format, content }) => {
  const looking = new Looking('person')
  const turned = await countTurns(() =>
    drain(exportTrace(trace, pages(turns), { format, content, rules, looking })),
  )
  expect(turned).toBeGreaterThanOrEqual(Math.floor((turns.length * letters) / 1024))
})

test.each([1, 60, 900])('a file is in proportion to what is in it, nested %i deep', async (depth) => {
  let payload: unknown = Array.from({ length: 1000 }, () => 'a')
  for (let n = 0; n < depth; n++) payload = [payload]
  const turn = { ...turnOf(payload), type: 'tool.result' }
  const asked = { format: 'md', content: true, rules: undefined, looking: new Looking('person') } as const
  let written = 0
  for await (const chunk of exportTrace(trace, pages([turn]), asked)) written += chunk.length
  expect(written).toBeLessThan(50 * turn.text.length)
})

test('and for every 256 KiB of a file from which nothing is taken out', async () => {
  const long = Array.from({ length: 20 }, (_, n) => turnOf({ text: 'x '.repeat(30_000) }, n + 1))
  const bytes = long.reduce((sum, { text = '' }) => sum + text.length, 0)
  const looking = new Looking('person')
  const asked = { format: 'md', content: false, rules: undefined, looking } as const
  const turned = await countTurns(() => drain(exportTrace(trace, pages(long), asked)))
  expect(turned).toBeGreaterThanOrEqual(Math.floor(bytes / 262_144))
})

async function redacted(payload: unknown, known: readonly string[] = facts, emails: readonly string[] = []) {
  const redactor = new Redactor({ ...noRules, facts: known, emails }, new Pace())
  await redactor.push(turnOf(payload))
  return redactor.end()?.payload
}

/** How often something of the language is used, which is as often on every machine. */
async function countUses(spy: MockInstance, work: () => Promise<unknown>): Promise<number> {
  await work()
  const uses = spy.mock.calls.length
  spy.mockRestore()
  return uses
}

test('texts are looked at once, however many facts are known', async () => {
  const texts = Array.from({ length: 500 }, (_, n) => `nothing of ${n} is known`)
  const searches = (known: readonly string[]) =>
    countUses(vi.spyOn(String.prototype, 'indexOf'), () => redacted(texts, known))
  expect(await searches(facts)).toBeLessThanOrEqual(1.1 * (await searches(facts.slice(0, 2))))
})

/** Each is of two facts and becomes the same text. */
const names = (count: number) => {
  const all = facts.flatMap((one) => facts.map((two) => one + two)).slice(0, count)
  return Object.fromEntries(all.map((name, n) => [name, n]))
}

test('of many names that become one, each is made another as before, and in one step', async () => {
  const label = '[redacted: profile][redacted: profile]'
  expect(await redacted({ [`${label} 3`]: 0, ...names(4) })).toEqual({
    [`${label} 3`]: 0,
    [label]: 0,
    [`${label} 2`]: 1,
    [`${label} 4`]: 2,
    [`${label} 5`]: 3,
  })
  const asked = await countUses(vi.spyOn(Map.prototype, 'has'), () => redacted(names(1000)))
  expect(asked).toBeLessThan(10_000)
})

test('a text that many facts are in is no more than the letters they cover', async () => {
  const nested = Array.from({ length: 100 }, (_, n) => 'a'.repeat(4 + n))
  expect(await redacted(['a'.repeat(500), 'a'.repeat(500)], nested)).toEqual([
    '[redacted: profile]',
    '[redacted: profile]',
  ])
})

test('others have a turn between two of many facts that one long text has', async () => {
  const nested = Array.from({ length: 100 }, (_, n) => 'a'.repeat(4 + n))
  const letters = 262_144
  const turned = await countTurns(() => redacted('a'.repeat(letters), nested))
  expect(turned).toBeGreaterThanOrEqual(nested.length)
})

test('an address is looked for only where its last letter stands before a sign', async () => {
  const text = `${'@%40'.repeat(5000)} ADA@Example.test`
  let found: unknown
  const cuts = await countUses(vi.spyOn(String.prototype, 'slice'), async () => {
    found = await redacted(text, [], ['ada@example.test'])
  })
  expect(found).toBe(`${'@%40'.repeat(5000)} [redacted: email]`)
  expect(cuts).toBeLessThan(500)
})

test('few look at a time, one of a person, and who waits too long is told when to come again', async () => {
  const [one, two] = [new Looking('one'), new Looking('two')]
  await one.begin()
  await two.begin()
  const { signal } = new AbortController()
  const refused = { code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 5 }
  await expect(new Looking('three', signal, 1).begin()).rejects.toMatchObject(refused)
  two.end()
  await expect(new Looking('one', signal, 1).begin()).rejects.toMatchObject(refused)
  const three = new Looking('three', signal, 60_000)
  await three.begin()
  for (const each of [one, two, three]) each.end()
})

test('nobody keeps a place who does not take what was made, or who is gone', async () => {
  const long = Array.from({ length: 4 }, (_, n) => turnOf({ text: 'x '.repeat(30_000) }, n + 1))
  const file = exportTrace(trace, pages(long), {
    format: 'md',
    content: true,
    rules,
    looking: new Looking('person'),
  })
  expect((await file.next()).done).toBe(false)
  const other = new Looking('person', new AbortController().signal, 60_000)
  await other.begin()
  other.end()
  await file.return(undefined)
  await other.begin()
  other.end()
})
