import type { Caller, Person } from '../../support/caller.ts'
import { newRunner } from '../../support/executions.ts'
import { definitionOf, runsOf } from '../../support/workflows.ts'
import { clerk, graphOf, type WorkflowKind, workflowKinds } from './workflow-kinds.ts'

/** One workspace of the load with what its person remembers. What is remembered may be out of date, as with people. */
export interface Lane {
  readonly name: string
  readonly app: Caller
  readonly person: Person
  /** May do everything. */
  readonly key: { readonly id: number; readonly secret: string }
  /** May do nothing but ask for more. */
  readonly asker: { readonly id: number; readonly secret: string }
  readonly executions: string[]
  /** Prepared, not started. */
  readonly prepared: string[]
  /** Started and meant to be stopped. */
  readonly long: string[]
  /** How long those last that nobody stops. */
  readonly longSeconds: number
  readonly runs: { readonly id: string; readonly kind: WorkflowKind; readonly at: number }[]
  /** Runs whose question nobody has answered, as far as is known. */
  readonly questions: { readonly id: string; readonly at: number }[]
  readonly keys: { readonly id: number; readonly secret: string | undefined }[]
  readonly revoked: { readonly id: number; readonly secret: string; readonly at: number }[]
  readonly requests: string[]
  readonly artifacts: string[]
  count: number
}

export async function openLane(app: Caller, name: string, longSeconds: number): Promise<Lane> {
  const person = await newRunner(app)
  const runs = runsOf(app, person)
  const made = await app.call('POST', '/api/v1/agents', { token: person.token, body: clerk })
  if (made.status !== 201) throw new Error(`no agent: ${made.text}`)
  for (const kind of workflowKinds) await runs.install(kind, definitionOf(kind, graphOf(kind)))
  return {
    name,
    app,
    person,
    key: await app.newKey(person),
    asker: await app.newKey(person, { scopes: ['agent:list'] }),
    executions: [],
    prepared: [],
    long: [],
    longSeconds,
    runs: [],
    questions: [],
    keys: [],
    revoked: [],
    requests: [],
    artifacts: [],
    count: 0,
  }
}
