import { type Static, Type } from 'typebox'
import { Timestamp } from './shapes.ts'

export const RunStatus = Type.Enum(['running', 'suspended', 'success', 'failed', 'canceled'], {
  title: 'RunStatus',
})
export type RunStatus = Static<typeof RunStatus>

/** Why a step or a run failed. */
export const RunError = Type.Object(
  { code: Type.String(), message: Type.String() },
  { additionalProperties: true, title: 'RunError' },
)
export type RunError = Static<typeof RunError>

const Moment = Type.Number({ description: 'Milliseconds since 1970' })

/** How a step stands, with what it got and gave. A foreach body has one for all its items. */
export const RunStep = Type.Object(
  {
    status: Type.Enum(['running', 'waiting', 'success', 'failed', 'suspended', 'canceled']),
    payload: Type.Unknown({ description: 'What it got' }),
    startedAt: Moment,
    endedAt: Type.Optional(Moment),
    output: Type.Optional(Type.Unknown()),
    error: Type.Optional(RunError),
    suspendPayload: Type.Optional(Type.Unknown({ description: 'What it asks' })),
    suspendedAt: Type.Optional(Moment),
    resumePayload: Type.Optional(Type.Unknown({ description: 'What it was told' })),
    resumedAt: Type.Optional(Moment),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { title: 'RunStep' },
)
export type RunStep = Static<typeof RunStep>

/** What a settled step gave; `status` says which of the others is there. */
export const StepOutcome = Type.Union(
  [
    Type.Object({ status: Type.Literal('success'), output: Type.Optional(Type.Unknown()) }),
    Type.Object({ status: Type.Literal('failed'), error: RunError }),
    Type.Object({ status: Type.Literal('suspended'), suspendPayload: Type.Optional(Type.Unknown()) }),
    Type.Object({ status: Type.Literal('canceled') }),
  ],
  { title: 'StepOutcome' },
)
export type StepOutcome = Static<typeof StepOutcome>

export const RunSnapshot = Type.Object(
  {
    status: RunStatus,
    result: Type.Optional(Type.Unknown({ description: 'Of a run that succeeded' })),
    error: Type.Optional(RunError),
    context: Type.Record(Type.String(), Type.Unknown(), {
      description: '`input`, and each step that began, by its id: a RunStep',
    }),
    value: Type.Record(Type.String(), Type.Unknown()),
    activePaths: Type.Array(Type.Integer(), { description: 'Which entry of the graph it is at' }),
    suspendedPaths: Type.Record(Type.String(), Type.Array(Type.Integer()), {
      description: 'Steps that wait for a person, and where they are in the graph',
    }),
    timestamp: Moment,
  },
  { title: 'RunSnapshot' },
)
export type RunSnapshot = Static<typeof RunSnapshot>

/** What a frame of a run's stream carries: always the whole. */
export const RunStreamEvent = Type.Object(
  {
    type: Type.Literal('workflow-snapshot'),
    runId: Type.String(),
    workflowId: Type.String(),
    status: RunStatus,
    updatedAt: Timestamp,
    snapshot: RunSnapshot,
  },
  { title: 'RunStreamEvent' },
)
export type RunStreamEvent = Static<typeof RunStreamEvent>

/** Instead of a whole snapshot, for who asked for changes: what is different since the frame before. */
export const RunChangesEvent = Type.Object(
  {
    type: Type.Literal('workflow-changes'),
    runId: Type.String(),
    workflowId: Type.String(),
    status: RunStatus,
    updatedAt: Timestamp,
    since: Type.Integer({ description: 'The id of the frame that it builds on' }),
    changed: Type.Partial(RunSnapshot, {
      description:
        'Fields of the snapshot that replace those before; of `context` only the entries that it names',
    }),
    removed: Type.Array(Type.String(), { description: 'Entries of `context` that are gone' }),
  },
  { title: 'RunChangesEvent' },
)
export type RunChangesEvent = Static<typeof RunChangesEvent>
