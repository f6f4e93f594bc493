import { createHash } from 'node:crypto'
import { type Action, type ToolChoice, toolGrantSeconds, toolRequestSeconds } from '@guildhall/contract'
import { lockKeyScopes } from '#access/keys/keys.ts'
import { requireAssertionIfRegistered } from '#accounts/passkeys/passkeys.ts'
import { ApiError } from '#operations/errors.ts'
import type { Db, Tx } from '#platform/database.ts'
import type { Deps } from '#platform/deps.ts'
import { requireRoom } from './ask.ts'
import type { AppliedKind, Choice } from './kinds.ts'
import type { ApprovalState } from './lifecycle.ts'
import * as store from './store.ts'

/** One call that a run of an agent wants to make. */
export interface ToolCall {
  /** The person whom the run acts for, and the key through which; null for a session. */
  readonly userId: string
  readonly workspaceId: string
  readonly keyId: number | null
  readonly threadId: string
  readonly runId: string
  readonly toolUseId: string
  readonly tool: string
  /** The exact call, put together by us: the person reads a fact and not a claim. */
  readonly action: Action
  /** The run has read what came from outside: the person proves that it is them, and says yes to this call alone. */
  readonly needsPasskey: boolean
}

interface ToolQuestion extends Pick<ToolCall, 'threadId' | 'runId' | 'toolUseId' | 'tool' | 'needsPasskey'> {}

/**
 * Asks the person whether this call may be made. A call is asked about once: whoever comes again with the same one, after
 * a crash or a wait, gets the same id, decided or not. Two calls never share a yes, not even when they say the same.
 */
export async function askForTool(tx: Tx, call: ToolCall): Promise<{ id: string; isNew: boolean }> {
  const { userId, workspaceId, keyId, threadId, runId, toolUseId, tool, action, needsPasskey } = call
  const id = requestId(runId, toolUseId)
  if (await store.findToolRequest(tx, id)) return { id, isNew: false }
  if (keyId !== null) {
    await lockKeyScopes(tx, keyId)
    requireRoom(await store.listPending(tx, keyId))
  }
  const question: ToolQuestion = { threadId, runId, toolUseId, tool, needsPasskey }
  const [inserted] = await store.insertRequests(tx, [
    {
      id,
      kind: 'tool',
      key_id: keyId,
      user_id: userId,
      workspace_id: workspaceId,
      subject: runId,
      action: JSON.stringify(action),
      question: JSON.stringify(question),
      lifetimeSeconds: toolRequestSeconds,
    },
  ])
  return { id, isNew: inserted !== undefined }
}

function requestId(runId: string, toolUseId: string): string {
  return `tool_${createHash('sha256').update(`${runId}/${toolUseId}`).digest('hex').slice(0, 40)}`
}

interface ToolDecision {
  readonly state: ApprovalState
  readonly denyReason: string | null
  readonly grantedUntil: string | null
  /** What the person was shown. */
  readonly action: unknown
}

/** What became of it. Whoever is told that nobody answered may rely on it: from then on nobody can. */
export async function findToolDecision(db: Db, id: string): Promise<ToolDecision | undefined> {
  const found = await store.findToolRequest(db, id)
  if (found?.state !== 'expired' || found.closed !== null || (await store.claimExpiry(db, id))) return found
  return store.findToolRequest(db, id)
}

/**
 * Whether the person said yes to this tool in this thread for an hour that is not over, to the same key or to themselves.
 * Not to be asked for a run that has read what came from outside: it asks about each call.
 */
export async function findToolGrant(
  db: Db,
  grant: Pick<ToolCall, 'userId' | 'workspaceId' | 'keyId' | 'threadId' | 'tool'>,
): Promise<boolean> {
  return (await store.findLiveGrant(db, grant)) !== undefined
}

/** For a run that has ended: it does not ask any more. Gives the ids of what was open. */
export async function dropToolRequests(tx: Tx, runId: string): Promise<string[]> {
  return store.updateWithdrawn(tx, 'tool', runId, [])
}

/** The use of a tool. A yes is read from the row by the run, so to decide has no other effect. */
export function toolKind(deps: Pick<Deps, 'config'>): AppliedKind {
  return {
    decidedBy: 'owner',
    decidedOn: 'inbox',
    lines: { granted: 'tool.allowed', denied: 'tool.denied' },
    describe: ({ question }) => {
      const { tool: name, threadId, runId, toolUseId, needsPasskey } = question as ToolQuestion
      const choices = choicesOf(needsPasskey)
      return { tool: { name, threadId, runId, toolUseId, needsPasskey, choices } }
    },
    subjectOf: subjectOfChoice,
    apply: async (tx, person, request, decision) => {
      const { tool, threadId, runId, needsPasskey } = request.question as ToolQuestion
      const details = { tool, threadId, runId }
      if (decision.status === 'denied') {
        const { reason } = decision
        return { details: { ...details, ...(reason !== null && { reason }) } }
      }
      const { choice } = decision
      const chosen = readChoice(choice, needsPasskey)
      const passkey = needsPasskey
        ? await requireAssertionIfRegistered(
            tx,
            deps,
            person.userId,
            subjectOfChoice(request, choice),
            choice.deviceAuth,
          )
        : undefined
      return {
        details: { ...details, choice: chosen, ...(passkey !== undefined && { passkey }) },
        passkey,
        ...(chosen === 'hour' && { lastsSeconds: toolGrantSeconds }),
      }
    },
  }
}

function subjectOfChoice({ id, question }: store.DecidableRow, choice: Choice) {
  const chosen = readChoice(choice, (question as ToolQuestion).needsPasskey)
  return { purpose: 'approve', requestId: id, choice: chosen }
}

function choicesOf(needsPasskey: boolean): ToolChoice[] {
  return needsPasskey ? ['once'] : ['once', 'hour']
}

function readChoice({ choice = 'once' }: Choice, needsPasskey: boolean): ToolChoice {
  const choices = choicesOf(needsPasskey)
  const chosen = choices.find((each) => each === choice)
  if (chosen) return chosen
  throw new ApiError('INVALID_INPUT', {
    message: `choice: this can be allowed ${choices.join(' or ')}`,
    details: { choices },
  })
}
