import { type Static, Type } from 'typebox'
import { OutputBlock } from './execution-events.ts'
import { AnyFields, Nullable, shownAs, Timestamp } from './shapes.ts'

export const ExecutionState = Type.Enum(['idle', 'working', 'completed', 'failed'])
const StopReason = Nullable(Type.String({ description: 'end_turn, interrupt, limit_reached or error' }))

export const Execution = Type.Object(
  {
    id: Type.Number(),
    executionId: Type.String(),
    skillSlug: Type.String(),
    skillName: Type.String(),
    skillVersion: Type.Number(),
    status: ExecutionState,
    stopReason: StopReason,
    errorCode: Nullable(Type.String()),
    cost: Type.Number(),
    source: Type.String(),
    interface: Type.String(),
    inputText: Type.String(),
    startedAt: Nullable(Timestamp),
    completedAt: Nullable(Timestamp),
    queuedAt: Nullable(Timestamp),
    traceId: Type.String(),
    parentExecutionId: Type.Optional(Type.String()),
  },
  { title: 'Execution' },
)
export type Execution = Static<typeof Execution>

export const ExecutionStatus = Type.Object(
  {
    executionId: Type.String(),
    status: ExecutionState,
    skillSlug: Type.String(),
    skillName: Type.String(),
    skillVersion: Type.Number(),
    stopReason: StopReason,
    errorCode: Nullable(Type.String()),
    traceId: Type.String(),
    cost: Type.Number(),
    queuedAt: Nullable(Timestamp),
    startedAt: Nullable(Timestamp),
    completedAt: Nullable(Timestamp),
    parentExecutionId: Type.Optional(Type.String()),
    connector: Type.Optional(AnyFields),
    outputBlocks: Type.Array(
      shownAs(
        Type.Object(
          { sequence: Type.Integer(), type: Type.Enum(['text', 'tool', 'file', 'json', 'error']) },
          { additionalProperties: true },
        ),
        OutputBlock,
      ),
    ),
  },
  { title: 'ExecutionStatus' },
)
export type ExecutionStatus = Static<typeof ExecutionStatus>
