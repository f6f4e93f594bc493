import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  outcomeFields,
  type RunState,
  type RunStatus,
  type StepFacts,
  stateOf,
} from '#machinery/graph/graph.ts'
import { ApiError } from '#operations/errors.ts'
import { isPassing } from '#platform/database-errors.ts'
import type { FairPlaces } from '#platform/fair-places.ts'
import { fieldsOf, JsonText, textsOf } from '#platform/json-text.ts'
import { listRuns, listSmallRuns, type Reader, type ReadRow } from './read-store.ts'
import type { RunParts } from './run-parts.ts'

export type ReadParts = Pick<RunParts, 'database' | 'definitions' | 'logger'> & {
  /** By person: one may have many workspaces. */
  readonly largeReads: FairPlaces
  readonly placeWithinMs: number
}

export interface Reading extends Reader {
  /** Who takes a place for what is large; of what many are told, whoever came first. */
  readonly userId: string
}

/** By name, in their order. */
type Texts = ReadonlyMap<string, string>

/**
 * A run as it is shown. What steps got and gave stays the text that is stored: building it from that only to write it
 * again would keep a process from everything else.
 */
export interface ReadRun {
  readonly version: number
  readonly status: RunStatus
  readonly facts: RunFacts
  readonly state: RunState
  /** Its result or its error, under that name. */
  readonly end: Texts
  readonly context: Texts
  /** What settled steps gave. */
  readonly steps: ReadonlyMap<string, JsonText>
}

interface RunFacts {
  readonly runId: string
  readonly workflowId: string
  readonly status: RunStatus
  readonly resourceId: string
  readonly updatedAt: string
  readonly conversationId?: string
  readonly parentRunId?: string
}

export async function readRun(
  parts: ReadParts,
  reader: Reading,
  runId: string,
  signal?: AbortSignal,
): Promise<ReadRun | undefined> {
  const [found] = await listSmallRuns(parts.database, reader, [runId])
  return found && readWhole(parts, reader, found, signal)
}

/** In their order, those that are gone left out. Large ones are read one at a time, when it is their turn. */
export async function* readRuns(
  parts: ReadParts,
  reader: Reading,
  runIds: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<ReadRun> {
  const found = await listSmallRuns(parts.database, reader, runIds)
  const rows = new Map(found.map((row) => [row.run_id, row]))
  for (const runId of runIds) {
    const row = rows.get(runId)
    const run = row && (await readWhole(parts, reader, row, signal))
    if (run) yield run
  }
}

/** Few large ones at a time: each is held whole, and takes its share of the only thread. */
async function readWhole(
  parts: ReadParts,
  reader: Reading,
  found: ReadRow,
  signal?: AbortSignal,
): Promise<ReadRun | undefined> {
  if (!found.is_large) return describe(parts, found)
  const leave = await takePlace(parts, reader, signal)
  try {
    const [whole] = await listRuns(parts.database, reader, [found.run_id])
    return whole && (await describe(parts, whole))
  } finally {
    leave()
  }
}

function takePlace({ largeReads, placeWithinMs }: ReadParts, { userId }: Reading, signal?: AbortSignal) {
  const patience = AbortSignal.timeout(placeWithinMs)
  return largeReads
    .take(userId, signal ? AbortSignal.any([signal, patience]) : patience)
    .catch((cause: unknown) => {
      throw new ApiError('SERVICE_UNAVAILABLE', { cause, retryAfterSeconds: 1 })
    })
}

/** As the snapshot that the interface tells of. */
export function snapshotOf({ status, state, end, context }: ReadRun): JsonText {
  return new JsonText([...textsOf({ status }), ...end, ['context', new JsonText(context)], ...textsOf(state)])
}

export function recordOf(run: ReadRun): JsonText {
  return new JsonText([...textsOf(run.facts), ['snapshot', snapshotOf(run)]])
}

async function describe(parts: ReadParts, row: ReadRow): Promise<ReadRun> {
  const status = row.status as RunStatus
  const end = new Map<string, string>()
  if (status === 'success') end.set('result', row.result ?? 'null')
  if (status === 'failed' && row.error !== null) end.set('error', row.error)
  return {
    version: row.version,
    status,
    facts: {
      runId: row.run_id,
      workflowId: row.workflow_id,
      status,
      resourceId: row.workspace_id,
      updatedAt: row.updated_at,
      ...(row.conversation_id !== null && { conversationId: row.conversation_id }),
      ...(row.parent_run_id !== null && { parentRunId: row.parent_run_id }),
    },
    end,
    ...(await hydrate(parts, row, status)),
  }
}

type Hydrated = Pick<ReadRun, 'state' | 'context' | 'steps'>

/** Of a definition or of records that cannot be read, only the frame of the run is told. */
async function hydrate(parts: ReadParts, row: ReadRow, status: RunStatus): Promise<Hydrated> {
  const launchedAt = Date.parse(row.launched_at)
  const input = ['input', row.inputs] as const
  try {
    const workflow = await parts.definitions.find(row)
    if (workflow) {
      const { facts, outcomes } = await readSteps(row.steps)
      const { ran, state } = stateOf(workflow, { status, launchedAt, steps: facts })
      const context = ran.map((stepId) => [stepId, row.steps.get(stepId) ?? 'null'] as const)
      return { state, context: new Map([input, ...context]), steps: outcomes }
    }
  } catch (error) {
    if (isPassing(error)) throw error
    parts.logger.error({ err: error, run: row.run_id }, 'the steps of a run cannot be read')
  }
  const state = { value: {}, activePaths: [], suspendedPaths: {}, timestamp: launchedAt }
  return { state, context: new Map([input]), steps: new Map() }
}

/** How much of the only thread one run takes at a time, in characters. */
const turnLength = 512 * 1024

async function readSteps(records: Texts) {
  const facts = new Map<string, StepFacts>()
  const outcomes = new Map<string, JsonText>()
  let length = 0
  for (const [stepId, record] of records) {
    length += record.length
    if (length > turnLength) {
      await nextTurn()
      length = record.length
    }
    const fields = fieldsOf(record)
    const step = factsOf(fields)
    facts.set(stepId, step)
    const shown = outcomeFields(step.status)
    if (!shown) continue
    const given = ['status', ...shown].flatMap((name) => {
      const text = fields.get(name)
      return text === undefined ? [] : [[name, text] as const]
    })
    outcomes.set(stepId, new JsonText(given))
  }
  return { facts, outcomes }
}

function factsOf(fields: Texts): StepFacts {
  const [status, startedAt] = [fields.get('status'), fields.get('startedAt')]
  if (status === undefined || startedAt === undefined) throw new Error('a record of a step without its state')
  const moment = (name: string) => {
    const text = fields.get(name)
    return text === undefined ? {} : { [name]: Number(text) }
  }
  return {
    status: JSON.parse(status),
    startedAt: Number(startedAt),
    ...moment('endedAt'),
    ...moment('suspendedAt'),
    ...moment('resumedAt'),
  }
}
