import { randomUUID } from 'node:crypto'
import { fromDs, messageBytes, threadLimits } from '@guildhall/contract'
import { insufficientCredits } from '#accounts/billing/billing.ts'
import type { AgentRow } from '#library/agents/agents.ts'
import type { Schema } from '#machinery/loop/loop.ts'
import type { Authority } from '#operations/authority.ts'
import { ApiError } from '#operations/errors.ts'
import type { Config } from '#platform/config.ts'
import type { Tx } from '#platform/database.ts'
import { withoutSecrets } from '#platform/secrets.ts'
import { enterThread, noteThread, type Sender } from './enter.ts'
import { breakOffRun, type Change, changeOf, interrupted, say, startRun } from './lifecycle.ts'
import { authorOf } from './said.ts'
import { updateTainted } from './step-store.ts'
import * as store from './store.ts'
import { toRunId } from './thread-log.ts'

export interface Incoming {
  readonly principal: Sender
  readonly authority: Authority
  readonly agent: Pick<AgentRow, 'slug' | 'model' | 'version_number' | 'max_cost_per_run_milli_ds'>
  /** Left out, the thread is new. */
  readonly threadId: string | undefined
  readonly text: string
  readonly ifActive: 'deliver' | 'queue' | 'interrupt' | 'reject'
  readonly maxCost: number | undefined
  readonly model: string | undefined
  /** What the agent calls itself that writes. */
  readonly authorSlug: string | null
  /** The run whose agent asks this one, with its thread. */
  readonly parent?: { readonly run: store.RunRow; readonly thread: store.ThreadRow } | undefined
  /** The step of a workflow whose agent is asked. */
  readonly step?: StepFacts
}

interface StepFacts {
  readonly runId: string
  readonly key: string
  readonly awakeableId: string
  readonly outputSchema: Schema | undefined
  /** A grant that is used up let the workflow's run start. */
  readonly allowedOnce: boolean
}

export interface Accepted {
  readonly change: Change
  readonly run: store.RunRow
  readonly messageId: string
  readonly delivery: 'woke' | 'delivered' | 'queued'
}

type AcceptConfig = Pick<Config, 'models' | 'defaultMaxCostMilliDs' | 'chatRunsPerWorkspace'>

/**
 * Takes a message in: from its commit on it is in the log, and a run is there that answers it. One row lock decides
 * whether a run is woken, given it, or stands in line, and a run that ends holds the same lock.
 */
