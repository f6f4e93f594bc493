const modernVersion = '2026-07-28'
const tasksExtension = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** A message of a modern client with tasks, by hand: what no client of the SDKs has yet. */
export function modernMessage(
  method: string,
  params: Record<string, unknown>,
  capabilities: object = tasksExtension,
): { headers: Record<string, string>; body: object } {
  const name = params['name'] ?? params['uri'] ?? params['taskId']
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': modernVersion,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  }
  return {
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': modernVersion,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
  }
}
