import { liveRoutes, socketUrlLifetimeMs } from '@guildhall/contract'
import { bindRoutes } from '../operations/bind.ts'
import { socketUrl } from './sockets.ts'

export function socketHandlers() {
  return bindRoutes(liveRoutes, {
    getSubscribeUrl: async ({ principal, deps }) => ({
      url: socketUrl(deps.config, principal),
      expiresInMs: socketUrlLifetimeMs,
    }),
  })
}
