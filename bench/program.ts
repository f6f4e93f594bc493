import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** A program of this folder that runs beside a measurement, and ends with it. */
export interface Program {
  readonly child: ChildProcess
  /** Where it listens, if it does. */
  readonly port: number
  ask<T>(question: object): Promise<T>
}

export async function startProgram(
  file: string,
  env: Record<string, string | undefined> = {},
): Promise<Program> {
  const child = fork(join(import.meta.dirname, file), {
    env: { ...process.env, ...env },
    execArgv: ['--expose-gc'],
    serialization: 'advanced',
  })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${file} ended before it was ready`)))
  const [hello] = await Promise.race([once(child, 'message'), ended])
  ended.catch(() => {})
  return {
    child,
    port: hello.port,
    ask: async <T>(question: object) => {
      child.send(question)
      const [answer] = await once(child, 'message')
      return answer as T
    },
  }
}

/** What such a program says when it is ready; it stays no longer than whoever started it. */
export function sayReady(port = 0): void {
  process.once('disconnect', () => process.exit())
  process.send?.({ port })
}
