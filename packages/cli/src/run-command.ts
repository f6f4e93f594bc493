import { keepAnswers } from './answers.ts'
import type { Command } from './command.ts'
import type { Context } from './context.ts'
import { type ExitCode, exit } from './exit-codes.ts'
import { bug, Failure } from './failure.ts'
import { readInput } from './input.ts'
import { type Output, outputOf } from './output/output.ts'
import { ours } from './output/safe-text.ts'
import type { Environment } from './places.ts'
import { Settings } from './settings.ts'
import { Signals } from './signals.ts'

export async function runCommand(
  command: Command,
  args: readonly string[],
  environment: Environment,
): Promise<ExitCode> {
  // A report that Node writes of this process holds its environment, where a key may stand.
  if (process.report) process.report.excludeEnv = true
  const signals = new Signals()
  const input = readInput(args, command)
  const out = outputOf(input, environment)
  const settings = new Settings(input, environment, process.cwd())
  const timeoutMs = command.name === 'login' ? undefined : input.durationMs('timeout')
  if (timeoutMs !== undefined)
    setTimeout(() => signals.end(exit.notReached, 'Out of time.'), timeoutMs).unref()
  if (usesProxy(environment)) await useProxy(out)
  keepAnswers()
  const context: Context = {
    command,
    input,
    settings,
    out,
    signals,
    signal: signals.signal,
    atEnd: [],
    client: async () => (await import('./client.ts')).clientOf(context),
    person: async (presence = 'kept is enough') => (await import('./person.ts')).personOf(context, presence),
  }
  try {
    const run = await command.load?.()
    return (await run?.(context)) ?? exit.done
  } catch (error) {
    // An abort surfaces as whatever was waiting; its reason says what really happened.
    const reason: unknown = signals.signal.aborted ? signals.signal.reason : error
    return await told(reason, out, context)
  } finally {
    for (const end of context.atEnd) await end()
  }
}

async function told(error: unknown, out: Output, context?: Context): Promise<ExitCode> {
  if (error instanceof Failure) {
    out.failure(error)
    return error.exitCode
  }
  const { failureOf } = await import('./sdk-failure.ts')
  const failure = failureOf(error, context) ?? (await unforeseen(error))
  out.failure(failure)
  return failure.exitCode
}

/** Ours, unless the server is to blame. */
async function unforeseen(error: unknown): Promise<Failure> {
  const { brokenAnswer } = await import('./broken-answer.ts')
  return (await brokenAnswer(error)) ?? bug(error)
}

function usesProxy(environment: Environment): boolean {
  return ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy'].some((name) => Boolean(environment[name]))
}

async function useProxy(out: Output): Promise<void> {
  const http: object = await import('node:http')
  if ('setGlobalProxyFromEnv' in http && typeof http.setGlobalProxyFromEnv === 'function') {
    http.setGlobalProxyFromEnv()
    return
  }
  if (!process.env['NODE_USE_ENV_PROXY']) {
    out.warn(
      ours('This Node does not use the proxy by itself. Set NODE_USE_ENV_PROXY=1 (Node 22.21 and later).'),
    )
  }
}
