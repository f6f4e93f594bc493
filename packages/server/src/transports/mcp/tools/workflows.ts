import { ApiError } from '#operations/errors.ts'
import type { Exchange } from '../exchange.ts'
import { follow } from '../follow.ts'
import { type CallToolResult, isRecord, type RecordOf } from '../shapes.ts'
import { deadline } from './executions.ts'
import { pageOf } from './pages.ts'
import { Started, said, type ToolHandler } from './tool.ts'

interface Definition {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly description: string
  readonly inputSchema: unknown
}

interface Run {
  readonly run: {
    readonly runId: string
    readonly workflowId: string
    readonly status: string
    readonly updatedAt: string
    readonly snapshot: RecordOf
  }
  readonly steps: RecordOf
}

export const listWorkflows: ToolHandler<'list_workflows'> = async (args, { exchange }) => {
  const answer = (await exchange.caller.perform('listWorkflowDefinitions')) as {
    workflows: readonly Definition[]
  }
  const words = (args.query ?? '').toLowerCase().split(/\s+/)
  const found = answer.workflows.filter(({ slug, name, description }) =>
    words.every((word) => `${slug} ${name} ${description}`.toLowerCase().includes(word)),
  )
  const { items, nextCursor } = pageOf(found, args)
  return said({
    items: items.map(({ id, slug, name, description, inputSchema }) => ({
      id,
      slug,
      name,
      description,
      inputSchema,
    })),
    nextCursor,
  })
}

export const launchWorkflow: ToolHandler<'launch_workflow'> = async (args, { exchange, repeatKey }) => {
  const answer = await exchange.caller.perform('launchWorkflow', {
    params: { id: args.workflow },
    body: { ...(args.inputs !== undefined && { inputs: args.inputs }) },
    idempotencyKey: args.idempotency_key ?? repeatKey,
  })
  const { runId } = answer as { runId: string }
  return new Started({ kind: 'run', id: runId }, () =>
    followRun(exchange, { runId, until: deadline(args.wait_seconds) }),
  )
}

export const getWorkflowRun: ToolHandler<'get_workflow_run'> = (args, { exchange }) =>
  followRun(exchange, { runId: args.run_id, until: deadline(args.wait_seconds), steps: args.steps })

/** What an agent may answer is answered; what is a person's is only waited for, whatever the model says. */
export const resumeWorkflow: ToolHandler<'resume_workflow'> = async (args, { exchange, repeatKey }) => {
  const until = deadline(args.wait_seconds)
  const { run_id: runId } = args
  try {
    await exchange.caller.perform('resumeWorkflowRun', {
      params: { runId },
      body: {
        ...(args.answer !== undefined && { resumeData: args.answer }),
        ...(args.step_id !== undefined && { stepId: args.step_id }),
      },
      idempotencyKey: args.idempotency_key ?? repeatKey,
    })
  } catch (error) {
    const url = error instanceof ApiError ? error.details?.['approval_url'] : undefined
    if (typeof url !== 'string') throw error
    const before = await readRun(exchange, runId)
    await exchange.progress(0, `Waiting for you in Guildhall (${url})`)
    return followRun(exchange, { runId, until, changedSince: before.run.updatedAt, approvalUrl: url })
  }
  return followRun(exchange, { runId, until })
}

export function followRun(
  exchange: Exchange,
  followed: {
    runId: string
    until: number
    told?: number
    steps?: boolean | undefined
    /** Waits over a pause that was there before. */
    changedSince?: string
    approvalUrl?: string
  },
): Promise<CallToolResult> {
  const { runId, until, told, changedSince, approvalUrl } = followed
  return follow(
    exchange,
    {
      kind: 'run',
      target: runId,
      after: 0,
      look: async () => {
        const found = await readRun(exchange, runId)
        const { status, updatedAt } = found.run
        const isPause = status === 'suspended' && updatedAt === changedSince
        const settled = Object.values(found.steps).length
        return {
          value: describeRun(found, {
            steps: followed.steps,
            approvalUrl: isPause ? approvalUrl : undefined,
          }),
          isOver: status !== 'running' && !isPause,
          progress: settled,
          message: `${settled} steps settled`,
        }
      },
    },
    until,
    told,
  )
}

export async function readRun(exchange: Exchange, runId: string): Promise<Run> {
  return (await exchange.caller.perform('getWorkflowRun', { params: { runId } })) as Run
}

export function describeRun(
  { run, steps }: Run,
  options: { steps?: boolean | undefined; approvalUrl?: string | undefined } = {},
): CallToolResult {
  const { result, error } = run.snapshot
  const waitingFor = suspensionsOf(run.snapshot)
  const value = {
    runId: run.runId,
    workflowId: run.workflowId,
    status: run.status,
    ...(result !== undefined && { result }),
    ...(error !== undefined && { error }),
    ...(waitingFor.length > 0 && { waitingFor }),
    ...(options.steps && { steps }),
    ...nextOf(run, options.approvalUrl),
  }
  return { ...said(value), ...(run.status === 'failed' && { isError: true }) }
}

export function suspensionsOf(snapshot: RecordOf): { stepId: string; asks: unknown }[] {
  const { suspendedPaths, context } = snapshot
  if (!isRecord(suspendedPaths) || !isRecord(context)) return []
  return Object.keys(suspendedPaths).map((stepId) => {
    const step = Object.hasOwn(context, stepId) ? context[stepId] : undefined
    return { stepId, asks: isRecord(step) ? step['suspendPayload'] : undefined }
  })
}

function nextOf({ runId, status }: Run['run'], approvalUrl: string | undefined): { next?: string } {
  if (approvalUrl !== undefined)
    return {
      next: `A person has to answer at ${approvalUrl}. Wait with get_workflow_run; you cannot answer it.`,
    }
  if (status === 'running')
    return { next: `Not over yet. Call get_workflow_run with run_id "${runId}"; do not launch it again.` }
  if (status === 'suspended')
    return { next: `It waits for an answer: call resume_workflow with run_id "${runId}".` }
  return {}
}