export async function accept(tx: Tx, config: AcceptConfig, incoming: Incoming): Promise<Accepted> {
  const { principal, agent, ifActive } = incoming
  const model = modelOf(config, incoming.model ?? agent.model)
  const threadId = incoming.threadId ?? `thread_${randomUUID()}`
  const { parent, step } = incoming
  // What is said in private is not said to everybody by asking on, and what a step has asked is not listed either.
  const visibility = parent?.thread.visibility ?? 'workspace'
  const kind = step ? 'step' : (parent?.thread.kind ?? 'chat')
  const entered = await enterThread(tx, principal, threadId, agent.slug, { visibility, kind })
  if (entered.kind === 'step' && entered.last_sequence > 0) throw takesNoMessages()
  const thread = { ...entered, title: entered.title || titleOf(incoming.text) }
  noteThread(tx, thread, ['threads', 'traces'])
  const change = changeOf(thread)
  const active = thread.active_run === null ? undefined : await store.findRunById(tx, thread.active_run)
  const queued = await store.listQueued(tx, thread.id)
  const open = [...(active ? [active] : []), ...queued]
  if (ifActive === 'reject' && open[0]) throw isActive(open[0])
  const target =
    ifActive === 'deliver'
      ? open.find((run) => isOf(run, principal) && run.agent_slug === agent.slug)
      : undefined
  const mustWait = !target && open.length > 0 && ifActive !== 'interrupt'
  if (mustWait && queued.length >= threadLimits.queuedPerThread) throw tooManyQueued()
  const messageId = `msg_${randomUUID()}`
  const runId = target?.run_id ?? randomUUID()
  const { userId, apiKeyId } = principal
  const oauthGrantId = principal.kind === 'oauth' ? principal.credentialId : null
  const author = {
    ...authorOf({ userId, apiKeyId, oauthGrantId }),
    ...(incoming.authorSlug !== null && { agentSlug: incoming.authorSlug }),
  }
  const payload = { messageId, content: incoming.text, author }
  const [message] = await say(tx, change, [{ type: 'user.message', runId, payload }])
  const sequence = message?.sequence ?? 0
  await store.updateSpoken(tx, thread, principal.kind === 'session' && principal.userId === thread.user_id)
  if (target) {
    await store.updateMessages(tx, target.id, sequence)
    return { change, run: target, messageId, delivery: target === active ? 'delivered' : 'queued' }
  }
  if (active && ifActive === 'interrupt') await breakOffRun(tx, change, active, interrupted)
  const run = await store.insertRun(tx, {
    run_id: runId,
    workspace_id: thread.workspace_id,
    thread_row_id: thread.id,
    agent_slug: agent.slug,
    agent_version: agent.version_number,
    user_id: principal.userId,
    credential_kind: principal.kind,
    credential_id: principal.credentialId,
    allowed_once:
      step?.allowedOnce ??
      (principal.apiKeyId !== null && (await store.isAllowedOnce(tx, principal.apiKeyId))),
    authority: JSON.stringify(incoming.authority),
    status: 'queued',
    model,
    message_sequence: sequence,
    last_message: sequence,
    max_cost_milli_ds:
      incoming.maxCost === undefined ? agent.max_cost_per_run_milli_ds : fromDs(incoming.maxCost),
    ...(parent && {
      parent_run: parent.run.id,
      depth: parent.run.depth + 1,
    }),
    ...(step && {
      workflow_run_id: step.runId,
      step_key: step.key,
      awakeable_id: step.awakeableId,
      output_schema: step.outputSchema ? JSON.stringify(step.outputSchema) : null,
      // The prompt of a step is made of what others gave, and nobody knows from where they have it.
      tainted: true,
    }),
  })
  // Who goes on in this thread later reads what was asked here.
  if (parent && (parent.run.tainted || parent.thread.tainted)) await updateTainted(tx, run)
  const refusal = mustWait ? 'no_place' : await startRun(tx, config, change, run)
  if (refusal === 'no_place') await requireQueueRoom(tx, thread.workspace_id)
  if (refusal !== undefined && refusal !== 'no_place') throw insufficientCredits(refusal)
  return { change, run, messageId, delivery: refusal === undefined ? 'woke' : 'queued' }
}

/** In bytes, not in characters. */
export function requireShortMessage(text: string): void {
  if (Buffer.byteLength(text) <= messageBytes) return
  throw new ApiError('INVALID_INPUT', {
    message: `message: at most ${messageBytes} bytes`,
    details: { limit: messageBytes },
  })
}

const titleLength = 120

export function titleOf(text: string): string {
  return withoutSecrets(text).replace(/\s+/g, ' ').trim().slice(0, titleLength)
}

/** Nobody speaks with the authority of somebody else's run. */
function isOf(run: store.RunRow, { kind, credentialId, userId }: Sender): boolean {
  return run.credential_kind === kind && run.credential_id === credentialId && run.user_id === userId
}

function modelOf({ models }: AcceptConfig, wanted: string | null): string {
  const found = models.find((model) => (wanted === null ? model.default : model.id === wanted))
  if (found) return found.id
  throw new ApiError('INVALID_INPUT', {
    message:
      models.length === 0
        ? 'This deployment has no model; its operator names some in MODELS'
        : 'model: not one of this deployment; leave it out for the default',
    details: { models: models.map(({ id }) => id) },
  })
}

function takesNoMessages(): ApiError {
  return new ApiError('CONFLICT', {
    message: "This thread is that of a workflow's step and takes no messages; open one of your own",
  })
}

function isActive({ run_id }: store.RunRow): ApiError {
  return new ApiError('CONFLICT', {
    message: 'A run is active in this thread; wait for it, or send with ifActive deliver, queue or interrupt',
    details: { activeRunId: toRunId(run_id) },
  })
}

function tooManyQueued(): ApiError {
  const limit = threadLimits.queuedPerThread
  return full(limit, `${limit} runs wait their turn in this thread; wait for some of them, or interrupt`)
}

/** Every process looks through all that wait, of all workspaces. The new one is among them. */
async function requireQueueRoom(tx: Tx, workspaceId: string): Promise<void> {
  const limit = threadLimits.queuedPerWorkspace
  if ((await store.countQueued(tx, workspaceId, limit)) <= limit) return
  throw full(limit, `${limit} runs wait their turn in this workspace; wait for some of them, or interrupt`)
}

function full(limit: number, message: string): ApiError {
  const window = { limit, resetSeconds: 5 }
  return new ApiError('RATE_LIMITED', { message, details: { limit }, retryAfterSeconds: 5, window })
}
