import { compileDefinition } from '#machinery/graph/graph.ts'

/* The smallest definitions, and how they are grown. */
export const workspaceId = '7d9f2c1e-4b1a-4c55-9f0e-3a6b8c2d1e00'
export const step = (id: unknown) => ({ type: 'tool', id, toolId: 'echo' })
export const define = (change: object) => ({
  id: 'x',
  inputSchema: {},
  outputSchema: {},
  graph: [step('a')],
  ...change,
})
const references = { findTool: () => ({}), hasAgent: () => true }
export const compile = (source: unknown) => compileDefinition(source, { workspaceId, references })
export const mapped = (config: unknown) =>
  define({ graph: [{ type: 'mapping', id: 'm', mapConfig: JSON.stringify(config) }] })
/** A reference of the language. */
export const of = (reference: string) => `$\{${reference}}`
export const many = <T>(count: number, make: (n: number) => T) =>
  Array.from({ length: count }, (_, n) => make(n))
