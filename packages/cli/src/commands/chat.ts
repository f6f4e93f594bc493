import { readFile } from 'node:fs/promises'
import type { ThreadStreamEvent } from '@guildhall/sdk'
import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { type ExitCode, exit } from '../exit-codes.ts'
import { Failure, usage } from '../failure.ts'
import { money } from '../output/money.ts'
import { dim, say } from '../output/safe-text.ts'
import { readStdin } from '../prompt.ts'
import { Message } from './message.ts'

const mostMessageBytes = 102_400

/** One message to an agent, and its answer as it comes. */
export const chat: Handler = async (context) => {
  const { input, out, signal } = context
  const agent = input.argument('AGENT')
  const message = await messageOf(context, agent)
  const client = await context.client()
  const threadId = input.text('thread')
  const maxCost = input.number('max-cost')
  const answer = new Answer(context)
  const events = client.chat.stream(
    agent,
    {
      message,
      ...(out.forPeople && { deltas: true }),
      ...(threadId && { threadId }),
      ...(maxCost !== undefined && { maxCost }),
    },
    { signal },
  )
  try {
    for await (const event of events) {
      answer.take(event)
      if (out.isJson) out.event(event)
      // The run goes on without us, and waiting for a person is a choice.
      if (event.type === 'approval.required' && !input.has('wait')) break
    }
  } catch (error) {
    if (signal.aborted && answer.threadId) answer.sayHowToGoOn(agent)
    throw error
  } finally {
    answer.end()
  }
  return report(context, agent, answer)
}

async function messageOf({ input }: Context, agent: string): Promise<string> {
  const words = input.rest('MESSAGE')
  const file = input.text('file')
  const bytes =
    words.length === 1 && words[0] === '-'
      ? await readStdin(mostMessageBytes)
      : file === undefined
        ? Buffer.from(words.join(' '))
        : await readFile(file)
  if (bytes === undefined || bytes.length > mostMessageBytes) {
    throw new Failure({
      exitCode: exit.notValid,
      message: `The message has more than ${mostMessageBytes} bytes.`,
      next: [`guild chat ${agent} "…"`],
    })
  }
  const message = bytes.toString('utf8')
  if (message.trim() === '') throw usage('Say something.', `guild chat ${agent} "…"`)
  return message
}

/** What has come of the answer so far. */
class Answer {
  readonly #context: Context
  readonly #shown: Message
  threadId: string | undefined
  runId: string | undefined
  said: string | null = null
  cost = 0
  status = 'working'
  stopReason: string | null = null
  errorCode: string | null = null
  approval: { id: string; summary: string } | undefined

  constructor(context: Context) {
    this.#context = context
    this.#shown = new Message(context.out)
  }

  take(event: ThreadStreamEvent): void {
    const { out } = this.#context
    if ('threadId' in event) this.threadId = event.threadId
    if ('runId' in event && event.runId) this.runId = event.runId
    switch (event.type) {
      case 'agent.message_delta':
        this.#shown.piece(event.payload.text)
        break
      case 'agent.message':
        this.said = event.payload.content
        this.#shown.whole(event.payload.content)
        break
      case 'agent.tool_use':
        this.#shown.end()
        out.talk(say`  ${out.sign('⚙', '*')} ${event.payload.name}  ${event.payload.label}`)
        break
      case 'agent.tool_result':
        if (event.payload.isError) out.talk(dim(`    ${event.payload.summary}`))
        break
      case 'run.cost':
        this.cost = event.payload.cost
        break
      case 'approval.required':
        this.#shown.end()
        this.status = 'waiting'
        this.approval = { id: event.payload.approvalId, summary: event.payload.summary }
        out.warn(
          say`It waits for a person: ${event.payload.summary} · guild approvals show ${event.payload.approvalId}`,
        )
        break
      case 'run.finished':
        this.status = event.payload.status
        this.stopReason = event.payload.stop_reason.type
        this.errorCode = event.payload.stop_reason.code ?? null
        this.cost = event.payload.cost
        break
    }
  }

  end(): void {
    this.#shown.end()
  }

  sayHowToGoOn(agent: string): void {
    this.#context.out.talk(
      say`thread ${this.threadId} · ${money(this.cost)} · go on: guild chat ${agent} "…" --thread ${this.threadId}`,
    )
  }
}

function report({ out }: Context, agent: string, answer: Answer): ExitCode {
  const { threadId, runId, status, cost, stopReason, errorCode, approval, said } = answer
  const exitCode = exitOf(status, stopReason)
  const final = {
    type: 'guild.result',
    threadId,
    runId,
    status,
    message: said,
    cost,
    stopReason,
    errorCode,
    ...(approval && { approval }),
    exitCode,
  }
  if (out.isJson) out.event(final)
  else out.result(final, said ?? '')
  answer.sayHowToGoOn(agent)
  if (exitCode !== exit.done && exitCode !== exit.waits)
    out.talk(say`${out.sign('✗', 'error:')} ${stopReason}${errorCode ? ` (${errorCode})` : ''}`)
  return exitCode
}

function exitOf(status: string, stopReason: string | null): ExitCode {
  if (status === 'waiting') return exit.waits
  if (stopReason === 'limit_reached') return exit.money
  if (stopReason === 'interrupt') return exit.stopped
  return status === 'completed' ? exit.done : exit.failed
}
