import type { Handler } from '../command.ts'
import type { Context } from '../context.ts'
import { type ExitCode, exit } from '../exit-codes.ts'
import { Failure } from '../failure.ts'
import { say } from '../output/safe-text.ts'
import { readStdin } from '../prompt.ts'
import { type Call, type Decision, type Reader, readClaudeCode, readGeneric } from './hook-formats.ts'
import { askPerson } from './person-ask.ts'

const defaultWaitMs = 540_000
const maxInputBytes = 4_000_000
/** What asking may take beside the wait itself. Together they stay below the agent's own limit. */
const graceMs = 10_000

export const claudeCode: Handler = (context) => runHook(context, readClaudeCode)
export const generic: Handler = (context) => runHook(context, readGeneric)

/**
 * Puts the call that an agent is about to make before its person. Whatever goes wrong on the way is a no that says
 * why, or, with --otherwise ask, the agent's own prompt: never silence, which agents take for leave to go on.
 */
async function runHook(context: Context, read: Reader): Promise<ExitCode> {
  const { input, out, settings } = context
  if (input.has('print-settings')) {
    out.document(claudeCodeSettings, JSON.stringify(claudeCodeSettings, null, 2))
    return exit.done
  }
  const waitMs = settings.input.durationMs('wait') ?? defaultWaitMs
  const deadline = deadlineOf(waitMs)
  const text = (await within(deadline, readStdin(maxInputBytes)))?.toString('utf8')
  const call = text === undefined ? undefined : read(text)
  if (!call) {
    throw new Failure({
      exitCode: exit.usage,
      message: 'What came on stdin is no call of a tool that this hook knows, so it is refused.',
      next: [`guild help ${context.command.name}`],
    })
  }
  const decision = await decide(context, call, waitMs, deadline)
  const answer = call.answer(decision)
  if (answer.document !== undefined) out.document(answer.document, JSON.stringify(answer.document))
  if (decision.kind !== 'allow') out.talk(say`${decision.reason}`)
  return answer.exitCode
}

/** Counted from the start of the process, as the agent counts. */
function deadlineOf(waitMs: number): AbortSignal {
  return AbortSignal.timeout(Math.max(1, Math.round(waitMs + graceMs - process.uptime() * 1000)))
}

/** For what cannot be stopped, such as a keyring that hangs. */
function within<T>(deadline: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    deadline.addEventListener('abort', () => reject(tooLate()), { once: true })
    work.then(resolve, reject)
  })
}

function tooLate(): Failure {
  return new Failure({
    exitCode: exit.usage,
    message: 'There was no answer in time.',
    next: ['guild doctor'],
  })
}

async function decide(
  context: Context,
  call: Call,
  waitMs: number,
  deadline: AbortSignal,
): Promise<Decision> {
  const otherwise = context.input.text('otherwise') === 'ask' ? 'ask' : 'deny'
  const stopWatching = endWithParent(context)
  try {
    const client = await within(deadline, context.client())
    const bounded = { ...context, signal: AbortSignal.any([context.signal, deadline]) }
    const answer = await askPerson(bounded, client, {
      body: { question: call.question, action: call.action, choices: [...choices] },
      waitMs,
      words: (url) => say`Asked at ${url}. Waiting for a person`,
    })
    if (answer.status === 'answered') {
      if (answer.choice === 'terminal')
        return { kind: 'ask', reason: 'The person wants to answer at the terminal.' }
      const { edited_args: edited } = answer
      if (answer.choice === 'allow' && (edited === undefined || call.takes(edited)))
        return { kind: 'allow', reason: 'Allowed by the person in Guildhall.', edited }
      return {
        kind: 'deny',
        reason: 'The answer in Guildhall does not fit this call, so it was not allowed.',
      }
    }
    if (answer.status === 'denied') {
      return {
        kind: 'deny',
        reason: answer.deny_reason
          ? `Denied by the person: ${answer.deny_reason}`
          : 'Denied by the person in Guildhall.',
      }
    }
    return {
      kind: otherwise,
      reason: `Nobody answered in Guildhall within ${Math.round(waitMs / 1000)} s, so this was not allowed.`,
    }
  } catch (error) {
    if (context.signal.aborted) throw error
    return {
      kind: otherwise,
      reason: `Guildhall could not be asked, so this was not allowed: ${await wordsOf(deadline.aborted ? tooLate() : error, context)}`,
    }
  } finally {
    stopWatching()
  }
}

const choices = [
  { id: 'allow', label: 'Allow', kind: 'allow' },
  { id: 'deny', label: 'Deny', kind: 'deny' },
  { id: 'terminal', label: 'Let me answer at the terminal', kind: 'answer' },
] as const

/** An agent that was killed sends no signal; its hook would ask on for minutes. */
function endWithParent({ signals }: Context): () => void {
  const parent = process.ppid
  const watching = setInterval(() => {
    if (process.ppid !== parent) signals.end(exit.terminated, 'The agent that asked has gone.')
  }, 500)
  return () => clearInterval(watching)
}

async function wordsOf(error: unknown, context: Context): Promise<string> {
  const { failureOf } = await import('../sdk-failure.ts')
  const failure = error instanceof Failure ? error : failureOf(error, context)
  const message = failure?.message ?? (error instanceof Error ? error.message : String(error))
  const [next] = failure?.next ?? []
  return next ? `${message} Next: ${next}` : message
}

/** Its own limit is longer than our wait, so that it is we who say no. */
const claudeCodeSettings = {
  hooks: {
    PreToolUse: [
      {
        matcher: 'Bash|Write|Edit|NotebookEdit|WebFetch|mcp__.*',
        hooks: [{ type: 'command', command: 'guild hook claude-code --wait=540s', timeout: 600 }],
      },
    ],
  },
}
