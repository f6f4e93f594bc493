import type { Execution, ExecutionStatus } from '@guildhall/sdk'
import type { Handler } from '../command.ts'
import { exit } from '../exit-codes.ts'
import type { Column } from '../output/columns.ts'
import { ago } from '../output/duration.ts'
import { money } from '../output/money.ts'
import { block, bold, type Shown, say } from '../output/safe-text.ts'
import { saveFile } from './files.ts'
import { follow } from './follow.ts'
import { pageOf } from './lists.ts'
import { maxCostOf } from './run.ts'

const columns: readonly Column<Execution>[] = [
  { head: 'ID', cell: ({ executionId }) => executionId },
  { head: 'SKILL', cell: ({ skillSlug, skillVersion }) => `${skillSlug} v${skillVersion}`, wide: true },
  { head: 'STATE', cell: stateOf },
  { head: 'COST', cell: ({ cost }) => money(cost) },
  {
    head: 'STARTED',
    cell: ({ startedAt }, forPeople) => (startedAt && forPeople ? ago(startedAt) : startedAt),
  },
  { head: 'BY', cell: ({ source }) => source },
]

function stateOf({ status, stopReason, queuedAt }: Execution): string {
  if (status === 'idle' && queuedAt) return 'queued'
  return stopReason && stopReason !== 'end_turn' ? `${status} (${stopReason})` : status
}

const states = ['idle', 'working', 'completed', 'failed'] as const

export const list: Handler = async (context) => {
  const { input, out, signal } = context
  const status = states.find((each) => each === input.text('status'))
  const [skill, source] = [input.text('skill'), input.text('source')]
  const pager = (await context.client()).executions.list(
    { limit: input.has('all') ? 100 : 50, ...(status && { status }), ...(skill && { skill }) },
    { signal },
  )
  const fits = (each: Execution) => source === undefined || each.source === source
  out.list(await pageOf(input, pager, fits), columns, say`Nothing has run here. Next: guild run SKILL "…"`)
  return exit.done
}

export const show: Handler = async (context) => {
  const { input, out, signal } = context
  const status = await (await context.client()).executions.status(input.argument('ID'), { signal })
  out.document(status, () => described(status))
  return exit.done
}

function described(status: ExecutionStatus): Shown[] {
  const lines = [
    say`${bold(status.executionId)}  ${status.skillSlug} v${status.skillVersion}  ${status.status}  ${money(status.cost)}`,
    say`trace ${status.traceId}   stop reason ${status.stopReason}${status.errorCode ? ` (${status.errorCode})` : ''}`,
  ]
  for (const part of status.outputBlocks) {
    if (part.type === 'text') lines.push(say``, block(part.text))
    else if (part.type === 'tool') lines.push(say`  ${part.name}  ${part.label}  ${part.status}`)
    else if (part.type === 'file')
      lines.push(say`  file ${part.name}  ${part.mimeType}  ${part.sizeBytes} bytes`)
    else if (part.type === 'error') lines.push(say`  error ${part.code}: ${part.message}`)
  }
  return lines
}

export const watch: Handler = async (context) => {
  const id = context.input.argument('ID')
  const handle = (await context.client()).executions.handle(id)
  const status = await handle.status({ signal: context.signal })
  const after = context.input.number('from')
  return follow(context, handle, {
    title: status.skillSlug,
    stops: false,
    ...(after !== undefined && { after }),
  })
}

export const message: Handler = async (context) => {
  const { input, out, signal } = context
  const maxCost = input.number('max-cost')
  const handle = await (await context.client()).executions.start(
    input.argument('ID'),
    input.rest('TEXT').join(' '),
    { ...(maxCost !== undefined && { maxCost }), ...(input.has('queue') && { ifBusy: 'queue' as const }) },
    { signal },
  )
  out.document({ executionId: handle.id }, () => [say`${handle.id}`])
  out.talk(say`Started. Watch: guild exec watch ${handle.id}`)
  return exit.done
}

export const cancel: Handler = async (context) => {
  const { input, out, signal } = context
  const id = input.argument('ID')
  const answer = await (await context.client()).executions.cancel(id, { signal })
  out.document({ executionId: id, ...answer }, () => [])
  if (answer.processKilled) out.done(say`Stopped; its processes are gone.`)
  else out.warn(say`${answer.message} (it is ${answer.actualStatus})`)
  return exit.done
}

export const rerun: Handler = async (context) => {
  const { input, signal, out } = context
  const id = input.argument('ID')
  const maxCost = maxCostOf(context)
  const client = await context.client()
  const words = input.rest('INPUT').join(' ')
  const before = words === '' ? await inputBefore(client, id, signal) : words
  const handle = await client.executions.rerun(
    id,
    { input: before, ...(maxCost !== undefined && { maxCost }) },
    { signal },
  )
  if (input.has('detach')) {
    out.document({ executionId: handle.id, parentExecutionId: id }, () => [say`${handle.id}`])
    return exit.done
  }
  const folder = input.text('output')
  return follow(context, handle, {
    title: `from ${id}`,
    stops: true,
    ...(folder !== undefined && { folder }),
  })
}

/** The first message that it was given. */
async function inputBefore(
  client: Awaited<ReturnType<Parameters<Handler>[0]['client']>>,
  id: string,
  signal: AbortSignal,
): Promise<string> {
  for await (const event of client.executions.events(id, { signal })) {
    if (!event.known || event.type !== 'user.message') continue
    return event.payload.content
      .flatMap((part) => ('text' in part && part.text ? [part.text] : []))
      .join('\n')
  }
  return ''
}

export const files: Handler = async (context) => {
  const { input, out, signal } = context
  const id = input.argument('ID')
  const folder = input.text('output')
  const found = await (await context.client()).executions.handle(id).files({ signal })
  const items: { name: string; mimeType: string; sizeBytes: number; path: string | null }[] = []
  for (const { name, mimeType, sizeBytes, download } of found) {
    const path =
      folder === undefined
        ? null
        : await saveFile(folder, { name, sizeBytes, download: () => download({ signal }) })
    items.push({ name, mimeType, sizeBytes, path })
  }
  out.list(
    { items },
    [
      { head: 'NAME', cell: ({ name }) => name, wide: true },
      { head: 'KIND', cell: ({ mimeType }) => mimeType },
      { head: 'BYTES', cell: ({ sizeBytes }) => sizeBytes },
      { head: 'WRITTEN TO', cell: ({ path }) => path },
    ],
    say`It made no files.`,
  )
  return exit.done
}
