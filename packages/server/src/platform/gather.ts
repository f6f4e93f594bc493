/** All who are answered go on at once, and nobody else's work is done before they have. */
const answeredAtOnce = 20

/**
 * Answers many who ask at about the same time with one request to somebody else: whoever asks while one is under way is
 * answered by the next. `load` gives one answer for each asked, in their order.
 */
export function gather<Ask, Answer>(
  load: (asked: Ask[]) => Promise<readonly Answer[]>,
): (ask: Ask) => Promise<Answer> {
  interface Waiting {
    readonly ask: Ask
    done(answer: Answer): void
    failed(error: unknown): void
  }
  let waiting: Waiting[] = []
  let isLoading = false

  const loadAll = async () => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, answeredAtOnce)
      waiting = waiting.slice(answeredAtOnce)
      try {
        const answers = await load(batch.map(({ ask }) => ask))
        for (const [index, { done }] of batch.entries()) done(answers[index] as Answer)
      } catch (error) {
        for (const { failed } of batch) failed(error)
      }
    }
    isLoading = false
  }

  return (ask) =>
    new Promise((done, failed) => {
      waiting.push({ ask, done, failed })
      if (isLoading) return
      isLoading = true
      // Not at once: what comes in the same turn of the event loop goes together.
      setImmediate(() => void loadAll())
    })
}
