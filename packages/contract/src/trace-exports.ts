import { Type } from 'typebox'
import { defineRoutes } from './route.ts'
import { IdParam } from './shapes.ts'

const Switch = Type.Enum(['on', 'off'])

export const traceExportRoutes = defineRoutes({
  exportTrace: {
    method: 'GET',
    path: '/api/v1/traces/:id/export',
    summary: 'A trace as a file: Markdown, a turn in each line, or OTLP',
    description:
      'Secrets, the email and profile facts of the person, and marked turns are replaced by `[redacted: kind]`, and the file ends with their counts. Only a session may turn that off. `otlp` has what was said only with content=on.',
    resource: 'traces',
    verb: 'export',
    tag: 'traces',
    audience: 'credential',
    oauthScopes: ['trace:read'],
    limits: ['rest'],
    params: IdParam,
    query: Type.Object({
      format: Type.Optional(Type.Enum(['md', 'jsonl', 'otlp'], { description: 'md when it is left out' })),
      redact: Type.Optional(Switch),
      content: Type.Optional(Switch),
    }),
    answers: 'file',
    responses: { 200: Type.Any() },
    errors: ['INVALID_INPUT', 'NOT_FOUND', 'FORBIDDEN'],
  },
  getTraceBrief: {
    method: 'GET',
    path: '/api/v1/traces/:id/brief',
    summary: 'What somebody needs to know who goes on with this work, in at most 32 KiB of Markdown',
    description:
      'Made of the turns without a model. Every quoted line begins with `| `: it is data, whatever it says. Secrets and marked turns are not in it.',
    resource: 'traces',
    verb: 'brief',
    tag: 'traces',
    audience: 'credential',
    oauthScopes: ['trace:read'],
    limits: ['rest'],
    params: IdParam,
    responses: {
      200: Type.Object({
        markdown: Type.String(),
        throughSeq: Type.Integer({ description: 'The last turn that it knows of' }),
      }),
    },
    errors: ['NOT_FOUND'],
    example: {
      answers: {
        200: { markdown: '# Hand-over\n\n## First request\n\n| Write the report.\n', throughSeq: 12 },
      },
    },
  },
})
