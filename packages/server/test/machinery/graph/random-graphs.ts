import fc from 'fast-check'
import type { Answer, StepCall, StepOutcome, Suspension } from '#machinery/graph/graph.ts'

/** A number that depends on nothing but the texts; outcomes made from it are the same in every replay. */
export function digest(...texts: (string | number)[]): number {
  let hash = 2166136261
  for (const char of texts.join('|')) hash = Math.imul(hash ^ char.charCodeAt(0), 16777619)
  return (hash ^ (hash >>> 15)) >>> 0
}

const turnOf = (call: StepCall) => digest(call.stepId, call.index, call.iteration)
const count = (input: unknown) => Number((input as { n?: number } | null)?.n ?? 0)

type Outcome = { output: unknown } | { failure: string } | { asks: unknown }

/** Tools without a memory: what they do follows from the call alone. */
const tools: Record<string, (call: StepCall) => Outcome> = {
  echo: ({ input }) => ({ output: input }),
  tag: (call) => ({ output: { n: turnOf(call) % 100, size: JSON.stringify(call.input ?? null).length } }),
  list: (call) => ({ output: Array.from({ length: turnOf(call) % 6 }, (_, n) => ({ n })) }),
  nothing: () => ({ output: null }),
  count: ({ input }) => ({ output: { n: count(input) + 1 } }),
  flaky: (call) =>
    call.attempt < turnOf(call) % 4
      ? { failure: `attempt ${call.attempt}` }
      : { output: { n: call.attempt } },
  brittle: (call) => (turnOf(call) % 4 === 0 ? { failure: 'broken' } : { output: { n: 1 } }),
  ask: (call) => (call.answer ? { output: call.answer.data } : { asks: { of: call.stepId } }),
  // Asks a second time when the first answer says so, and fails after some answers.
  doubt: (call) => {
    const answer = call.answer?.data as { n: number } | undefined
    if (!answer || (call.questionKey.split(':').length === 3 && answer.n % 2 === 0)) return { asks: { n: 0 } }
    return answer.n % 7 === 0 ? { failure: 'no' } : { output: answer }
  },
}

export function performPurely(call: StepCall): StepOutcome {
  const at = digest(call.idempotencyKey) % 1_000_000
  const { target } = call
  const made: Outcome =
    target.kind === 'agent'
      ? { output: { text: `re: ${(call.input as { prompt: string }).prompt}`.slice(0, 40) } }
      : (tools[target.toolId]?.(call) ?? { failure: 'no such tool' })
  if ('asks' in made) return { kind: 'suspended', payload: made.asks, at }
  if ('output' in made) return { kind: 'success', output: made.output, at }
  return { kind: 'failed', error: { code: 'TOOL_FAILED', message: made.failure }, at }
}

export function answerPurely(suspension: Suspension): Answer {
  return { data: { n: digest(suspension.key) % 50 }, at: digest('at', suspension.key) % 1_000_000 }
}

type Raw = Record<string, unknown>

const toolId = fc.constantFrom(...Object.keys(tools))
const tool = fc.record({ toolId, retries: fc.nat({ max: 3 }) }).map(
  ({ toolId, retries }): Raw => ({
    type: 'tool',
    toolId,
    ...(retries > 0 && { options: { retries } }),
  }),
)
const nap = fc.oneof(
  fc.nat({ max: 1000 }).map((duration): Raw => ({ type: 'sleep', duration })),
  fc.constant<Raw>({ type: 'sleepUntil', date: '1970-01-02' }),
)
const child = fc.oneof({ weight: 5, arbitrary: tool }, { weight: 1, arbitrary: nap })
const condition = fc.oneof(
  fc.record({ op: fc.constantFrom('lt', 'gte'), right: fc.nat({ max: 60 }) }).map(
    ({ op, right }): Raw => ({
      op,
      left: { path: 'inputData.n' },
      right: { literal: right },
    }),
  ),
  fc.constantFrom<Raw>(
    { op: 'exists', path: 'inputData.n' },
    { op: 'truthy', value: { literal: true } },
    { op: 'not', arg: { op: 'exists', path: 'stepResults.s0' } },
  ),
)

/** Entries come in bundles, because a foreach needs a list before it and an agent a prompt. */
const bundle: fc.Arbitrary<Raw[]> = fc.oneof(
  { weight: 4, arbitrary: tool.map((entry) => [entry]) },
  { weight: 1, arbitrary: nap.map((entry) => [entry]) },
  { weight: 2, arbitrary: fc.constant<Raw[]>([{ type: 'mapping' }]) },
  { weight: 1, arbitrary: fc.constant<Raw[]>([{ type: 'mapping' }, { type: 'agent', agentId: 'writer' }]) },
  {
    weight: 3,
    arbitrary: fc
      .array(child, { minLength: 1, maxLength: 4 })
      .map((steps): Raw[] => [{ type: 'parallel', steps }]),
  },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.tuple(child, condition), { minLength: 1, maxLength: 3 })
      .map((pairs): Raw[] => [
        { type: 'conditional', steps: pairs.map(([step]) => step), predicates: pairs.map(([, one]) => one) },
      ]),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({
        step: fc.oneof(tool, fc.constant<Raw>({ type: 'tool', toolId: 'count' })),
        ends: fc.integer({ min: 1, max: 5 }),
      })
      .map(({ step, ends }): Raw[] => [
        {
          type: 'loop',
          loopType: 'dountil',
          step,
          predicate: {
            op: 'or',
            args: [
              { op: 'gte', left: { path: 'inputData.n' }, right: { literal: ends } },
              { op: 'not', arg: { op: 'exists', path: 'inputData.n' } },
            ],
          },
        },
      ]),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({ step: child, concurrency: fc.integer({ min: 1, max: 4 }) })
      .map(({ step, concurrency }): Raw[] => [
        { type: 'tool', toolId: 'list' },
        { type: 'foreach', step, opts: { concurrency } },
      ]),
  },
)

/** Definitions of all types of entry that compile, whatever becomes of them when they run. */
export const randomDefinition = fc
  .array(bundle, { minLength: 1, maxLength: 4 })
  .map((bundles) => ({ id: 'random', inputSchema: {}, outputSchema: {}, graph: name(bundles.flat()) }))

function name(entries: Raw[]): Raw[] {
  let next = 0
  const earlier: string[] = []
  const withId = (step: unknown): Raw => ({ ...(step as Raw), id: `s${next++}` })
  return entries.map((entry) => {
    const first = next
    const named: Raw = Array.isArray(entry['steps'])
      ? { ...entry, steps: entry['steps'].map(withId) }
      : entry['step']
        ? { ...entry, step: withId(entry['step']) }
        : withId(entry)
    if (named['type'] === 'mapping') named['mapConfig'] = JSON.stringify(mapConfigFrom(earlier))
    // A condition may name the very first step only when there is one.
    if (earlier.length === 0 && Array.isArray(named['predicates']))
      named['predicates'] = named['predicates'].map(() => ({ op: 'exists', path: 'initData.n' }))
    for (let step = first; step < next; step++) earlier.push(`s${step}`)
    return named
  })
}

function mapConfigFrom(earlier: readonly string[]): Raw {
  const last = earlier.at(-1)
  return {
    n: { value: earlier.length },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the language's own references
    prompt: { template: 'from ${initData.n} in ${requestContext.runId}' },
    ...(last && { before: { step: last, path: '' }, any: { step: earlier.slice(-3), path: '' } }),
  }
}
