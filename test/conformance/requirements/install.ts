import type { Requirement } from './requirement.ts'

export const install = [
  {
    id: 'install:source:git-r2',
    area: 'install',
    line: 388,
    rule: 'POST /install { source } with type git (url, ref?, path?) or r2 (key, checksum?) fetches on the server and is 201 with kind, slug, source, filesCount, contentChecksum and skill or workflow; the entry is then listed.',
    kind: 'field',
    decided: true,
    needs: 'remote',
  },
  {
    id: 'install:source:bad-type',
    area: 'install',
    line: 388,
    rule: 'POST /install without source, or with a source.type such as "ftp", is 400 INVALID_INPUT.',
    kind: 'error',
    decided: true,
  },
  {
    id: 'install:source:server-side-safe',
    area: 'install',
    line: 388,
    rule: 'POST /install with http://127.0.0.1, another private address, file: or ssh: is 400 INVALID_INPUT, says no more than that, and no request reaches a listening canary.',
    kind: 'security',
    decided: true,
  },
] as const satisfies readonly Requirement[]
