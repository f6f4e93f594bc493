/** Guildhall for programs. */

export type { AskOptions } from './asking.ts'
export type { CallOptions, ClientOptions } from './client.ts'
export * from './errors.ts'
export type { FollowOptions } from './event-stream.ts'
export type {
  ExecutionEventsOptions,
  ExecutionStep,
  KnownExecutionEvent,
  UnknownExecutionEvent,
} from './execution-events.ts'
export { ExecutionHandle, type ExecutionResult, type OutputFile } from './execution-handle.ts'
export type * from './generated/records.ts'
export { Guildhall } from './guildhall.ts'
export * from './helper-errors.ts'
export type { Connected, SubscribeOptions } from './live-events.ts'
export type { AnyCall, Operation } from './operation.ts'
export type {
  Asked,
  Credential,
  DeprecationFacts,
  PermissionOptions,
  RequestFacts,
  ResponseFacts,
} from './options.ts'
export type { Page, Pager } from './pager.ts'
export * from './pairing.ts'
export type { AnswerOptions } from './resources/asks.ts'
export { RunHandle } from './run-handle.ts'
export type { RunState, WatchOptions } from './run-watch.ts'
export type { ThreadOptions } from './thread-events.ts'
export type { TurnsOptions } from './trace-tail.ts'
export { version } from './version.ts'
