import { metaRoutes, routes, workflowFormat } from '@guildhall/contract'
import { openApiDocument } from '@guildhall/contract/openapi'
import { bindRoutes } from '#operations/bind.ts'
import type { Feature } from '#operations/feature.ts'
import type { PushSettings } from '#platform/push-settings.ts'
import { createReadiness } from './status.ts'

const version = '0.1.0'
/** Raised when an older one would do something wrong here, not when a newer one can do more. */
const oldestCli = '0.1.0'
const document = openApiDocument(routes, version)
const tags = [...new Set(Object.values(routes).map((route) => route.tag))]

export function statusFeature(): Feature {
  const readiness = createReadiness()
  const routes = bindRoutes(metaRoutes, {
    getMeta: async ({ deps }) => ({
      name: 'guildhall',
      version,
      apiVersion: 'v1',
      format: workflowFormat,
      features: tags.filter((tag) => tag !== 'operations'),
      deprecations: [],
      appUrl: deps.config.appUrl,
      clients: { cli: { minimum: oldestCli } },
      push: applicationServerKey(deps.config.push),
    }),

    getHealth: async () => ({ status: 'ok' as const }),

    getReadiness: async ({ deps }) => {
      if (deps.stopping.aborted)
        return { status: 503 as const, body: { status: 'stopping' as const, down: [] } }
      const down: string[] = await readiness(deps)
      if (down.includes('postgres')) {
        return { status: 503 as const, body: { status: 'unavailable' as const, down } }
      }
      const status = down.length > 0 ? ('degraded' as const) : ('ok' as const)
      return { status: 200 as const, body: { status, down } }
    },

    getMetrics: async ({ deps }) => deps.metrics.registry.metrics(),

    getOpenApi: async () => document,
  })
  return { routes }
}

function applicationServerKey(push: PushSettings | undefined) {
  const key = push?.applicationServerKeys.get(push.keys.current)
  return key === undefined ? null : { applicationServerKey: key }
}
