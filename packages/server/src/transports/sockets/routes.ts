import { liveRoutes, socketUrlLifetimeMs } from '@guildhall/contract'
import { bindRoutes } from '#operations/bind.ts'
import type { Feature } from '#operations/feature.ts'
import type { Deps } from '#platform/deps.ts'
import { socketUrl } from './sockets.ts'
import { deleteUsedAddresses } from './store.ts'

export function socketFeature({ database }: Deps): Feature {
  const routes = bindRoutes(liveRoutes, {
    getSubscribeUrl: async ({ principal, deps }) => ({
      url: socketUrl(deps.config, principal),
      expiresInMs: socketUrlLifetimeMs,
    }),
  })
  return {
    routes,
    sweeps: [{ table: 'used_addresses', run: () => deleteUsedAddresses(database.db) }],
  }
}
