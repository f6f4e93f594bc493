import type { Approval } from '@guildhall/sdk'
import { useState } from 'react'

/**
 * The list as it was when a finger went down on it: what is new waits, so that no card moves under the finger. What is
 * gone goes at once, because it cannot be decided any more.
 */
export function useHeldList(items: readonly Approval[]) {
  const [ids, setIds] = useState<ReadonlySet<string>>()
  const held = ids ? items.filter(({ id }) => ids.has(id)) : items
  const hold = () => setIds((before) => before ?? new Set(items.map(({ id }) => id)))
  const release = () => setIds(undefined)
  return {
    held,
    fresh: items.length - held.length,
    release,
    handlers: {
      onPointerDown: hold,
      onPointerUp: release,
      onPointerCancel: release,
      onPointerLeave: release,
      onFocus: hold,
      onBlur: release,
    },
  }
}
