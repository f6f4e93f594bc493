import type { Requirement } from './requirement.ts'

export const versions = [
  {
    id: 'versions:record:fields',
    area: 'versions',
    line: 120,
    rule: "A version has numbers id, skillId and versionNumber (from 1), workspaceId (the caller's), strings name, description, prompt, bundleType, storagePath, contentChecksum and createdBy, note (string or null), createdAt (ISO 8601) and boolean active.",
    kind: 'field',
  },
  {
    id: 'versions:active:exactly-one',
    area: 'versions',
    line: 133,
    rule: 'After any installs and restores one version of the skill has active: true, and its prompt is the prompt in GET /skills.',
    kind: 'state',
  },
  {
    id: 'versions:list:bare-array-newest-first',
    area: 'versions',
    line: 342,
    rule: 'After three installs GET /skills/:slug/versions is a top-level array whose versionNumber strictly falls.',
    kind: 'format',
  },
  {
    id: 'versions:list:not-installed-404',
    area: 'versions',
    line: 342,
    rule: 'GET /skills/:slug/versions for a slug not in the library is 404 NOT_FOUND.',
    kind: 'error',
  },
  {
    id: 'versions:restore:positive-integer',
    area: 'versions',
    line: 343,
    rule: 'POST /skills/:slug/versions/:versionNumber/restore with 0, -1, 1.5 or abc in the path is 400 INVALID_INPUT.',
    kind: 'error',
  },
  {
    id: 'versions:restore:answer',
    area: 'versions',
    line: 343,
    rule: 'Restoring version 1 answers success: true, restoredFrom: 1 and skill with the slug and the contentChecksum that version 1 has.',
    kind: 'field',
  },
  {
    id: 'versions:restore:creates-new-version',
    area: 'versions',
    line: 343,
    rule: 'A restore makes one more version, now the highest and active, with the contentChecksum and prompt of the version restored.',
    kind: 'state',
  },
  {
    id: 'versions:restore:history-kept',
    area: 'versions',
    line: 343,
    rule: 'After a restore every versionNumber that was listed before it is listed still, also those above the one restored.',
    kind: 'state',
  },
  {
    id: 'versions:restore:unknown-version-404',
    area: 'versions',
    line: 533,
    rule: 'Restoring number 9999 of an installed skill is 404 NOT_FOUND and makes no version.',
    kind: 'error',
  },
  {
    id: 'versions:number:increasing',
    area: 'versions',
    line: 592,
    rule: 'Three installs of one slug make the versionNumbers 1, 2 and 3; a restore makes the next one.',
    kind: 'state',
  },
] as const satisfies readonly Requirement[]
