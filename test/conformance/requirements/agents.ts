import type { Requirement } from './requirement.ts'

export const agents = [
  {
    id: 'agents:me:shape',
    area: 'agents',
    line: 25,
    rule: 'GET /agents/me with a key is 200 { key, workspace, mode, activated, scopes: [{ scope, mode, expires_at }], budget, rate, running, mcp }; running names the executions that work and the runs that wait for a place or advance, of this key and no other, and is empty again when they have ended.',
    kind: 'field',
    decided: true,
  },
  {
    id: 'agents:me:grants',
    area: 'agents',
    line: 66,
    rule: "The scopes of agents/me are the key's own as persistent without an end, and live session and one_time grants with their ends; a spent or removed one is gone.",
    kind: 'state',
    decided: true,
  },
  {
    id: 'agents:me:key-only',
    area: 'agents',
    line: 25,
    rule: 'GET /agents/me is 403 FORBIDDEN for a session and for an unactivated key, 401 without a credential.',
    kind: 'security',
    decided: true,
  },
  {
    id: 'agents:me:mcp-basedmode',
    area: 'agents',
    line: 20,
    rule: "mcp in agents/me is true in basedmode alone, and mode is the owner's.",
    kind: 'field',
    decided: true,
  },
] as const satisfies readonly Requirement[]
