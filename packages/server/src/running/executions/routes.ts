import { type BodyOf, executionRoutes, executionStreamRoutes, type Route, toDs } from '@guildhall/contract'
import { failingAs } from '#library/artifacts/artifacts.ts'
import { findSkill, isSkillBeingWritten } from '#library/skills/skills.ts'
import { requireOfApp } from '#operations/authorize.ts'
import { agentSlugOf, type BoundRoute, bindRoutes, type Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Feature } from '#operations/feature.ts'
import { changeOnce, createOnce } from '#operations/idempotency/idempotency.ts'
import { countRequest, refuseIfFull } from '#operations/limits.ts'
import { decodeCursor, rowIdPart, toPage } from '#operations/page.ts'
import type { Tx } from '#platform/database.ts'
import { requireTraceToGoOn } from '#running/traces/traces.ts'
import type { Streams } from '#streams/streams.ts'
import { storeAttachments } from './attachments.ts'
import {
  prepareExecution,
  refuseHouseSource,
  requireIdleRoom,
  requireSmallInput,
  skillOfTrace,
} from './create.ts'
import { requireAttached, requirePrepared } from './earlier-work.ts'
import { readBlocks, type StoredEvent } from './event-log.ts'
import { deleteOldEventPartitions, insertEventPartitions } from './event-store.ts'
import { cancel, type ExecutionParts, follow } from './executions.ts'
import { type Changed, startExecution, toStartInput } from './lifecycle.ts'
import { ended, postInterrupt, postMessages, readPost, withRetries } from './post-events.ts'
import { executionReconcilers } from './reconcile.ts'
import { deleteOldAttachments } from './reconcile-store.ts'
import * as store from './store.ts'
import { ExecutionStreams, streamUrl } from './stream.ts'

const defaultPage = 10
const connectorBytes = 16_384
/** Told to whoever names one: the record keeps it, and nothing acts on it. */
const noConnectors = {
  available: false,
  message: 'Connectors are not available here yet; the run goes on without one',
}

