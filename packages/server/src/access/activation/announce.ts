import type { Actor } from '#operations/actor.ts'
import type { Bus } from '#platform/bus.ts'
import { approvalIdOf } from './lifecycle.ts'

/** To the person's own sessions and nobody else: until it is paired, a device belongs to no workspace. */
export function announcePairing(
  bus: Bus,
  { userId, workspaceId }: Actor,
  activationId: number,
  /** Left out for what was just looked up. */
  status?: 'granted' | 'denied',
): void {
  const about = { workspaceId, approvalId: approvalIdOf(activationId), kind: 'activation' }
  bus.publishTo(
    userId,
    status ? { type: 'approval-resolved', ...about, status } : { type: 'approval-requested', ...about },
  )
}
