import { ApiError } from '#operations/errors.ts'
import type { Method } from './catalogue.ts'
import type { Exchange } from './exchange.ts'
import { RpcError } from './message.ts'
import { missingCapability } from './results.ts'
import { type CallToolResult, isRecord, type RecordOf } from './shapes.ts'
import { answerQuestions, questionsOf, toInputRequests } from './task-questions.ts'
import { readTaskId, type TaskRef, taskIdOf } from './tasks.ts'
import { describeExecution, readExecution } from './tools/executions.ts'
import { describeRun, readRun, suspensionsOf } from './tools/workflows.ts'

const pollIntervalMs = 5000
const extension = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** What a client that has tasks gets instead of a result, right after the work was recorded. */
export async function describeTask(exchange: Exchange, task: TaskRef): Promise<RecordOf> {
  const { result: _result, inputRequests: _asked, ...state } = await stateOf(exchange, task)
  return { resultType: 'task', ...state }
}

/** What a listener is told of a task. */
export function describeTaskNow(exchange: Exchange, task: TaskRef): Promise<RecordOf> {
  return stateOf(exchange, task)
}

async function stateOf(exchange: Exchange, task: TaskRef): Promise<RecordOf> {
  return task.kind === 'execution' ? executionState(exchange, task) : runState(exchange, task)
}

async function executionState(exchange: Exchange, task: TaskRef): Promise<RecordOf> {
  const status = await readExecution(exchange, task.id)
  const { queuedAt, startedAt, completedAt } = status
  const times = [completedAt, startedAt, queuedAt].filter((time) => time !== null)
  const isOver = status.status === 'completed' || status.status === 'failed'
  const taskStatus = !isOver ? 'working' : status.stopReason === 'interrupt' ? 'cancelled' : 'completed'
  return {
    ...shared(task, times.at(-1), times[0]),
    status: taskStatus,
    ...(taskStatus === 'completed' && { result: inner(describeExecution(status, 0)) }),
  }
}

async function runState(exchange: Exchange, task: TaskRef): Promise<RecordOf> {
  const found = await readRun(exchange, task.id)
  const { status, updatedAt, snapshot } = found.run
  const times = shared(task, updatedAt, updatedAt)
  if (status === 'canceled') return { ...times, status: 'cancelled' }
  if (status === 'success' || status === 'failed')
    return { ...times, status: 'completed', result: inner(describeRun(found)) }
  const questions = status === 'suspended' && exchange.elicits.form ? questionsOf(snapshot) : []
  if (questions.length > 0)
    return { ...times, status: 'input_required', inputRequests: toInputRequests(questions) }
  const waits = status === 'suspended' ? suspensionsOf(snapshot).map(({ stepId }) => stepId) : []
  return {
    ...times,
    status: 'working',
    ...(waits.length > 0 && { statusMessage: `Waits for an answer at ${waits.join(', ')}`.slice(0, 500) }),
  }
}

/** A result says which kind it is within a task as it does alone. */
function inner(result: CallToolResult): RecordOf {
  return { resultType: 'complete', ...result }
}

function shared(task: TaskRef, createdAt: string | undefined, lastUpdatedAt: string | undefined): RecordOf {
  const now = new Date().toISOString()
  return {
    taskId: taskIdOf(task),
    createdAt: createdAt ?? now,
    lastUpdatedAt: lastUpdatedAt ?? now,
    ttlMs: null,
    pollIntervalMs,
  }
}

/** Foreign and missing ones alike. */
async function withTask<T>(exchange: Exchange, use: (task: TaskRef) => Promise<T>): Promise<T> {
  const { id, params } = exchange.request
  if (!exchange.hasTasks) throw missingCapability(id, extension)
  const task = readTaskId(params['taskId'])
  const unknown = new RpcError('invalidParams', 'Task not found', { id })
  if (!task) throw unknown
  try {
    return await use(task)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NOT_FOUND') throw unknown
    throw error
  }
}

export const taskMethods: readonly [string, Method][] = [
  [
    'tasks/get',
    { era: 'modern', handle: (exchange) => withTask(exchange, (task) => stateOf(exchange, task)) },
  ],
  [
    'tasks/update',
    { era: 'modern', handle: (exchange) => withTask(exchange, (task) => update(exchange, task)) },
  ],
  [
    'tasks/cancel',
    { era: 'modern', handle: (exchange) => withTask(exchange, (task) => cancel(exchange, task)) },
  ],
]

/** Of an execution nothing is asked, so there is nothing outstanding that could be answered. */
async function update(exchange: Exchange, task: TaskRef): Promise<RecordOf> {
  const { id, params } = exchange.request
  const { inputResponses } = params
  if (!isRecord(inputResponses))
    throw new RpcError('invalidParams', 'inputResponses: must be an object', { id })
  if (task.kind === 'execution') await readExecution(exchange, task.id)
  else {
    const { run } = await readRun(exchange, task.id)
    await answerQuestions(exchange, task.id, questionsOf(run.snapshot), inputResponses)
  }
  return {}
}

async function cancel(exchange: Exchange, task: TaskRef): Promise<RecordOf> {
  const { caller } = exchange
  try {
    if (task.kind === 'execution')
      await caller.perform('cancelExecution', { params: { executionId: task.id } })
    else await caller.perform('cancelWorkflowRun', { params: { runId: task.id } })
  } catch (error) {
    // What has ended stays as it is.
    if (!(error instanceof ApiError) || error.code !== 'CONFLICT') throw error
  }
  return {}
}