export function executionFeature(parts: ExecutionParts, streams?: Streams): Feature {
  const routes = bindRoutes(executionRoutes, {
    runSkill: async (call) => {
      const { principal, params, body, deps } = call
      requireSmallInput(body.input)
      requireSmallConnector(body.connector)
      refuseHouseSource(call, body.source)
      const agentSlug = agentSlugOf(call)
      // First: what is installed for the first time is not missing, it is on its way.
      if (await isSkillBeingWritten(deps.database.db, principal.workspaceId, params.slug)) {
        const message = 'This skill is being installed or removed at this moment; start again'
        throw new ApiError('EXECUTION_RUNNING', { status: 409, message, retryAfterSeconds: 1 })
      }
      const skill = await requireSkill(call, params.slug)
      const attachments = await failingAs('EXECUTION_FAILED', storeAttachments(call, body.attachments))
      const made: { changed?: Changed } = {}
      const start = async (tx: Tx) => {
        const row = await prepareExecution(tx, deps.config, principal, skill, {
          input: body.input,
          source: body.source,
          interface: body.interface,
          maxCost: body.maxCost,
          connector: body.connector,
          attachments,
          agentSlug,
          // No client can claim that.
          chatRunId: call.origin?.runId,
        })
        made.changed = await startExecution(
          tx,
          deps.config,
          row,
          toStartInput(principal, call.authority, body.input, {
            ifBusy: body.ifBusy,
            maxCost: body.maxCost,
            agentSlug,
          }),
        )
        const executionId = row.execution_id
        const isQueued = made.changed.row.status !== 'working'
        return {
          resourceId: executionId,
          answer: {
            executionId,
            skillName: skill.name,
            status: isQueued ? ('queued' as const) : ('started' as const),
            message: `${skill.name} ${isQueued ? 'waits for its turn' : 'is running'}; open its stream to watch it`,
            sseUrl: `/api/v1/executions/${executionId}/stream-token`,
            ...(body.connector === undefined ? {} : { details: { connector: noConnectors } }),
          },
        }
      }
      return withRetries(body.ifBusy, () => createOnce(call, start, () => follow(parts, made.changed)))
    },

    createExecution: async (call) => {
      const { principal, body, deps } = call
      // What the trace says comes along, and what it runs is written there.
      if (body.sessionId !== undefined) requireOfApp(principal, ['trace:read', 'trace:write'])
      refuseHouseSource(call, body.source)
      const trace = body.sessionId === undefined ? undefined : await requireTraceToGoOn(call, body.sessionId)
      const session = trace && (await skillOfTrace(deps.database.db, trace))
      const slug = body.skill_slug ?? session?.skillSlug
      const input = body.input ?? (session ? '' : undefined)
      if (slug === undefined) throw missing('skill_slug')
      if (input === undefined) throw missing('input')
      requireSmallInput(input)
      const skill = await requireSkill(call, slug)
      const remixed = body.remixOf === undefined ? undefined : await requireExecution(call, body.remixOf)
      const agentSlug = agentSlugOf(call)
      const attachments = await storeAttachments(call, body.attachments)
      return createOnce(call, async (tx) => {
        const row = await prepareExecution(tx, deps.config, principal, skill, {
          input,
          source: body.source,
          interface: body.interface,
          maxCost: body.maxCost,
          attachments,
          traceId: trace?.id,
          remixed,
          agentSlug,
        })
        await requireIdleRoom(tx, deps.config, row)
        const answer = { id: row.execution_id, skill_slug: skill.slug, skill_name: skill.name }
        return { resourceId: row.execution_id, answer: { ...answer, status: 'idle' as const } }
      })
    },

    listExecutions: async ({ principal, query, deps }) => {
      const { limit = defaultPage, offset = 0 } = query
      const [before] = query.cursor === undefined ? [] : decodeCursor(query.cursor, [rowIdPart])
      const rows = await store.listExecutions(deps.database.db, principal.workspaceId, {
        limit: limit + 1,
        offset,
        before: before === undefined ? undefined : Number(before),
        status: query.status,
        skill: query.skill,
        sources: words(query.channels),
        interfaces: words(query.interfaces),
      })
      const { items, nextCursor } = toPage(rows, limit, describeItem, ({ id }) => [String(id)])
      return { items, nextCursor, hasMore: nextCursor !== null, offset, limit }
    },

    getExecutionStatus: async (call) => {
      const row = await requireExecution(call, call.params.executionId)
      const outputBlocks = await readBlocks(call.deps.database, row.id)
      const {
        id: _id,
        inputText: _input,
        source: _source,
        interface: _interface,
        ...shown
      } = describeItem(row)
      const { connector } = row
      return { ...shown, ...(connector === null ? {} : { connector }), outputBlocks }
    },

    getStreamToken: async (call) => {
      const { execution_id } = await requireExecution(call, call.params.executionId)
      return { sseUrl: streamUrl(call.deps.config, call.principal, execution_id) }
    },

    postExecutionEvents: async (call) => {
      const { principal, body, params } = call
      if (body.events.length === 0) {
        await requireStoppable(call, params.executionId)
        throw new ApiError('INVALID_INPUT', { message: 'events: at least one', details: { field: 'events' } })
      }
      const post = readPost(body)
      const spend = async (tx: Tx) => {
        await call.access.spend(tx)
        return call.authority
      }
      const isStart = post.messages.length > 0
      const row = await (isStart ? requireRunnable : requireStoppable)(call, params.executionId)
      if (isStart && row.user_id !== principal.userId) throw othersExecution()
      if (isStart) await requirePrepared(call, row)
      if (post.hasMore) throw ended(row)
      const options = { ifBusy: body.ifBusy, maxCost: body.maxCost, agentSlug: agentSlugOf(call) }
      const answerOf = (events: readonly StoredEvent[]) => ({ data: events.map(describeEvent) })
      return changeOnce(call, async (record) => {
        if (isStart) await countStart(call)
        const keep = (tx: Tx, { row: { execution_id }, events }: Changed) =>
          record(tx, answerOf(events), execution_id)
        return answerOf(
          isStart
            ? await postMessages(parts, row, post, { principal, options, spend, keep })
            : await postInterrupt(parts, row, { principal, spend, keep }),
        )
      })
    },

    rerunExecution: async (call) => {
      const { principal, params, body, deps } = call
      const parent = await requireRunnable(call, params.executionId)
      requireSmallInput(body.input)
      if (body.attachments === undefined) await requireAttached(call, parent)
      const agentSlug = agentSlugOf(call)
      const skill = await requireSkill(call, parent.skill_slug)
      const storing = failingAs('EXECUTION_FAILED', storeAttachments(call, body.attachments))
      const attachments = (await storing) ?? (body.attachments && null)
      const made: { changed?: Changed } = {}
      const start = async (tx: Tx) => {
        const row = await prepareExecution(tx, deps.config, principal, skill, {
          input: body.input,
          maxCost: body.maxCost,
          attachments,
          parent,
          agentSlug,
        })
        made.changed = await startExecution(
          tx,
          deps.config,
          row,
          toStartInput(principal, call.authority, body.input, {
            ifBusy: body.ifBusy,
            maxCost: body.maxCost,
            agentSlug,
          }),
        )
        const isQueued = made.changed.row.status !== 'working'
        return {
          resourceId: row.execution_id,
          answer: {
            executionId: row.execution_id,
            parentExecutionId: parent.execution_id,
            skillName: skill.name,
            status: isQueued ? ('queued' as const) : ('started' as const),
            message: `${skill.name} ${isQueued ? 'waits for its turn' : 'is running again'}; open its stream to watch it`,
          },
        }
      }
      return withRetries(body.ifBusy, () => createOnce(call, start, () => follow(parts, made.changed)))
    },

    cancelExecution: async (call) => {
      const row = await requireStoppable(call, call.params.executionId)
      const {
        row: before,
        changed,
        processKilled,
      } = await cancel(parts, row.id, call.principal, { spend: (tx) => call.access.spend(tx) })
      const actualStatus = changed?.row.status ?? before?.status ?? row.status
      const message = changed ? 'Canceled' : `The execution had ended already: ${actualStatus}`
      return { success: changed !== undefined, message, processKilled, actualStatus }
    },
  })
  const { db } = parts.database
  const eventSeconds = parts.config.eventDays * 24 * 3600
  return {
    routes: streams ? [...routes, ...executionStreamHandlers(new ExecutionStreams(parts, streams))] : routes,
    sweeps: [
      { table: 'event_partitions', run: () => insertEventPartitions(db) },
      { table: 'execution_events', run: () => deleteOldEventPartitions(db, eventSeconds) },
      { table: 'attachments', run: () => deleteOldAttachments(db, eventSeconds) },
    ],
    reconcilers: executionReconcilers(parts),
  }
}

