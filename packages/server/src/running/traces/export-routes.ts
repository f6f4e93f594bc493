import { Readable } from 'node:stream'
import { traceExportRoutes } from '@guildhall/contract'
import { bindRoutes, type Call } from '#operations/bind.ts'
import { ApiError } from '#operations/errors.ts'
import type { Deps } from '#platform/deps.ts'
import { briefTrace, findSubject } from './briefing.ts'
import { describeTrace } from './describe.ts'
import { type ExportFormat, exportTrace } from './export.ts'
import { lookingOf } from './looking.ts'
import type { TraceReading } from './read.ts'
import { exportRules } from './redaction-rules.ts'
import { requireKind } from './rights.ts'
import * as store from './store.ts'
import { turnPages } from './turn-pages.ts'

type ExportParts = TraceReading & Pick<Deps, 'config'>

const contentTypes = {
  md: 'text/markdown; charset=utf-8',
  jsonl: 'application/jsonl; charset=utf-8',
  otlp: 'application/json; charset=utf-8',
} as const
const endings = { md: 'md', jsonl: 'jsonl', otlp: 'otlp.json' } as const

export function exportHandlers(parts: ExportParts) {
  return bindRoutes(traceExportRoutes, {
    exportTrace: async (call) => {
      const { principal, params, query } = call
      const { format = 'md', redact = 'on' } = query
      if (redact === 'off') requirePerson(call)
      const { workspaceId, userId } = principal
      const row = await store.findTraceWithCosts(parts.database.db, workspaceId, params.id)
      if (!row) throw new ApiError('NOT_FOUND')
      await requireKind(call, row.kind)
      const rules = redact === 'off' ? undefined : await exportRules(parts, row.id, [row.user_id, userId])
      const content = isWithContent(format, query.content)
      const pages = asLongAsAllowed(turnPages(parts, { workspaceId, id: row.id }), call)
      const text = exportTrace(describeTrace(row), pages, {
        format,
        rules,
        content,
        looking: lookingOf(call),
      })
      return {
        stream: Readable.from(await begun(text), { objectMode: false }),
        contentType: contentTypes[format],
        fileName: `${row.id}.${endings[format]}`,
      }
    },

    getTraceBrief: async (call) => {
      const subject = await findSubject(parts, call.principal.workspaceId, call.params.id)
      if (!subject) throw new ApiError('NOT_FOUND')
      await requireKind(call, subject.kind)
      const { markdown, throughSeq } = await briefTrace(parts, subject, lookingOf(call))
      return { markdown, throughSeq }
    },
  })
}

/** With its first piece made: who finds no place is told so, and not sent a file that breaks off. */
async function begun(text: AsyncGenerator<string>): Promise<AsyncIterable<string>> {
  const { value } = await text.next()
  async function* whole() {
    yield value ?? ''
    yield* text
  }
  return whole()
}

/** A long file takes minutes if its reader does: who may not have it any more gets no more of it. */
async function* asLongAsAllowed<Page>(pages: AsyncIterable<Page>, { confirm }: Pick<Call, 'confirm'>) {
  for await (const page of pages) {
    const confirmed = confirm()
    if (confirmed) await confirmed
    yield page
  }
}

/** Spans are for programs that need no words; files that people read are for the words. */
function isWithContent(format: ExportFormat, asked: 'on' | 'off' | undefined): boolean {
  return asked === undefined ? format !== 'otlp' : asked === 'on'
}

/** Before anything is looked up, and also when an agent acts through a person's session. */
function requirePerson({ principal, client }: Pick<Call, 'client'> & { principal: { kind: string } }): void {
  if (principal.kind === 'session' && client.via === 'http') return
  throw new ApiError('FORBIDDEN', {
    message: 'redact=off is for a person who is signed in; leave it out to get the redacted file',
  })
}
