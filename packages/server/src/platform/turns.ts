/**
 * Lets at most so many go on in one turn of the event loop, first come first served: however many come at once, other
 * work is done in between.
 */
export function createTurns(count: number): () => Promise<void> {
  let waiting: (() => void)[] = []
  let isRunning = false
  const run = () => {
    const now = waiting.slice(0, count)
    waiting = waiting.slice(count)
    for (const go of now) go()
    if (waiting.length > 0) setImmediate(run)
    else isRunning = false
  }
  return () =>
    new Promise((go) => {
      waiting.push(go)
      if (isRunning) return
      isRunning = true
      setImmediate(run)
    })
}
