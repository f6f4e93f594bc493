import type { IncomingHttpHeaders } from 'node:http'
import { type Route, routes } from '@guildhall/contract'
import { collect } from '#operations/answer.ts'
import type { Via } from '#operations/bind.ts'
import { errorBody, toApiError } from '#operations/errors.ts'
import { actInWorkspace, authenticate } from '#transports/http/authenticate.ts'
import type { Answer, Caller } from '../../../../test/support/caller.ts'
import type { House } from './house.ts'

const answerBytes = 16 * 1024 * 1024
/** Literal ones first, as a router has it. */
const paths = Object.entries<Route>(routes)
  .map(([name, route]) => ({
    name,
    route,
    pattern: new RegExp(`^${route.path.replace(/:(\w+)/g, '(?<$1>[^/]*)')}$`),
  }))
  .sort((a, b) => a.route.path.split(':').length - b.route.path.split(':').length)

/** Makes the calls of HTTP without HTTP: what a transport would have read is handed to `perform`. */
export function innerCaller({ perform, authenticators }: House, via: Via = 'http'): Pick<Caller, 'call'> {
  return {
    call: async (method, address, { body, headers = {}, key, token } = {}) => {
      const [path = '', search = ''] = address.split('?')
      const found = paths.find(({ route, pattern }) => route.method === method && pattern.test(path))
      if (!found) throw new Error(`no route for ${method} ${path}`)
      const { name, route, pattern } = found
      const sent: IncomingHttpHeaders = {
        ...headers,
        ...(key === undefined ? {} : { 'x-api-key': key }),
        ...(token === undefined ? {} : { 'x-auth-token': token }),
      }
      try {
        const principal =
          route.audience === 'public' || route.audience === 'operator'
            ? undefined
            : await actInWorkspace(
                authenticators,
                await authenticate(authenticators, sent, '127.0.0.1'),
                sent,
              )
        const repeatKey = headers['idempotency-key']
        const answer = await perform(name, {
          principal,
          client: { address: '127.0.0.1', userAgent: 'node', label: headers['x-client-label'], via },
          params: decoded(pattern.exec(path)?.groups ?? {}),
          query: Object.fromEntries(new URLSearchParams(search)),
          body,
          ...(repeatKey === undefined ? {} : { idempotencyKey: repeatKey }),
          signal: new AbortController().signal,
          requestId: 'inner',
        })
        const collected = await collect(answer, answerBytes)
        if (collected.kind === 'bytes') return toAnswer(200, collected.bytes.toString())
        return toAnswer(collected.status, JSON.stringify(collected.value) ?? '', collected.value)
      } catch (error) {
        const refusal = toApiError(error)
        const { code, message, details, beside, status } = refusal
        const isFlat = route.flatErrors?.includes(code)
        const told = isFlat ? { error: code, message, ...details, ...beside } : errorBody(refusal)
        return toAnswer(status, JSON.stringify(told), told)
      }
    },
  }
}

function decoded(params: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, text]) => [name, decodeURIComponent(text)]))
}

function toAnswer(status: number, text: string, body?: unknown): Answer {
  return { status, text, body, headers: new Headers() }
}
