import type { ExecutionHandle, ExecutionStatus, ExecutionStep, OutputFile } from '@guildhall/sdk'
import type { Context } from '../context.ts'
import { type ExitCode, exit } from '../exit-codes.ts'
import { lasted } from '../output/duration.ts'
import { money } from '../output/money.ts'
import { dim, say } from '../output/safe-text.ts'
import { saveFile } from './files.ts'
import { Message } from './message.ts'

const secondInterruptMs = 2000

export interface FollowOptions {
  /** What it is called on the first line. */
  title: string
  after?: number
  deltas?: boolean
  /** Where its files go. */
  folder?: string
  /** Whether ^C twice ends it. */
  stops: boolean
  /** ^C once ends it. */
  stopsAtOnce?: boolean
}

/** Shows an execution until it has ended, and says in its exit code how. */
export async function follow(
  context: Context,
  handle: ExecutionHandle,
  options: FollowOptions,
): Promise<ExitCode> {
  const { out, signal, input } = context
  const began = Date.now()
  const drawing = new Drawing(context)
  const release = options.stops
    ? onInterrupt(context, handle, drawing, options.stopsAtOnce ?? false)
    : () => {}
  out.talk(say`${out.sign('▸', '>')} ${handle.id}  ${options.title}`)
  const deltas = options.deltas ?? out.forPeople
  try {
    for await (const event of handle.events({ signal, deltas, after: options.after })) {
      drawing.show(event)
      if (out.isJson) out.event(withoutOurs(event))
    }
  } finally {
    release()
    drawing.end()
  }
  const result = await outcomeOf(handle, signal)
  const files = await saved(context, result, options.folder)
  const exitCode = exitOf(result)
  report(context, result, files, exitCode, Date.now() - began)
  return input.has('no-exit-status') ? exit.done : exitCode
}

interface Outcome
  extends Pick<ExecutionStatus, 'executionId' | 'status' | 'stopReason' | 'errorCode' | 'cost' | 'traceId'> {
  text: string
  files: readonly OutputFile[]
}

/** Asked once, when the stream has said that it is over. */
async function outcomeOf(handle: ExecutionHandle, signal: AbortSignal): Promise<Outcome> {
  const [status, files] = await Promise.all([handle.status({ signal }), handle.files({ signal })])
  const text = status.outputBlocks.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n')
  return { ...status, text, files }
}

function exitOf({ status, stopReason }: Pick<Outcome, 'status' | 'stopReason'>): ExitCode {
  if (stopReason === 'limit_reached') return exit.money
  if (stopReason === 'interrupt') return exit.stopped
  return status === 'completed' ? exit.done : exit.failed
}

/** What the server sent, without the mark that the SDK adds. */
function withoutOurs({ known: _, ...event }: ExecutionStep): object {
  return event
}

class Drawing {
  readonly #context: Context
  readonly #message: Message
  cost = 0

  constructor(context: Context) {
    this.#context = context
    this.#message = new Message(context.out)
  }

  show(event: ExecutionStep): void {
    const { out } = this.#context
    if (!event.known) return
    if (event.type === 'execution.cost') this.cost = event.payload.cost
    if (event.type === 'agent.message_delta') this.#message.piece(event.payload.text)
    if (event.type === 'agent.message') this.#message.whole(textOf(event.payload.content))
    if (event.type === 'agent.tool_use') {
      this.end()
      out.talk(say`  ${out.sign('⚙', '*')} ${event.payload.tool}  ${event.payload.label}`)
    }
    if (event.type === 'agent.tool_result' && event.payload.isError)
      out.talk(dim(`    ${event.payload.summary}`))
    if (out.stderrIsTerminal && event.type === 'execution.cost') out.progress(dim(`  ${money(this.cost)}`))
  }

  end(): void {
    this.#message.end()
  }
}

function textOf(content: readonly { type: string; text?: string }[]): string {
  return content.flatMap((block) => (block.type === 'text' && block.text ? [block.text] : [])).join('\n')
}

/** The first ^C leaves it running and says so; a second one within two seconds ends it. */
function onInterrupt(
  context: Context,
  handle: ExecutionHandle,
  drawing: Drawing,
  atOnce: boolean,
): () => void {
  const { out, signals } = context
  let pressed = 0
  return signals.onInterrupt(() => {
    pressed++
    if (pressed === (atOnce ? 2 : 3)) {
      signals.end(exit.interrupted, `${handle.id} was told to stop; its end was not waited for.`)
      return
    }
    if (pressed === (atOnce ? 1 : 2)) {
      out.talk(say`Stopping ${handle.id} …`)
      handle.cancel().catch((error: unknown) => {
        signals.end(
          exit.failed,
          `${handle.id} could not be stopped: ${error instanceof Error ? error.message : error}`,
        )
      })
      return
    }
    if (pressed === 1) {
      out.talk(
        say`${handle.id} goes on (${money(drawing.cost)} so far). ^C again stops it. Watch: guild exec watch ${handle.id}`,
      )
      setTimeout(() => {
        if (pressed === 1) signals.end(exit.interrupted, `${handle.id} goes on.`)
      }, secondInterruptMs)
    }
  })
}

async function saved(context: Context, result: Outcome, folder: string | undefined): Promise<string[]> {
  if (folder === undefined) return []
  const paths: string[] = []
  for (const file of result.files) {
    const path = await saveFile(folder, {
      name: file.name,
      sizeBytes: file.sizeBytes,
      download: () => file.download({ signal: context.signal }),
    })
    paths.push(path)
  }
  return paths
}

function report(context: Context, result: Outcome, saved: readonly string[], exitCode: ExitCode, ms: number) {
  const { out } = context
  const { executionId, status, stopReason, errorCode, cost, traceId } = result
  const files = result.files.map(({ name, mimeType, sizeBytes }) => ({ name, mimeType, sizeBytes }))
  const last = {
    type: 'guild.result',
    executionId,
    status,
    stopReason,
    errorCode,
    cost,
    traceId,
    files,
    saved,
    exitCode,
  }
  if (out.isJson) out.event(last)
  else out.result(last, result.text)
  const facts = say`${status} in ${lasted(ms)} · ${money(cost)} · ${result.files.length} files${saved.length > 0 ? ` in ${context.input.text('output')}` : ''} · guild exec show ${executionId}`
  if (exitCode === exit.done) out.done(facts)
  else out.talk(say`${out.sign('✗', 'error:')} ${stopReason}${errorCode ? ` (${errorCode})` : ''} · ${facts}`)
}
