/** What a token is good for: all of the service, or its door for agents alone. */
export type Audience = 'service' | 'mcp'

const mcpPaths = ['/mcp', '/mcp/']

/** The addresses at which a client may find the service, each described by a document of its own (RFC 9728). */
export const resourcePaths = ['', ...mcpPaths]

/** Which part of the service an address names (RFC 8707); undefined when it is none of ours. */
export function audienceAt(publicUrl: string, resource: string): Audience | undefined {
  // The same address to whoever writes it as a URL.
  if (resource === publicUrl || resource === `${publicUrl}/`) return 'service'
  return mcpPaths.some((path) => resource === publicUrl + path) ? 'mcp' : undefined
}

/** Whether tokens for these are good at the door for agents and nowhere else. */
export function isForMcpAlone(publicUrl: string, resources: readonly string[]): boolean {
  return resources.length > 0 && resources.every((resource) => audienceAt(publicUrl, resource) === 'mcp')
}
