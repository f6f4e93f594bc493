import type { ExecutionStatus } from '@guildhall/contract'
import { withoutSecrets } from '#platform/secrets.ts'
import type { Exchange } from '../exchange.ts'
import { follow } from '../follow.ts'
import type { CallToolResult } from '../shapes.ts'
import { defaultWaitSeconds, Started, said, shown, type ToolHandler } from './tool.ts'

/** About 6,000 tokens: what a model reads at once. */
const textBytes = 24_576
const open: readonly string[] = ['idle', 'working']

interface Block {
  readonly sequence: number
  readonly type: string
  readonly text?: string
  readonly label?: string
  readonly name?: string
  readonly mimeType?: string
  readonly sizeBytes?: number
  readonly url?: string
  readonly message?: string
}

export const runSkill: ToolHandler<'run_skill'> = async (args, { exchange, repeatKey }) => {
  const answer = await exchange.caller.perform('runSkill', {
    params: { slug: args.slug },
    body: {
      input: args.input,
      ...(args.max_cost !== undefined && { maxCost: args.max_cost }),
      ...(args.if_busy !== undefined && { ifBusy: args.if_busy }),
      source: 'mcp',
      interface: interfaceOf(exchange.clientName),
    },
    idempotencyKey: args.idempotency_key ?? repeatKey,
  })
  const { executionId } = answer as { executionId: string }
  return new Started({ kind: 'execution', id: executionId }, () =>
    followExecution(exchange, { executionId, after: 0, until: deadline(args.wait_seconds) }),
  )
}

export const getExecution: ToolHandler<'get_execution'> = (args, { exchange }) =>
  followExecution(exchange, {
    executionId: args.execution_id,
    after: args.after_sequence ?? 0,
    until: deadline(args.wait_seconds),
  })

export const cancelExecution: ToolHandler<'cancel_execution'> = async (args, { exchange }) => {
  const { execution_id: executionId, run_id: runId } = args
  if (executionId !== undefined) {
    const answer = await exchange.caller.perform('cancelExecution', { params: { executionId } })
    const { success, actualStatus } = answer as { success: boolean; actualStatus: string }
    return said({ success, status: actualStatus })
  }
  await exchange.caller.perform('cancelWorkflowRun', { params: { runId: runId ?? '' } })
  return said({ success: true, status: 'canceled' })
}

export function deadline(waitSeconds: number | undefined): number {
  return Date.now() + (waitSeconds ?? defaultWaitSeconds) * 1000
}

/** What a run's record says it came through; the name is the client's claim and only shown. */
function interfaceOf(clientName: string | undefined): string {
  const slug = (clientName ?? '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 50)
  const name = slug.replace(/^-|-$/g, '')
  return name === '' ? 'mcp' : `mcp-${name}`
}

export function followExecution(
  exchange: Exchange,
  followed: { executionId: string; after: number; until: number; told?: number },
): Promise<CallToolResult> {
  const { executionId, after, until, told } = followed
  return follow(
    exchange,
    {
      kind: 'execution',
      target: executionId,
      after,
      look: async () => {
        const status = await readExecution(exchange, executionId)
        const blocks = status.outputBlocks as readonly Block[]
        const last = blocks.at(-1)
        return {
          value: describeExecution(status, after),
          isOver: !open.includes(status.status),
          progress: lastSequence(blocks),
          message: labelOf(last) ?? (status.cost > 0 ? `${status.cost} Ds used` : undefined),
        }
      },
    },
    until,
    told,
  )
}

/** A model chose the words. */
function labelOf(block: Block | undefined): string | undefined {
  return block?.label === undefined ? undefined : withoutSecrets(shown(block.label)).slice(0, 200)
}

export async function readExecution(exchange: Exchange, executionId: string): Promise<ExecutionStatus> {
  const answer = await exchange.caller.perform('getExecutionStatus', { params: { executionId } })
  return answer as ExecutionStatus
}

function lastSequence(blocks: readonly Block[]): number {
  return blocks.reduce((most, { sequence }) => Math.max(most, sequence), 0)
}

/** What an execution has come to, in the few words that a model needs. */
export function describeExecution(status: ExecutionStatus, after: number): CallToolResult {
  const blocks = status.outputBlocks as readonly Block[]
  const fresh = blocks.filter(({ sequence }) => sequence > after)
  const text = fresh.flatMap((block) => textOf(block)).join('\n\n')
  const { shown, isCut } = lastBytes(text)
  const files = fresh.filter(({ type }) => type === 'file')
  const isOpen = open.includes(status.status)
  const value = {
    executionId: status.executionId,
    status: status.status,
    skillSlug: status.skillSlug,
    stopReason: status.stopReason,
    ...(status.errorCode !== null && { errorCode: status.errorCode }),
    cost: status.cost,
    lastSequence: lastSequence(blocks),
    ...(shown !== '' && { text: shown }),
    ...(isCut && {
      cut: `The beginning is left out; read guildhall://executions/${status.executionId} for all`,
    }),
    ...(files.length > 0 && {
      files: files.map(({ name, mimeType, sizeBytes, url }) => ({ name, mimeType, sizeBytes, url })),
    }),
    ...(isOpen && {
      next: `Not over yet. Call get_execution with execution_id "${status.executionId}" and after_sequence ${lastSequence(blocks)}; do not run it again.`,
    }),
  }
  const links = files.map((file) => ({
    type: 'resource_link' as const,
    uri: artifactUri(file.url ?? ''),
    name: file.name ?? 'file',
    ...(file.mimeType !== undefined && { mimeType: file.mimeType }),
    ...(file.sizeBytes !== undefined && { size: file.sizeBytes }),
  }))
  return { ...said(value, links), ...(status.status === 'failed' && { isError: true }) }
}

function textOf(block: Block): string[] {
  if (block.type === 'text') return [block.text ?? '']
  return block.type === 'error' ? [block.message ?? ''] : []
}

/** Counted in bytes and cut at the start: what came last matters most. */
function lastBytes(text: string): { shown: string; isCut: boolean } {
  const bytes = Buffer.from(text)
  if (bytes.length <= textBytes) return { shown: text, isCut: false }
  return {
    shown: bytes
      .subarray(bytes.length - textBytes)
      .toString()
      .replace(/^\uFFFD+/, ''),
    isCut: true,
  }
}

/** `/api/v1/artifacts/<id>/content?path=…` as a resource. */
function artifactUri(url: string): string {
  const match = /\/artifacts\/([^/?]+)\/content(?:\?path=(.*))?$/.exec(url)
  return match ? `guildhall://artifacts/${match[1]}/${match[2] ?? ''}` : `guildhall:${url}`
}
