/**
 * Runs of workflows. The row of a run decides: launch, suspension, resume, cancel and the end are compare-and-sets on
 * its status, and the engine carries out what was decided.
 *
 *   launching ──▶ running ⇄ suspended       void: the engine could not be asked; nothing of it may happen
 *       │            ├──▶ success, failed   by the engine
 *       ▼            └──▶ canceled          by a person, from running and suspended; the engine is told afterwards
 *     void
 *
 * A run with `queued_at` waits for a place and is not in the engine yet; it is shown once the engine is known to be there.
 */
export { stopRunsOfKey } from './cancel.ts'
export { createRunRecords, createStepWork } from './drive.ts'
export { PinnedDefinitions } from './pinned-definitions.ts'
export { answerQuestion } from './questions.ts'
export { findVersion, listRunsOfKey, listTouchedRuns } from './read-store.ts'
export type { AgentRuns, AgentStep, RunParts } from './run-parts.ts'
export { findRunById, listStepTexts, type ShownRow as RunChange } from './store.ts'
