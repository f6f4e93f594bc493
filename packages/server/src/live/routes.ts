import { liveRoutes, socketUrlLifetimeMs } from '@guildhall/contract'
import { bindRoutes } from '../operations/bind.ts'
import type { Live } from './live.ts'

export function liveHandlers(live: Live) {
  return bindRoutes(liveRoutes, {
    getSubscribeUrl: async ({ principal }) => ({
      url: live.socketUrl(principal),
      expiresInMs: socketUrlLifetimeMs,
    }),
  })
}
