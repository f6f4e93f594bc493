import { type CommandLine, parseCommandLine, UsageError, usage } from './options.ts'
import { startStack } from './start.ts'
import { StartError } from './start-error.ts'
import { describeStack, summarize } from './summary.ts'

/** The command: from its arguments to its exit code. */
export async function main(args: string[], stopRequest: AbortSignal): Promise<number> {
  let commandLine: CommandLine
  try {
    commandLine = parseCommandLine(args)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(error.message)
    return 2
  }
  if (commandLine.help) {
    process.stdout.write(usage)
    return 0
  }
  return run(commandLine, stopRequest)
}

async function run({ json, stack: options }: CommandLine, stopRequest: AbortSignal): Promise<number> {
  const began = performance.now()
  const say = (line: string) =>
    void process.stderr.write(`[${((performance.now() - began) / 1000).toFixed(1)} s] ${line}\n`)
  stopRequest.addEventListener('abort', () => say(`${stopRequest.reason.message}: stopping`), { once: true })
  try {
    const stack = await startStack({ ...options, signal: stopRequest, say })
    process.stdout.write(json ? `${JSON.stringify(describeStack(stack))}\n` : summarize(stack))
    await aborted(stopRequest)
    await stack.stop()
  } catch (error) {
    const wasAskedTo = stopRequest.aborted && (error as Error).name === 'AbortError'
    if (!wasAskedTo) {
      say(error instanceof StartError ? error.message : String((error as Error).stack ?? error))
      return 1
    }
  }
  say('stopped, nothing left behind')
  return 0
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  // A pending promise alone does not keep a process alive.
  const heartbeat = setInterval(() => {}, 60_000)
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  clearInterval(heartbeat)
}
