import type { IncomingHttpHeaders } from 'node:http'
import { checkDestination, type Outbound, OutboundError, requestBounded } from '#platform/outbound.ts'
import { outputOf, type Tool, ToolFailure } from './tool.ts'

const timeoutMs = 30_000
/** Leaves room for escapes: what a step puts out has at most a mebibyte as JSON. */
const maxAnswerBytes = 500_000

/** Ours to set, about the connection and not the request, or credentials: definitions are no place for secrets. */
const refusedHeaders =
  /^(host|cookie|authorization|proxy-.*|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-length|accept-encoding|forwarded|x-forwarded-.*|idempotency-key)$/i
const shownHeaders = ['content-type', 'etag', 'last-modified', 'location', 'retry-after', 'link'] as const

interface Input {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/**
 * Calls an address of a listed host. Any status is an answer, redirects too: following one would lead to where nobody
 * allowed it.
 */
export function httpRequest(allow: readonly string[], outbound: Outbound): Tool {
  return {
    id: 'http-request',
    description: 'Sends an HTTP request to a host that the deployment allows.',
    gives: '{status, headers, body}',
    reach: 'outside',
    isKeyed: false,
    inputSchema: {
      type: 'object',
      properties: {
        url: { type: 'string', minLength: 1, maxLength: 2048 },
        method: { enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] },
        headers: {
          type: 'object',
          additionalProperties: { type: 'string', maxLength: 4096 },
          maxProperties: 30,
        },
        body: {},
      },
      required: ['url'],
      additionalProperties: false,
    },
    quick: false,
    run: async (input, { signal, idempotencyKey }) => {
      const { url, method = 'GET', headers = {}, body } = input as Input
      if (!isAllowed(url, allow)) {
        throw refused(
          'The host is not among those that may be called; the operator lists them in HTTP_TOOL_ALLOW',
        )
      }
      const sent = { ...sendableHeaders(headers, body), 'idempotency-key': idempotencyKey }
      const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
      const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      try {
        const destination = await checkDestination(outbound, url, limited)
        const answer = await requestBounded(outbound, destination, {
          method,
          headers: sent,
          ...(text !== undefined && { body: text }),
          signal: limited,
          maxBytes: maxAnswerBytes,
        })
        return outputOf({
          status: answer.status,
          headers: pickHeaders(answer.headers),
          body: readBody(answer.body, answer.headers['content-type']),
        })
      } catch (error) {
        signal.throwIfAborted()
        throw explain(error)
      }
    },
  }
}

function isAllowed(url: string, allow: readonly string[]): boolean {
  return URL.canParse(url) && allow.includes(new URL(url).hostname.replace(/^\[|\]$/g, ''))
}

function sendableHeaders(headers: Readonly<Record<string, string>>, body: unknown): Record<string, string> {
  const sent: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (refusedHeaders.test(name)) throw refused(`The header ${name.slice(0, 60)} cannot be set`)
    if (!/^[\w-]{1,100}$/.test(name) || !/^[\t -~]*$/.test(value)) throw refused('A header is malformed')
    sent[name.toLowerCase()] = value
  }
  const typed = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
  return body === undefined ? sent : { 'content-type': typed, ...sent }
}

function refused(message: string): ToolFailure {
  return new ToolFailure('STEP_INPUT_INVALID', `${message}.`)
}

function pickHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    shownHeaders.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  )
}

function readBody(bytes: Buffer, contentType = ''): unknown {
  const text = bytes.toString()
  if (!/\bjson\b/i.test(contentType)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function explain(error: unknown): Error {
  if (!(error instanceof OutboundError)) return error as Error
  if (error.kind === 'refused') return refused('The address is refused')
  if (error.kind === 'too-large') return new Error(`The answer has more than ${maxAnswerBytes} bytes.`)
  return new Error('The host did not answer in time, or not at all.')
}
