/** The longest that the event loop stood still, in time of this thread, since others use the machine too. */
export async function longestTurn<T>(work: () => Promise<T>): Promise<{ longestMs: number; result: T }> {
  const used = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  let longestMs = 0
  let isOver = false
  let before = used()
  const tick = () => {
    const now = used()
    longestMs = Math.max(longestMs, now - before)
    before = now
    if (!isOver) setImmediate(tick)
  }
  setImmediate(tick)
  const result = await work()
  tick()
  isOver = true
  return { longestMs, result }
}
