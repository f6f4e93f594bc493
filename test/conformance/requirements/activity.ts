import type { Requirement } from './requirement.ts'

export const activity = [
  {
    id: 'activity:list:shape',
    area: 'activity',
    line: 25,
    rule: 'GET /activity is { items, nextCursor }, newest first, each item { id, type, at, actor: { kind, userId, apiKeyId }, workspace, details }.',
    kind: 'field',
    decided: true,
  },
  {
    id: 'activity:list:decisions',
    area: 'activity',
    line: 264,
    rule: 'Making a key, an approval, a denial, the removal of a scope and a passkey each leave one line in the log, with who did it.',
    kind: 'state',
    decided: true,
  },
  {
    id: 'activity:list:filters',
    area: 'activity',
    line: 25,
    rule: 'type, actor, apiKey, since and until filter the log; limit and cursor page it; a time that is none, or a made-up cursor, is 400 INVALID_INPUT.',
    kind: 'field',
    decided: true,
  },
  {
    id: 'activity:list:own-workspace',
    area: 'activity',
    line: 25,
    rule: 'The log is that of the workspace the credential acts in: nothing of another workspace or person is in it.',
    kind: 'security',
    decided: true,
  },
  {
    id: 'activity:log:append-only',
    area: 'activity',
    line: 25,
    rule: 'No method but GET exists below /activity, and what was in the log stays in it, unchanged, when the key it is about is revoked.',
    kind: 'security',
    decided: true,
  },
  {
    id: 'activity:log:no-secrets',
    area: 'activity',
    line: 31,
    rule: 'No line of the log holds a key, a session token or a code.',
    kind: 'security',
    decided: true,
  },
] as const satisfies readonly Requirement[]
