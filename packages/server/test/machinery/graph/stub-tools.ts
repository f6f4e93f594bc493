import {
  prepareToolInput,
  type References,
  type StepCall,
  type StepErrorCode,
  type StepOutcome,
} from '#machinery/graph/graph.ts'

type Made = { readonly output: unknown } | { readonly failure: string } | { readonly asks: unknown }

interface Stub {
  readonly inputSchema: Record<string, unknown>
  /** `calls` counts the calls of this tool in the run, this one included. */
  run(input: Record<string, unknown>, calls: number, answer: unknown): Made
}

const open = { type: 'object' }

/** The tools that the corpus is written for. */
export const stubs: Record<string, Stub> = {
  echo: { inputSchema: {}, run: (input) => ({ output: input }) },
  add: {
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
    run: ({ a, b }) => ({ output: { sum: Number(a) + Number(b) } }),
  },
  fail: { inputSchema: {}, run: () => ({ failure: 'fail tool always fails' }) },
  flaky: {
    inputSchema: open,
    run: (input, calls) => {
      const isOver = calls > Number(input['failures'])
      if (!isOver && input['mode'] !== 'soft') return { failure: `flaky attempt ${calls}` }
      return { output: { ...input, ok: isOver, attempts: calls } }
    },
  },
  list: { inputSchema: open, run: ({ items }) => ({ output: items }) },
  upper: {
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    run: ({ text }) => ({ output: { text: String(text).toUpperCase() } }),
  },
  'ask-human': {
    inputSchema: open,
    run: ({ question }, _calls, answer) =>
      answer === undefined ? { asks: { kind: 'question', question } } : { output: { answer } },
  },
  'execute-skill': {
    inputSchema: { type: 'object', required: ['slug', 'input'] },
    run: ({ slug }) => ({ output: { slug, text: 'done' } }),
  },
}

/** What the agents of a corpus file say they do. */
export type Agents = Record<string, string>

export function references(agents: Agents): References {
  return {
    findTool: (toolId) => (Object.hasOwn(stubs, toolId) ? stubs[toolId] : undefined),
    hasAgent: (slug) => Object.hasOwn(agents, slug),
  }
}

export interface Bench {
  readonly toolCalls: Record<string, number>
  perform(call: StepCall): StepOutcome
}

export function openBench(agents: Agents = {}): Bench {
  const toolCalls: Record<string, number> = {}
  let at = 1_790_000_000_000
  const failed = (code: StepErrorCode, message: string): StepOutcome => ({
    kind: 'failed',
    error: { code, message },
    at: ++at,
  })
  const perform = (call: StepCall): StepOutcome => {
    if (call.target.kind === 'agent')
      return { kind: 'success', output: reply(agents[call.target.slug], call), at: ++at }
    const { toolId } = call.target
    const stub = stubs[toolId]
    if (!stub) return failed('REFERENCE_GONE', 'no such tool')
    const { input, issues } = prepareToolInput(stub.inputSchema, call.input)
    if (issues.length > 0) return failed('STEP_INPUT_INVALID', 'the input does not fit')
    const calls = (toolCalls[toolId] ?? 0) + 1
    toolCalls[toolId] = calls
    const made = stub.run(input as Record<string, unknown>, calls, call.answer?.data)
    if ('failure' in made) return failed('TOOL_FAILED', made.failure)
    if ('asks' in made) return { kind: 'suspended', payload: made.asks, at: ++at }
    return { kind: 'success', output: made.output, at: ++at }
  }
  return { toolCalls, perform }
}

/** `always answers <JSON>` or `replies "<prefix>" + prompt`. */
function reply(told: string | undefined, call: StepCall): unknown {
  const always = told?.match(/^always answers (.*)$/)?.[1]
  if (always) return JSON.parse(always)
  const prefix = told?.match(/^replies "(.*)" \+ prompt$/)?.[1] ?? ''
  return { text: prefix + String((call.input as { prompt: string }).prompt) }
}
