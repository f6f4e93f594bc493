import type { Routes } from '../route.ts'
import { Components } from './components.ts'
import { credentials, printOperation } from './operation.ts'
import { protocolPaths } from './protocols.ts'

/** The contract as an OpenAPI 3.1 document. */
export function openApiDocument(routes: Routes, version: string): Record<string, unknown> {
  const first = new Components()
  printPaths(first, routes)
  const components = new Components(first.seen)
  const paths = printPaths(components, routes)
  return {
    openapi: '3.1.0',
    info: { title: 'Guildhall', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    security: credentials.credential,
    paths,
    components: {
      ...components.all(),
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        authToken: { type: 'apiKey', in: 'header', name: 'x-auth-token' },
        oauth: { type: 'http', scheme: 'bearer' },
      },
    },
  }
}

function printPaths(components: Components, routes: Routes) {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [operationId, route] of Object.entries(routes)) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    const operation = printOperation(components, operationId, route)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation }
  }
  return { ...paths, ...protocolPaths(components) }
}
