import { useCallback, useEffect, useRef } from 'react'

/** So long must what is decided have been in sight. */
const guardMs = 500

/**
 * Whether a yes counts now: what it is about has stood still on a page that is seen and used. Armed anew by every
 * change of the content, and when the page comes back into view under a finger that was meant for something else.
 */
export function useGuard(content: string): () => boolean {
  const opensAt = useRef(Number.POSITIVE_INFINITY)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the content arms it anew
  useEffect(() => {
    const arm = () => {
      opensAt.current = performance.now() + guardMs
    }
    arm()
    window.addEventListener('focus', arm)
    document.addEventListener('visibilitychange', arm)
    return () => {
      window.removeEventListener('focus', arm)
      document.removeEventListener('visibilitychange', arm)
    }
  }, [content])
  return useCallback(() => {
    if (!GUARDED) return true
    const isSeen = document.visibilityState === 'visible' && document.hasFocus()
    return isSeen && performance.now() >= opensAt.current
  }, [])
}
