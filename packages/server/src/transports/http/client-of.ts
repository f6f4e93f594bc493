import { isSlug } from '@guildhall/contract'
import type { FastifyRequest } from 'fastify'
import type { Client } from '#operations/bind.ts'
import { networkOf } from '#platform/network.ts'

/** What a request says of whoever sent it. */
export function clientOf({ headers, ip }: FastifyRequest): Client {
  return {
    address: ip,
    userAgent: headers['user-agent'] ?? '',
    label: headerText(headers['x-client-label']),
    agentSlug: slugIn(headerText(headers['x-agent-slug'])),
    via: 'http',
  }
}

/** What it is counted under; undefined where nobody has to say who they are. */
export function credentialOf({ principal, bearer }: FastifyRequest): string | undefined {
  return principal?.credential ?? (bearer && `${bearer.kind}:${bearer.credentialId}`)
}

/** Whose credential that is. */
export function personOf({ principal, bearer }: FastifyRequest): string | undefined {
  return principal?.userId ?? bearer?.userId
}

/** Who it counts for in what is shared out: the credential, or the network of whoever shows none. */
export function callerOf(request: FastifyRequest): string {
  return credentialOf(request) ?? `network:${networkOf(request.ip)}`
}

/** What is no slug is taken as none: nobody is refused because of how their client names itself. */
function slugIn(text: string | undefined): string | undefined {
  return text !== undefined && isSlug(text) ? text : undefined
}

export function headerText(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined
}
