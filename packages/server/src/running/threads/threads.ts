/**
 * Conversations with agents. The row of a thread decides: whoever holds it appends to its log, starts and ends its runs.
 * The log is the journal of a run: any worker goes on with any run by reading it, and the engine only finds the worker.
 */

export { findAddressee } from './addressed.ts'
export { changeThread, stopChatsOfKey, type ThreadParts, wakeDecided } from './changes.ts'
export { noteThread, requireThread } from './enter.ts'
export { type Change, say } from './lifecycle.ts'
export { isListenedTo, listChatsOfKey, listListening } from './list-store.ts'
export { chatQueue } from './queue.ts'
export { agentRuns } from './step-run.ts'
export { findThread as findThreadNamed } from './store.ts'
export { toolsetOf } from './tool-run.ts'
export { listTouchedChats } from './touched-store.ts'
export { threadTurns } from './turn-source.ts'
export { wakeThread } from './wake.ts'
