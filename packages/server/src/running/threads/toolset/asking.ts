import { type Action, approvalLifetimeSeconds, toolRequestSeconds } from '@guildhall/contract'
import {
  announceApprovals,
  askForBudget,
  askForTool,
  findToolDecision,
  findToolGrant,
  waitForDecision,
} from '#access/approvals/approvals.ts'
import { isNestedWithin, jsonBytes } from '#machinery/graph/graph.ts'
import type { ModelToolCall } from '#machinery/models/models.ts'
import { collect } from '#operations/answer.ts'
import { errorBody, toApiError } from '#operations/errors.ts'
import type { Principal } from '#operations/principal.ts'
import { canonical } from '#platform/canonical.ts'
import type { ToolsetParts } from './parts.ts'
import type { RefusedCall } from './refused-call.ts'
import {
  type Reach,
  refused,
  type ThreadTool,
  type ToolInput,
  type ToolRun,
  type Used,
  type Wait,
} from './tool.ts'

/** A use of a tool that may need a person's word. */
export interface Asking {
  readonly parts: ToolsetParts
  readonly run: ToolRun
  readonly principal: Principal
  readonly tool: ThreadTool
  readonly call: ModelToolCall
  readonly input: ToolInput
}

const shownArgs = { bytes: 32_768, depth: 32 }

/** What the person reads is made here of the call itself, so it is fact and not claim. Undefined for more than they can read. */
function actionOf({ tool }: Asking, summary: string, args: unknown): Action | undefined {
  if (args === undefined) return { summary: summary.slice(0, 500), tool: tool.name }
  if (!isNestedWithin(args, shownArgs.depth) || jsonBytes(args) > shownArgs.bytes) return undefined
  return { summary: summary.slice(0, 500), tool: tool.name, args }
}

const tooLong = `Somebody must agree to this, and only ${shownArgs.bytes} bytes and ${shownArgs.depth} levels of input can be shown; it was not done. Do it with less.`

/**
 * Undefined when the person allows this call, or allowed the tool in this thread for a while. What has read from outside
 * is asked about each time, and the person shows that it is them.
 */
export async function askPerson(
  asking: Asking,
  summary: string,
  facts: Reach['facts'],
): Promise<Used | undefined> {
  const { parts, run, principal, tool, call, input } = asking
  const { database } = parts
  const { kind, userId, workspaceId, apiKeyId: keyId } = principal
  if (kind === 'oauth')
    return refused('This needs a person to agree, and an app can ask nobody; it was not done.')
  const { threadId, runId } = run
  const needsPasskey = run.tainted()
  const about = { userId, workspaceId, keyId, threadId, tool: tool.name }
  if (!needsPasskey && (await findToolGrant(database.db, about))) return undefined
  const action = actionOf(asking, summary, { ...input, ...facts })
  if (!action) return refused(tooLong)
  let asked: Awaited<ReturnType<typeof askForTool>>
  try {
    asked = await database.transaction((tx) =>
      askForTool(tx, { ...about, runId, toolUseId: call.id, action, needsPasskey }),
    )
  } catch (error) {
    return refused(toApiError(error).message)
  }
  const { id, isNew } = asked
  if (isNew) await announceApprovals(parts, { kind: 'tool', workspaceId, ids: [id], userId })
  const decision = await findToolDecision(database.db, id)
  if (decision && canonical(decision.action) !== canonical(action)) return refused(changed)
  if (decision?.state === 'granted') return undefined
  if (decision?.state === 'pending')
    return { pause: waitFor(asking, id, 'tool', action.summary, toolRequestSeconds) }
  return refused(noLeave(decision?.state ?? 'expired', decision?.denyReason ?? null))
}

const changed =
  'What this would do has changed since somebody was asked about it, and they agreed to nothing else. Look whether it was done before, and call the tool again to have it asked anew.'

/** What was refused, in words for the model; or the question whose answer would let it through. */
export async function explainRefusal(asking: Asking, call: RefusedCall): Promise<Used> {
  const { refusal } = call
  const missing = refusal.details?.['missing_scopes']
  const isKey = asking.principal.kind === 'key'
  if (refusal.code === 'FORBIDDEN' && Array.isArray(missing) && isKey)
    return askForScope(asking, String(missing[0]), call)
  if (refusal.details?.['reason'] === 'KEY_SPEND_LIMIT' && isKey) return askForMore(asking)
  return refused(JSON.stringify(errorBody(refusal)))
}

