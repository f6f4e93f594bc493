import { decided } from '../asking.ts'
import { type AskPersonBody, type PollAskAnswer, Asks as Printed, pollAsk } from '../generated/asks.ts'

/** How long a person is waited for, and how the program tells them of it. */
export interface AnswerOptions {
  /** 600,000 when not given. */
  readonly waitMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Called once, when the question stands: show `url` to the person. */
  readonly onAsk?: ((asked: { readonly askId: string; readonly url: string }) => void) | undefined
}

/** Questions to people about what an agent is about to do. */
export class Asks extends Printed {
  /**
   * Asks a person and waits for what they say: `answered`, `denied`, or `withdrawn` by whoever asked. When nobody says
   * anything in time the question still stands, and `wait` goes on waiting for it.
   */
  async ask(body: AskPersonBody, options: AnswerOptions = {}): Promise<PollAskAnswer> {
    const { ask_id: askId, approval_url: url } = await this.create(body, { signal: options.signal })
    options.onAsk?.({ askId, url })
    return this.wait(askId, options)
  }

  /** Goes on waiting for a question that was asked before. */
  wait(askId: string, options: AnswerOptions = {}): Promise<PollAskAnswer> {
    const { signal } = options
    return decided(askId, options, (wait) =>
      this.client.call(pollAsk, { params: { askId }, query: { wait } }, { signal, maxRetries: 5 }),
    )
  }
}
