import { limits } from '../limits.ts'
import type { Routes } from '../route.ts'
import { Components } from './components.ts'
import { printOperation, securityOf } from './operation.ts'
import { protocolPaths } from './protocols.ts'

const description = `Skills, workflows and scoped access for agents, approved by the people they work for.

Every answer has \`x-request-id\`, to be quoted in questions, and \`x-ratelimit-limit\`, \`-remaining\` and \`-reset\`
of the first window of the operation: \`rest\` where \`x-limits\` names no other. \`x-ignored-fields\` names fields of
the body that nobody reads. A key that lacks a scope gets 403 with \`details.missing_scopes\`; it asks for it with
\`POST /api/v1/agents/request-permission\`. The schema of a \`text/event-stream\` is that of the data of each event,
\`x-socket\` that of each message of the socket.`

/** The contract as an OpenAPI 3.1 document. */
export function openApiDocument(routes: Routes, version: string): Record<string, unknown> {
  const first = new Components()
  printPaths(first, routes)
  const components = new Components(first.seen)
  const paths = printPaths(components, routes)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Guildhall',
      version,
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    'x-limits': limits,
    'x-audience': 'credential',
    security: securityOf('credential'),
    paths,
    components: {
      ...components.all(),
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description:
            'An agent. It acts in the workspace it is bound to, and needs the scopes that are listed',
        },
        authToken: {
          type: 'apiKey',
          in: 'header',
          name: 'x-auth-token',
          description: 'A person. The header x-workspace-id names the workspace of one request',
        },
        oauth: {
          type: 'http',
          scheme: 'bearer',
          description: 'An app that a person has let act for them: `read` for GET, `write` for all else',
        },
        operatorToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'Who runs the service: OPERATOR_TOKEN or METRICS_TOKEN of its configuration',
        },
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
