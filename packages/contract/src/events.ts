/** Everything that is streamed, as unions that `type` tells apart. */
export * from './execution-events.ts'
export * from './live-events.ts'
export * from './run-events.ts'
export * from './thread-events.ts'
