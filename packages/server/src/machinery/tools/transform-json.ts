import { openEvaluators } from './evaluators.ts'
import { outputOf, type Tool } from './tool.ts'

/** Computes a JSONata expression over the data. The expression is a tenant's, so it runs in a process that is for it alone. */
export function transformJson(timeoutMs: number): Tool {
  const evaluators = openEvaluators(timeoutMs)
  return {
    id: 'transform-json',
    description: 'Computes a JSONata expression over the given data.',
    gives: 'what the expression gives',
    reach: 'inside',
    inputSchema: {
      type: 'object',
      properties: { expression: { type: 'string', minLength: 1, maxLength: 10_000 }, data: {} },
      required: ['expression'],
      additionalProperties: false,
    },
    quick: true,
    check: () => evaluators.check(),
    run: async (input, { workspaceId, signal }) => {
      const { expression, data = null } = input as { expression: string; data?: unknown }
      return outputOf(await evaluators.evaluate({ workspaceId, expression, data }, signal))
    },
  }
}
