import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '#platform/deps.ts'
import { setStandardHeaders } from './headers.ts'
import { observeRequest } from './observe.ts'

type Encoding = 'br' | 'gzip'

/** A file that is held in memory, as it is sent. */
export interface PageFile {
  /** Of its content, without quotes. */
  readonly tag: string
  readonly headers: Readonly<Record<string, string>>
  readonly plain: Buffer
  /** Made when it is first asked for, and once; undefined for what does not get smaller. */
  encoded(encoding: Encoding): Promise<Buffer> | undefined
}

/** What there is at addresses that are no operation's. */
export interface Pages {
  find(path: string, headers: IncomingHttpHeaders): PageFile | { readonly redirect: string } | undefined
}

const observed = { name: 'app', path: '/*' }

/**
 * Pages are for everybody, are counted in no window and ask no other part, so that the app opens and says what is wrong
 * when something is. What is no page goes the way of every unknown address.
 */
export function registerPages(app: FastifyInstance, deps: Deps, pages: Pages): void {
  app.route({
    method: 'GET',
    url: '/*',
    onResponse: (request, reply, done) => {
      observeRequest(deps, observed, request, reply)
      done()
    },
    handler: async (request, reply) => {
      const [path = '/'] = request.url.split('?')
      const found = pages.find(path, request.headers)
      if (!found) return reply.callNotFound()
      setStandardHeaders(deps, request, reply)
      return 'redirect' in found
        ? reply.redirect(found.redirect + request.url, 308)
        : sendFile(request, reply, found)
    },
  })
}

async function sendFile({ headers }: FastifyRequest, reply: FastifyReply, file: PageFile) {
  const encoding = encodingFor(headers['accept-encoding'])
  const encoded = encoding && (await file.encoded(encoding))
  const etag = `"${file.tag}${encoded ? `-${encoding}` : ''}"`
  reply.headers({ ...file.headers, etag })
  if (headers['if-none-match']?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag))
    return reply.code(304).send()
  if (encoded) reply.header('content-encoding', encoding)
  return reply.send(encoded ?? file.plain)
}

function encodingFor(accepted: IncomingHttpHeaders['accept-encoding']): Encoding | undefined {
  const names = String(accepted ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => !/;\s*q=0(?:\.0*)?$/.test(part))
    .map((part) => part.split(';')[0])
  if (names.includes('br')) return 'br'
  return names.includes('gzip') ? 'gzip' : undefined
}
