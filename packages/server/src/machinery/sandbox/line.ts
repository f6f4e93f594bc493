import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { createFrameReader, encodeFrame, type Frame } from './frames.ts'
import { SandboxError } from './port.ts'

interface Request<T> {
  head: Record<string, unknown>
  body?: Uint8Array | undefined
  /** Of each frame of the answer. */
  maxBodyBytes: number
  /** Gets the answer's frames; something else than undefined ends the answer. */
  take: (frame: Frame) => T | undefined
}

/** The connection to a sandbox's first process. One request at a time; whoever calls sees to that. */
export interface Line {
  ask<T>(request: Request<T>): Promise<T>
  /** Ends the command under way; its answer comes as usual. */
  stop(): void
  /** Gives the sandbox up: every call, under way or later, is told so. */
  lose(message: string, cause?: unknown): SandboxError
}

export function openLine(child: ChildProcessWithoutNullStreams): Line {
  let asked: { maxBodyBytes: number; take(frame: Frame): void; fail(error: Error): void } | undefined
  let lost: SandboxError | undefined

  const lose = (message: string, cause?: unknown) => {
    lost ??= new SandboxError('lost', message, { cause })
    asked?.fail(lost)
    return lost
  }
  const send = (head: Record<string, unknown>, body?: Uint8Array) => {
    for (const part of encodeFrame(head, body)) child.stdin.write(part)
  }
  const read = createFrameReader(() => asked?.maxBodyBytes ?? 0)

  child.stdout.on('data', (chunk: Buffer) => {
    if (lost) return
    try {
      for (const frame of read(chunk)) {
        if (!asked) throw new Error('Nothing was asked')
        asked.take(frame)
      }
    } catch (cause) {
      lose('The sandbox spoke out of turn', cause)
    }
  })
  // The exit says it all; without a listener a write to a sandbox that has just ended would end the worker.
  for (const stream of [child.stdin, child.stdout]) stream.on('error', () => {})
  child.once('close', () => lose('The sandbox has ended'))

  return {
    async ask(request) {
      if (lost) throw lost
      try {
        return await new Promise((resolve, reject) => {
          asked = {
            maxBodyBytes: request.maxBodyBytes,
            fail: reject,
            take(frame) {
              const refused = frame.head['refused']
              if (refused !== undefined) return reject(new SandboxError('refused', String(refused)))
              const answer = request.take(frame)
              if (answer !== undefined) resolve(answer)
            },
          }
          send(request.head, request.body)
        })
      } finally {
        asked = undefined
      }
    },
    stop: () => send({ op: 'stop' }),
    lose,
  }
}
