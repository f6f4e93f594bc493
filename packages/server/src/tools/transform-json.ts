import { openEvaluators } from './evaluators.ts'
import { outputOf, type Tool } from './tool.ts'

/** Computes a JSONata expression over the data. The expression is a tenant's, so it runs in a process of its own. */
export function transformJson(timeoutMs: number): Tool {
  const evaluate = openEvaluators(timeoutMs)
  return {
    id: 'transform-json',
    description: 'Computes a JSONata expression over the given data.',
    inputSchema: {
      type: 'object',
      properties: { expression: { type: 'string', minLength: 1, maxLength: 10_000 }, data: {} },
      required: ['expression'],
      additionalProperties: false,
    },
    quick: true,
    run: async (input, { signal }) => {
      const { expression, data = null } = input as { expression: string; data?: unknown }
      return outputOf(await evaluate({ expression, data }, signal))
    },
  }
}
