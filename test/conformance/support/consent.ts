import { inject } from 'vitest'
import { must, type Person } from './actors.ts'
import type { Answer, Caller } from './client.ts'

export type GrantMode = 'persistent' | 'session' | 'one_time'

export interface PendingConsent {
  status: string
  consent_id: string
  link_code: string
  poll_url: string
  poll_interval_seconds: number
}

export interface PendingRequest {
  status: string
  request_id: string
  poll_url: string
  poll_interval_seconds: number
}

export interface Poll {
  status: string
  scopes?: string[]
  mode?: GrantMode
  expires_at?: string | null
  consumed?: true
  deny_reason?: string
}

export interface RequestedScope {
  scope: string
  group: string
  description: string
  sensitive: boolean
  default_mode: GrantMode
  held: boolean
}

export interface ConsentRecord {
  consent_id: string
  link_code: string
  status: string
  requested_scopes: RequestedScope[]
  key: object
  workspace: { id: string; name: string | null }
  created_at: string
  expires_at: string
}

export function connect(key: Caller, requestedScopes?: unknown): Promise<Answer<PendingConsent>> {
  return key.post<PendingConsent>(
    '/agents/connect',
    requestedScopes === undefined ? undefined : { requestedScopes },
  )
}

export async function mustConnect(key: Caller, requestedScopes?: string[]): Promise<PendingConsent> {
  return must(await connect(key, requestedScopes), 202)
}

/** The address is taken as it was handed out, whether whole or from the root of the service. */
export function pollAt(key: Caller, pollUrl: string, query = ''): Promise<Answer<Poll>> {
  const { pathname, search } = new URL(pollUrl, inject('baseUrl'))
  return key.get<Poll>(`root:${pathname}${search}${query}`)
}

export function byCode(person: Caller, code: string): Promise<Answer<ConsentRecord>> {
  return person.post<ConsentRecord>('/agents/connect/by-code', { code })
}

export function approveConsent(person: Caller, consentId: string, scopes: string[], more: object = {}) {
  return person.post<{ success: boolean; scopes: string[] }>(`/agents/connect/${consentId}/approve`, {
    scopes,
    ...more,
  })
}

export function denyConsent(person: Caller, consentId: string, reason?: string) {
  return person.post<object>(
    `/agents/connect/${consentId}/deny`,
    reason === undefined ? undefined : { reason },
  )
}

/** From the question to the answer, for scopes that need no passkey. */
export async function connectAndApprove(
  person: Person,
  key: Caller,
  scopes: string[],
  more: object = {},
): Promise<PendingConsent> {
  const consent = await mustConnect(key, scopes)
  must(await approveConsent(person, consent.consent_id, scopes, more), 200)
  return consent
}

export function request(key: Caller, scope: string, fields: object = {}): Promise<Answer<PendingRequest>> {
  return key.post<PendingRequest>('/agents/request-permission', { scope, reason: 'For the test', ...fields })
}

export async function mustRequest(key: Caller, scope: string, fields: object = {}): Promise<PendingRequest> {
  return must(await request(key, scope, fields), 202)
}

export function approveRequest(person: Caller, requestId: string, body?: object) {
  return person.post<{ success: boolean; mode: GrantMode; expires_at: string | null }>(
    `/agents/request-permission/${requestId}/approve`,
    body,
  )
}

export function denyRequest(person: Caller, requestId: string, reason?: string) {
  return person.post<object>(
    `/agents/request-permission/${requestId}/deny`,
    reason === undefined ? undefined : { reason },
  )
}

/** From the question to the answer, for a scope that needs no passkey. */
export async function requestAndApprove(
  person: Person,
  key: Caller,
  scope: string,
  fields: { mode?: GrantMode; action?: object } = {},
): Promise<PendingRequest> {
  const asked = await mustRequest(key, scope, fields)
  must(await approveRequest(person, asked.request_id), 200)
  return asked
}

export function removeScope(person: Caller, keyId: number, scope: string) {
  return person.delete<{ success: boolean; key_id: number; scopes: string[] }>(
    `/agents/${keyId}/scopes/${encodeURIComponent(scope)}`,
  )
}

/** The route that tests guard with a scope: it needs profile:read and nothing else. */
export function callGuarded(key: Caller) {
  return key.get<object>('/profile')
}
