import { type CommandLine, parseCommandLine, UsageError, usage } from './options.ts'
import { startStack } from './start.ts'
import { StartError } from './start-error.ts'
import { describeStack, summarize } from './summary.ts'

// Whoever reads these may be gone before the stack is; that must not end it half cleaned up.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

process.exit(await main())

async function main(): Promise<number> {
  let commandLine: CommandLine
  try {
    commandLine = parseCommandLine(process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(error.message)
    return 2
  }
  if (commandLine.help) {
    process.stdout.write(usage)
    return 0
  }
  return run(commandLine)
}

async function run({ json, stack: options }: CommandLine): Promise<number> {
  const began = performance.now()
  const say = (line: string) =>
    void process.stderr.write(`[${((performance.now() - began) / 1000).toFixed(1)} s] ${line}\n`)
  const stopRequest = new AbortController()
  // Kept to the end: a second signal while stopping must not cut the cleaning up short.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stopRequest.signal.aborted) return
      say(`${signal}: stopping`)
      stopRequest.abort()
    })
  }
  try {
    const stack = await startStack({ ...options, signal: stopRequest.signal, say })
    process.stdout.write(json ? `${JSON.stringify(describeStack(stack))}\n` : summarize(stack))
    await aborted(stopRequest.signal)
    await stack.stop()
  } catch (error) {
    const wasAskedTo = stopRequest.signal.aborted && (error as Error).name === 'AbortError'
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
