/** Later than this, it was the process that stood still and not the engine. */
const stoodStillAfter = 1.5

/**
 * A fetch that gives up after so long, whatever it is used for: no call to the engine can be made without an end. One
 * that was given up because this process stood still is made once more; every call to the engine may be repeated.
 */
export function fetchWithin(withinMs: number): typeof fetch {
  return async (input, init) => {
    const begun = performance.now()
    const ask = () => fetch(input, { ...init, signal: AbortSignal.timeout(withinMs) })
    try {
      return await ask()
    } catch (error) {
      if (performance.now() - begun < withinMs * stoodStillAfter) throw error
      return ask()
    }
  }
}
