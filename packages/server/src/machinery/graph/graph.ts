/**
 * The workflow language: definitions are read, checked and run here, and nothing in this folder knows a database, an
 * engine or HTTP. Whatever drives a run implements `Durable`.
 */
export { type Compilation, compileDefinition, stepOf, usesOf, type Workflow } from './compile.ts'
export type {
  Durable,
  StepCall,
  StepChange,
  StepOutcome,
} from './durable.ts'
export { agentSlugOf } from './entries/agent.ts'
export {
  accessEnded,
  type Failure,
  RunCanceled,
  type RunError,
  RunFailed,
  type StepErrorCode,
} from './failure.ts'
export { checkInputs, prepareToolInput } from './inputs.ts'
export type { IssueCode, IssueReport } from './issues.ts'
export { isNestedWithin, jsonBytes } from './json.ts'
export { defaultRunLimits, type RunLimits } from './limits.ts'
export { listingOf } from './listing.ts'
export type { References } from './reading.ts'
export { type Answer, abandoned, questionsOf, type StepRecord, type Suspension } from './records.ts'
export type { RequestContext } from './reference.ts'
export { planRerun, type Reuse } from './rerun.ts'
export type { Launch } from './run.ts'
export { type RunEnd, runGraph } from './run-graph.ts'
export { issuesOfSchema } from './schema.ts'
export { validateValue } from './schema-value.ts'
export {
  findSuspension,
  hasRunEnded,
  outcomeFields,
  type RunState,
  type RunStatus,
  type StepFacts,
  stateOf,
  suspensionsOf,
} from './snapshot.ts'
export { recordAfter } from './step.ts'
