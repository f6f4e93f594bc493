import type { Requirement } from './requirement.ts'

export const versioning = [
  {
    id: 'versioning:path:api-v1',
    area: 'versioning',
    line: 590,
    rule: 'REST routes exist under /api/v1 only: GET /workspaces without that prefix is 404.',
    kind: 'format',
  },
  {
    id: 'versioning:path:oauth',
    area: 'versioning',
    line: 590,
    rule: 'GET /oauth/authorize exists, while the same path below /api/v1 is 404.',
    kind: 'format',
  },
  {
    id: 'versioning:path:mcp',
    area: 'versioning',
    line: 590,
    rule: 'An MCP initialize sent to /mcp/ is served, one sent to /api/v1/mcp/ is 404.',
    kind: 'format',
  },
  {
    id: 'versioning:workflows:format-string',
    area: 'versioning',
    line: 591,
    rule: 'format in GET /workflows/definitions is guildhall-workflow-v1.',
    kind: 'format',
    decided: true,
  },
  {
    id: 'versioning:meta:answer',
    area: 'versioning',
    line: 594,
    rule: 'GET /meta needs no credential and names version, format (guildhall-workflow-v1), features and deprecations of the service.',
    kind: 'field',
    decided: true,
  },
] as const satisfies readonly Requirement[]
