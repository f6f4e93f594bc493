import type { Requirement } from './requirement.ts'

export const queue = [
  {
    id: 'queue:job:fields',
    area: 'queue',
    line: 204,
    rule: 'A job in GET /workflows/queue has strings runId, workflowSlug and status (running for a run that sleeps) and enqueuedAt in ISO 8601.',
    kind: 'field',
  },
  {
    id: 'queue:list:answer',
    area: 'queue',
    line: 378,
    rule: 'GET /workflows/queue answers the array queued and the number total, which is how many jobs there are.',
    kind: 'field',
  },
  {
    id: 'queue:list:queued-and-running',
    area: 'queue',
    line: 378,
    rule: 'Runs that wait and runs under way are both in GET /workflows/queue from launch until they finish, and gone after that.',
    kind: 'state',
  },
  {
    id: 'queue:list:workspace-scoped',
    area: 'queue',
    line: 378,
    rule: 'A run launched in W1 is not in GET /workflows/queue of W2.',
    kind: 'security',
  },
  {
    id: 'queue:list:includes-agent-runs',
    area: 'queue',
    line: 378,
    rule: 'A durable agent run started by send-message or chat is in GET /workflows/queue under its runId.',
    kind: 'state',
  },
  {
    id: 'queue:delete:success',
    area: 'queue',
    line: 379,
    rule: 'DELETE /workflows/queue/:runId is 200 { success: true }: the job leaves the queue and the run, queued or running, turns canceled.',
    kind: 'field',
  },
  {
    id: 'queue:delete:unknown-404',
    area: 'queue',
    line: 533,
    rule: 'DELETE /workflows/queue/:runId is 404 NOT_FOUND with the same body for a random runId, for one of another workspace, and for a run that is no job of the queue: suspended, finished or canceled; such a run stays as it is.',
    kind: 'error',
  },
] as const satisfies readonly Requirement[]
