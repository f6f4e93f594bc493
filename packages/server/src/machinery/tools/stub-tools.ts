import { outputOf, type Tool } from './tool.ts'

const open = { type: 'object' }

function stub(
  id: string,
  inputSchema: Record<string, unknown>,
  compute: (input: Record<string, unknown>, idempotencyKey: string) => unknown,
): Tool {
  return {
    id,
    description: 'For tests of workflows only.',
    reach: 'inside',
    inputSchema,
    quick: true,
    run: async (input, { idempotencyKey }) =>
      outputOf(compute(input as Record<string, unknown>, idempotencyKey)),
  }
}

/** What tests of the workflow language are written for. */
export const stubTools: readonly Tool[] = [
  stub('echo', {}, (input) => input),
  stub(
    'add',
    {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
    ({ a, b }) => ({ sum: Number(a) + Number(b) }),
  ),
  stub('fail', {}, () => {
    throw new Error('fail tool always fails')
  }),
  stub('flaky', open, (input, idempotencyKey) => {
    const attempts = callNumber(idempotencyKey)
    const ok = attempts > Number(input['failures'])
    if (!ok && input['mode'] !== 'soft') throw new Error(`flaky attempt ${attempts}`)
    return { ...input, ok, attempts }
  }),
  stub('list', open, ({ items }) => items),
  stub(
    'upper',
    { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    ({ text }) => ({ text: String(text).toUpperCase() }),
  ),
]

/**
 * Which call of its step this is, told by the key alone, so that any process can answer: retries count the attempt and
 * loops the iteration. A step that is retried inside a loop would need a memory.
 */
function callNumber(idempotencyKey: string): number {
  const [iteration, attempt] = idempotencyKey.split(':').slice(-2)
  return Number(iteration) + Number(attempt) + 1
}