/** One call at a time is asked for: the grant is bound to what would be sent, where that is known. */
async function askForScope(asking: Asking, scope: string, refusedCall: RefusedCall): Promise<Used> {
  const { parts, run, principal, tool, call, input } = asking
  const decided = await decisionWaitedFor(asking, 'permission')
  if (decided) return decided
  const summary = tool.summary(input)
  const { exact, body } = refusedCall
  const shown = actionOf(asking, summary, body)
  if (!shown) return refused(tooLong)
  const { method, path } = exact
  const action = { ...shown, request: { method, path, bodySha256: exact.bodySha256() } }
  try {
    const answer = await parts.perform('requestPermission', {
      principal,
      client: { address: '', userAgent: 'agent', label: undefined, agentSlug: run.agent.slug, via: 'agent' },
      body: {
        scope,
        mode: 'one_time',
        reason: `${run.agent.slug} wants to: ${summary}`.slice(0, 280),
        action,
      },
      signal: run.signal,
      requestId: `${run.runId}/${call.id}`,
      counted: ['rest'],
    })
    const collected = await collect(answer, 10_000)
    const { request_id: id } = (collected.kind === 'value' ? collected.value : {}) as { request_id?: string }
    // Granted by somebody this moment: the model may try again at once.
    if (id === undefined) return refused(`The scope ${scope} was given just now; call the tool again.`)
    return { pause: waitFor(asking, id, 'permission', summary, approvalLifetimeSeconds, scope) }
  } catch (error) {
    return refused(JSON.stringify(errorBody(toApiError(error))))
  }
}

/** A key that has used up its limit: its owner may raise it, and until then nothing is held. */
async function askForMore(asking: Asking): Promise<Used> {
  const { parts, run, principal } = asking
  const decided = await decisionWaitedFor(asking, 'budget')
  if (decided) return decided
  const { userId, workspaceId, credentialId: keyId } = principal
  const asked = await parts.database.transaction((tx) =>
    askForBudget(tx, { subject: run.runId, keyId, userId, workspaceId }),
  )
  if (!asked) return refused('The limit of this key was taken away just now; call the tool again.')
  const { id, isNew } = asked
  if (isNew) await announceApprovals(parts, { kind: 'budget', workspaceId, ids: [id], userId })
  return { pause: waitFor(asking, id, 'budget', 'The key has reached its spend limit') }
}

/**
 * What to say or to wait for, if this call waited for such a decision before. Undefined when it was a yes and the call is
 * refused all the same: what was given is used up or over, and is asked for anew.
 */
async function decisionWaitedFor(asking: Asking, kind: 'permission' | 'budget'): Promise<Used | undefined> {
  const { parts, run, principal, call } = asking
  const { waited, signal } = run
  if (waited?.kind !== 'approval' || waited.toolUseId !== call.id || !waited.ref.startsWith(`${kind}_`))
    return undefined
  const own = { keyId: principal.credentialId, kind, id: waited.ref }
  const { state, denyReason } = await waitForDecision(parts, parts.bus, own, { signal })
  if (state === 'pending') return { pause: { kind: 'approval', ref: waited.ref } }
  return state === 'granted' ? undefined : refused(noLeave(state, denyReason))
}

function noLeave(state: 'denied' | 'expired', reason: string | null): string {
  if (state === 'expired')
    return 'Nobody answered in time, so this was not done. Do not try it again unasked.'
  const because = reason === null ? '' : ` and said: ${JSON.stringify(reason)}`
  return `The person said no${because}. This was not done; do not try it again.`
}

/** What has no deadline of its own is waited for as long as anything. */
const longestSeconds = 24 * 3600

function waitFor(
  { call }: Asking,
  approvalId: string,
  kind: 'permission' | 'tool' | 'budget',
  summary: string,
  lifetimeSeconds = longestSeconds,
  scope?: string,
): Wait {
  const until = new Date(Date.now() + lifetimeSeconds * 1000)
  const asked = { approvalId, kind, toolUseId: call.id, summary, expiresAt: until.toISOString() }
  const payload = { ...asked, ...(scope !== undefined && { scope }) }
  return { kind: 'approval', ref: approvalId, until, frame: { type: 'approval.required', payload } }
}
