import type { Requirement } from './requirement.ts'

export const mcp = [
  {
    id: 'mcp:transport:same-api-key',
    area: 'mcp',
    line: 17,
    rule: 'The x-api-key of a basedmode owner that works on REST also opens /mcp/: initialize is accepted with it, and 401 without a key.',
    kind: 'security',
  },
  {
    id: 'mcp:transport:streamable-http',
    area: 'mcp',
    line: 420,
    rule: 'An unmodified MCP client over Streamable HTTP, given /mcp/ and an x-api-key header, completes initialize and tools/list.',
    kind: 'format',
  },
  {
    id: 'mcp:tools:list',
    area: 'mcp',
    line: 420,
    rule: 'tools/list names 15 tools or fewer, and two calls return them in the same order.',
    kind: 'field',
    decided: true,
  },
  {
    id: 'mcp:access:basedmode-only',
    area: 'mcp',
    line: 558,
    rule: "On /mcp/ keys of byokmode and paygmode owners are 403 FORBIDDEN with details.tier; a basedmode owner's key is served.",
    kind: 'security',
  },
] as const satisfies readonly Requirement[]
