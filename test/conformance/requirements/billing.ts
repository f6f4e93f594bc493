import type { Requirement } from './requirement.ts'

export const billing = [
  {
    id: 'billing:execution:costs-credits',
    area: 'billing',
    line: 15,
    rule: 'cost of a completed execution in GET /executions is a number of Ds and equals cost in its execution.result event.',
    kind: 'field',
  },
  {
    id: 'billing:mode:enum',
    area: 'billing',
    line: 16,
    rule: 'tier in approved polls and user.mode at sign-in are byokmode, paygmode or basedmode, one account of each giving its own value, and nothing else.',
    kind: 'field',
  },
  {
    id: 'billing:minimum:50-ds',
    area: 'billing',
    line: 563,
    rule: 'POST /skills/:slug/run with 49 Ds available is 402 with error "INSUFFICIENT_CREDITS"; with 50 Ds it starts.',
    kind: 'limit',
  },
  {
    id: 'billing:key-limit:refusal',
    area: 'billing',
    line: 563,
    rule: 'A start by a key that has reached its spend limit is 402 INSUFFICIENT_CREDITS with keyLimit { limit, spent, remaining } of the key; the 402 of an account without credits has no keyLimit.',
    kind: 'error',
    decided: true,
  },
] as const satisfies readonly Requirement[]
