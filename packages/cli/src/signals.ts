import { type ExitCode, exit } from './exit-codes.ts'
import { Failure } from './failure.ts'

/** Why the command ends: the reason of its signal. */
class Ended extends Failure {
  constructor(exitCode: ExitCode, message: string) {
    super({ exitCode, message })
    this.name = 'Ended'
  }
}

type Interrupt = () => void

/** ^C, SIGTERM, SIGHUP and a pipe that was closed. None of them touches what runs on the server. */
export class Signals {
  readonly #controller = new AbortController()
  #interrupt: Interrupt | undefined

  constructor() {
    process.on('SIGINT', () =>
      this.#interrupt ? this.#interrupt() : this.end(exit.interrupted, 'Interrupted.'),
    )
    process.on('SIGTERM', () => this.end(exit.terminated, 'Terminated.'))
    process.on('SIGHUP', () => this.end(exit.hangUp, 'The terminal went away.'))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }
  /** What ^C does instead of ending the command, until the returned function is called. */
  onInterrupt(interrupt: Interrupt): () => void {
    this.#interrupt = interrupt
    return () => {
      this.#interrupt = undefined
    }
  }
  end(exitCode: ExitCode, message: string): void {
    this.#controller.abort(new Ended(exitCode, message))
  }
}
