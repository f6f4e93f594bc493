import type { IncomingMessage } from 'node:http'

/**
 * Only a WebSocket for the door is an upgrade; any other offer to upgrade is declined by serving the request.
 */
export function isSocketUpgrade(request: IncomingMessage, path: string): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket' && splitUrl(request).path === path
}

export function splitUrl(request: IncomingMessage): { path: string; query: string } {
  const [path = '', query = ''] = (request.url ?? '').split('?', 2)
  return { path, query }
}

export function wantsBeats(request: IncomingMessage): boolean {
  return new URLSearchParams(splitUrl(request).query).get('beats') === '1'
}
