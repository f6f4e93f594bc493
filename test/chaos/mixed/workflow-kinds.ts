import { tools } from '../../support/counting-tools.ts'
import { bash, script } from '../../support/executions.ts'

const [quick = '', slow = '', long = ''] = tools.map(({ id }) => id)
const step = (id: string, toolId = quick) => ({ type: 'tool', id, toolId })
const mapping = (fields: Record<string, unknown>) => {
  const values = Object.entries(fields).map(([name, value]) => [name, { value }])
  return { type: 'mapping', id: 'm', mapConfig: JSON.stringify(Object.fromEntries(values)) }
}

/** The number in the id of a counted step is its level: it runs after all steps of lower levels. */
const graphs = {
  line: [step('s1'), step('s2'), step('s3')],
  fan: [
    step('s1'),
    { type: 'parallel', steps: [step('a2', slow), step('b2'), { type: 'sleep', id: 'z', duration: 300 }] },
    step('s3'),
  ],
  list: [
    mapping({ items: [1, 2, 3, 4] }),
    { type: 'tool', id: 'l', toolId: 'list' },
    { type: 'foreach', step: step('e1'), opts: { concurrency: 2 } },
    step('s2'),
  ],
  nap: [step('s1', slow), { type: 'sleep', id: 'z', duration: 1500 }, step('s2')],
  ask: [
    step('s1', long),
    mapping({ question: 'Which?' }),
    { type: 'tool', id: 'ask', toolId: 'ask-human' },
    step('s2', slow),
  ],
  compute: [
    mapping({ expression: 'a + b', data: { a: 40, b: 2 } }),
    { type: 'tool', id: 'sum', toolId: 'transform-json' },
    step('s1'),
  ],
  agent: [
    step('s1'),
    mapping({ prompt: script({ say: 'Said.' }) }),
    { type: 'agent', id: 'say', agentId: 'clerk' },
    step('s2'),
  ],
  skill: [step('s1'), { type: 'tool', id: 'do', toolId: 'execute-skill' }],
} satisfies Record<string, unknown[]>

export type WorkflowKind = keyof typeof graphs
export const workflowKinds = Object.keys(graphs) as WorkflowKind[]
export const graphOf = (kind: WorkflowKind): unknown[] => graphs[kind]

export const clerk = { slug: 'clerk', name: 'Clerk', description: 'Says one word.', instructions: 'Say it.' }

/** Each carries the id of its operation, by which what it made is found. */
export function inputsOf(kind: WorkflowKind, operation: string): Record<string, unknown> {
  return kind === 'skill' ? { slug: 'errand', input: errandText(operation) } : { operation }
}

/** What a run of the kind must have given; undefined where it is not known beforehand. */
export function resultOf(kind: WorkflowKind, operation: string): unknown {
  const inputs = inputsOf(kind, operation)
  const known: Partial<Record<WorkflowKind, unknown>> = {
    line: inputs,
    fan: { a2: inputs, b2: inputs, z: inputs },
    list: [1, 2, 3, 4],
    nap: inputs,
    compute: 42,
  }
  return known[kind]
}

/** An errand of a second or so that leaves a file; its text names the operation. */
export function errandText(operation: string): string {
  const steps = [
    { say: 'Begun.', delayMs: 50, tools: [bash(`echo ${operation} > /workspace/note.txt; sleep 0.3`)] },
    { say: 'Nearly.', delayMs: 50, tools: [bash('cat /workspace/note.txt')] },
    { say: 'Done.' },
  ]
  return `[${operation}] ${script(...steps)}`
}

/** One that lasts until it is told to stop, or for this long. */
export function longErrandText(operation: string, seconds: number): string {
  return `[${operation}] ${script({ say: 'Begun.', tools: [bash(`sleep ${seconds}`)] }, { say: 'Done.' })}`
}