export function executionStreamHandlers(streams: ExecutionStreams): BoundRoute[] {
  return bindRoutes(executionStreamRoutes, {
    streamExecution: (call) => streams.open(call.principal, call),
    streamExecutionDirectly: (call) => streams.open(call.principal, call),
  })
}

/** A start that comes as an event counts like any other. */
async function countStart(call: Call): Promise<void> {
  const { deps, client } = call
  const caller = { caller: undefined, userId: call.principal?.userId, address: client.address }
  refuseIfFull(deps, ['skillRun'], await countRequest(deps, ['skillRun'], caller))
}

type Asking = Pick<Call<(typeof executionRoutes)['getStreamToken']>, 'principal' | 'deps' | 'access'> & {
  readonly route: Route
}

async function requireExecution({ principal, deps }: Asking, executionId: string) {
  const row = await store.findExecution(deps.database.db, principal.workspaceId, executionId)
  if (!row) throw new ApiError('NOT_FOUND')
  return row
}

/** Whether there is any right to run skills is decided before it is told whether the execution exists. */
async function requireRunnable(call: Asking, executionId: string) {
  const { access, route } = call
  await access.require(route.scopes ?? route.scopesBeyondOwn ?? [])
  const row = await requireExecution(call, executionId)
  await access.requireFrom(route, { skillSlug: row.skill_slug })
  return row
}

/** What a key has started itself it may stop without a scope. Nothing else is told to who has none. */
async function requireStoppable(call: Asking, executionId: string) {
  const { principal, deps } = call
  const row = await store.findExecution(deps.database.db, principal.workspaceId, executionId)
  const isOwn = principal.apiKeyId !== null && row?.api_key_id === principal.apiKeyId
  return row && isOwn ? row : requireRunnable(call, executionId)
}

async function requireSkill({ principal, deps }: Asking, slug: string) {
  const skill = await findSkill(deps.database.db, principal.workspaceId, slug)
  if (!skill) throw new ApiError('NOT_FOUND', { message: 'This skill is not installed here' })
  return skill
}

function requireSmallConnector(connector: BodyOf<(typeof executionRoutes)['runSkill']>['connector']): void {
  if (connector === undefined || Buffer.byteLength(JSON.stringify(connector)) <= connectorBytes) return
  throw new ApiError('INVALID_INPUT', {
    message: `connector: at most ${connectorBytes} bytes`,
    details: { limit: connectorBytes },
  })
}

function missing(field: string): ApiError {
  return new ApiError('INVALID_INPUT', { message: `${field}: is required`, details: { field } })
}

/** Whoever starts it pays for it, so it is not for others to say what is run, when and for how much. */
function othersExecution(): ApiError {
  return new ApiError('FORBIDDEN', {
    message: 'Only the person who prepared this execution may start it; prepare one of your own, or rerun it',
  })
}

function words(list: string | undefined): string[] {
  return (list ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean)
}

function describeEvent({ id, type, sequence, payload }: StoredEvent) {
  return { id, type, sequence, payload: { ...payload } as Record<string, unknown> }
}

function describeItem(row: store.ExecutionItem) {
  return {
    id: row.id,
    executionId: row.execution_id,
    skillSlug: row.skill_slug,
    skillName: row.skill_name,
    skillVersion: row.skill_version,
    status: row.status,
    stopReason: row.stop_reason,
    errorCode: row.error_code,
    cost: toDs(row.cost_milli_ds),
    source: row.source,
    interface: row.interface,
    inputText: row.input_text,
    startedAt: row.started_at,
    completedAt: row.completed_at,
    queuedAt: row.queued_at,
    traceId: row.trace_id,
    ...(row.parent_execution_id === null ? {} : { parentExecutionId: row.parent_execution_id }),
  }
}
