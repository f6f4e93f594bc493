import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '#platform/deps.ts'

/** What every answer bears, whatever it is. */
export function setStandardHeaders(
  { config, stopping }: Pick<Deps, 'config' | 'stopping'>,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const headers = config.production ? productionHeaders : standardHeaders
  for (const [name, value] of headers) reply.header(name, value)
  reply.header('x-request-id', request.id)
  // Keep-alive connections move to another process while this one stops.
  if (stopping.aborted) reply.header('connection', 'close')
  const origin = request.headers.origin
  if (origin !== undefined && config.corsOrigins.includes(origin)) {
    reply.headers({ ...corsHeaders, 'access-control-allow-origin': origin })
  }
}

const standardHeaders = Object.entries({
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
})

const productionHeaders = [
  ...standardHeaders,
  ['strict-transport-security', 'max-age=31536000; includeSubDomains'] as const,
]

const corsHeaders = {
  vary: 'origin',
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-expose-headers':
    'x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-ignored-fields, retry-after, deprecation, sunset, mcp-session-id, www-authenticate',
}

export function isPreflight(request: FastifyRequest): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
}

export function answerPreflight(reply: FastifyReply) {
  return reply
    .code(204)
    .headers({
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers':
        'content-type, x-api-key, x-auth-token, authorization, x-workspace-id, x-client-label, x-agent-slug, idempotency-key, x-request-id, last-event-id, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id',
      'access-control-max-age': '600',
    })
    .send()
}
