export { announceApprovals, wordOfApprovals } from './announce.ts'
export { type Asked, ask, refuseLarge } from './ask.ts'
export { askForBudget, budgetKind, requestBudget } from './budget.ts'
export { Approvals, refusal } from './decide.ts'
export { approvalUrl, describeKey } from './describe.ts'
export type { AppliedKind, Choice, Decision, Effect } from './kinds.ts'
export { refuseDecision } from './lifecycle.ts'
export { closeQuestion, dropQuestions, questionId, recordQuestions, workflowKind } from './questions.ts'
export {
  countPendingOfKey,
  type DecidableRow,
  findAskedFor,
  findRecentDenial,
  listDecided,
  listOwnPending,
} from './store.ts'
export {
  askForTool,
  dropToolRequests,
  findToolDecision,
  findToolGrant,
  type ToolCall,
  toolKind,
} from './tools.ts'
export { listAllowedOfKey } from './touched-store.ts'
export { waitForDecision, withdrawRequest } from './wait.ts'
