/** Longer than the engine needs to get from a worker that hangs to another one, if it has to try a few times. */
const believedMs = 20_000
/** An engine that finds nobody says so at once; whatever took longer than this was somebody who hangs. */
const refusedWithinMs = 400

/**
 * Whether workers are there. One of several that hangs makes some beats late and breaks others off, which takes the
 * engine about as long as a beat is waited for; as long as some come back, it is not the workers that are away.
 */
export function watchPulse(beat: () => Promise<boolean>): () => Promise<boolean> {
  let beatenAt = Number.NEGATIVE_INFINITY
  const tryOnce = async () => {
    const begun = performance.now()
    return beat().catch(() => (performance.now() - begun > refusedWithinMs ? 'late' : false))
  }
  return async () => {
    const answer = (await tryOnce()) || (await tryOnce())
    if (answer === true) beatenAt = performance.now()
    return answer === 'late' ? performance.now() - beatenAt < believedMs : answer
  }
}
