import { type Transferable, Worker } from 'node:worker_threads'

/**
 * A program in threads of its own, for what would keep the event loop for long. A thread has one question at a time; it is
 * started when it is first needed and used again. How many there are is for whoever asks.
 */
export class Threads<Question, Answer> {
  readonly #program: URL
  readonly #memoryMib: number
  readonly #idle: Worker[] = []

  constructor(program: URL, memoryMib: number) {
    this.#program = program
    this.#memoryMib = memoryMib
  }

  /** Undefined when the thread died of it or had no answer in time. */
  async ask(question: Question, withinMs: number, moved: Transferable[] = []): Promise<Answer | undefined> {
    const thread = this.#idle.pop() ?? this.#start()
    const answer = await new Promise<Answer | undefined>((resolve) => {
      const settle = (given?: Answer) => {
        clearTimeout(timer)
        thread.removeAllListeners()
        // At rest it must not keep the process from ending, and what befalls it then is nobody's fault.
        thread.on('error', () => {})
        thread.unref()
        resolve(given)
      }
      const timer = setTimeout(settle, withinMs)
      thread.removeAllListeners()
      thread.once('message', settle)
      thread.once('error', () => settle())
      thread.once('exit', () => settle())
      thread.ref()
      thread.postMessage(question, moved)
    })
    if (answer !== undefined) this.#idle.push(thread)
    else await thread.terminate()
    return answer
  }

  #start(): Worker {
    return new Worker(this.#program, { resourceLimits: { maxOldGenerationSizeMb: this.#memoryMib } })
  }
}
