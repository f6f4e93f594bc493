import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { withDeathSignal } from './spawn.ts'
import type { StackDescription } from './summary.ts'

export type SpawnedStack = StackDescription & {
  /** The process of the stack itself. */
  pid: number
  /** What it has said on stderr so far. */
  said: () => string
  /** Asks it to stop and resolves with its exit code, null when it had to be killed. */
  stop: () => Promise<number | null>
}

const stopWithinMs = 60_000
const program = fileURLToPath(new URL('main.ts', import.meta.url))

/**
 * Starts a stack as a process of its own; it stops by itself when this process dies. It has the address that programs
 * need no resolver for; a browser's tests ask for `--host localhost`.
 */
export async function spawnStack(args: string[] = []): Promise<SpawnedStack> {
  const [command, commandArgs] = withDeathSignal('TERM', process.execPath, [
    program,
    '--json',
    '--host',
    '127.0.0.1',
    ...args,
  ])
  const child = spawn(command, commandArgs, { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const exited = once(child, 'close').then(() => child.exitCode)
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text)),
    exited.then((code) => {
      throw new Error(`the stack ended with exit code ${code} before it was ready\n${said}`)
    }),
  ])

  async function stop(): Promise<number | null> {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), stopWithinMs)
    const code = await exited
    clearTimeout(timer)
    return code
  }

  const description: StackDescription = JSON.parse(line)
  return { ...description, pid: child.pid ?? 0, said: () => said, stop }
}
