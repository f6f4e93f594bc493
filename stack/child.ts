import type { ChildProcess } from 'node:child_process'
import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { PortTakenError } from './ports.ts'
import { type Command, type Ending, signalGroup, spawnLogged } from './spawn.ts'
import { NotReadyError, readLog, StartError } from './start-error.ts'

export type ChildOptions = Command & {
  name: string
  /** Whether a death is followed by a new start once the child has been ready. */
  restart: boolean
  stopSignal?: NodeJS.Signals
  onChange?: ((note?: string) => void) | undefined
}

export type Child = {
  name: string
  logFile: string
  pid: () => number | null
  /** Waits until the probe holds for the living child; a child that dies before is a failed start. */
  ready: (probe: Probe, signal?: AbortSignal) => Promise<void>
  stop: () => Promise<void>
}

/** True, or what is still missing. */
export type Probe = () => Promise<boolean | string>

const restartDelayMs = 200
const stopWithinMs = 10_000
const probeEveryMs = 50
const readyWithinMs = 60_000

/**
 * One child process. Until its probe has held it is starting: a death then is reported to whoever waits in
 * `ready`. Afterwards a death is followed by a new start with the same arguments, each 200 ms, for as long as
 * it takes: PostgreSQL refuses to start while backends of its killed predecessor live.
 */
export function startChild(options: ChildOptions): Child {
  const { name, logFile, onChange } = options
  const logStart = sizeOf(logFile)
  let running: ChildProcess | undefined
  let lastEnding = ''
  let settled = false
  let stopping: Promise<void> | undefined
  let restartTimer: NodeJS.Timeout | undefined

  function launch() {
    let ended = false
    const end = (ending: string) => {
      if (ended) return
      ended = true
      running = undefined
      lastEnding = ending
      const again = settled && options.restart && !stopping
      if (again) restartTimer = setTimeout(launch, restartDelayMs)
      onChange?.(settled && !stopping ? `${name} ${ending}${again ? ', starting it again' : ''}` : undefined)
    }
    try {
      const child = spawnLogged(options)
      running = child
      child.once('error', (error) => end(`could not be started: ${error.message}`))
      child.once('exit', (code, signal) => end(describeEnding({ code, signal })))
    } catch (error) {
      end(`could not be started: ${(error as Error).message}`)
    }
    onChange?.()
  }

  async function ready(probe: Probe, signal?: AbortSignal) {
    const deadline = Date.now() + readyWithinMs
    while (true) {
      signal?.throwIfAborted()
      const found = running !== undefined && (await probe())
      // Asked after the probe: the answer may have come from a stranger that got the port first.
      if (!running) {
        const said = readLog(logFile, logStart)
        if (/EADDRINUSE|address already in use/i.test(said)) throw new PortTakenError(`${name}: port taken`)
        throw new StartError(`${name} ${lastEnding} while starting.`, { logFile })
      }
      if (found === true) break
      if (Date.now() > deadline) {
        const missing = found === false ? '' : `: ${found}`
        throw new NotReadyError(`${name} is not ready after ${readyWithinMs / 1000} s${missing}`, { logFile })
      }
      await sleep(probeEveryMs, undefined, { signal })
    }
    settled = true
  }

  async function end() {
    clearTimeout(restartTimer)
    const child = running
    if (!child) return
    const exited = new Promise((resolve) => child.once('exit', resolve).once('error', resolve))
    child.kill(options.stopSignal ?? 'SIGTERM')
    // A paused process acts on no signal but this one.
    child.kill('SIGCONT')
    const timer = setTimeout(() => child.kill('SIGKILL'), stopWithinMs)
    await exited
    clearTimeout(timer)
    signalGroup(child, 'SIGKILL')
  }

  launch()
  return {
    name,
    logFile,
    pid: () => running?.pid ?? null,
    ready,
    stop: () => {
      stopping ??= end()
      return stopping
    },
  }
}

export function describeEnding({ code, signal }: Ending): string {
  return signal ? `was ended by ${signal}` : `ended with exit code ${code}`
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
