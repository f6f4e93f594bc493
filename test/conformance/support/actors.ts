import { randomUUID } from 'node:crypto'
import { type Answer, type Caller, newCaller, type SendOptions } from './client.ts'
import { letWindowsPass } from './rate-windows.ts'

export type Mode = 'byokmode' | 'paygmode' | 'basedmode'
export const modes: readonly Mode[] = ['byokmode', 'paygmode', 'basedmode']

export interface Workspace {
  id: string
  name: string | null
  kind: 'personal' | 'team'
  role: string
  createdAt: string
  current: boolean
}

export interface SignedIn {
  auth_token: string
  expires_at: string
  user: { id: string; email: string | null; name: string | null; mode: Mode }
  workspaces: Workspace[]
  current_workspace_id: string
}

export interface Person extends Caller {
  email: string
  token: string
  userId: string
  /** The personal workspace. */
  workspaceId: string
  signedIn: SignedIn
}

export interface KeyRecord {
  id: number
  label: string
  prefix: string
  workspace: { id: string; name: string | null }
  scopes: string[]
  activated: boolean
  activity: string
  lastUsedAt: string | null
  expiresAt: string | null
  spend: { total: number; limit: number | null }
}

export interface NewKeyRecord extends KeyRecord {
  api_key: string
}

export interface Key extends Caller {
  secret: string
  id: number
  record: NewKeyRecord
}

export interface Pairing {
  client: Caller
  deviceCode: string
  userCode: string
  answer: Answer<ActivationAnswer>
}

export interface ActivationAnswer {
  device_code: string
  user_code: string
  verification_url: string
  verification_url_complete: string
  app_download_url: string
  expires_in: number
  interval: number
}

export interface PollAnswer {
  status: string
  api_key?: string
  tier?: Mode
  workspace?: { id: string; name: string | null }
}

export interface LookupAnswer {
  user_code: string
  client_label: string
  client_ua: string
  client_ip: string
  status: string
  expires_at: string
  same_network: boolean
}

const pollEveryMs = 1010
const polledAt = new WeakMap<Pairing, number>()

/** Somebody without a credential, at an address of their own. */
export function newVisitor(address?: string): Caller {
  return newCaller(address ? { address } : {})
}

/** Signed in for the first time; in basedmode unless told otherwise, where no key limit is in the way. */
export function newPerson(options: { mode?: Mode; address?: string } = {}): Promise<Person> {
  return signIn(newEmail(), options)
}

export function newEmail(): string {
  return `person-${randomUUID()}@conformance.test`
}

export async function signIn(
  email: string,
  { mode = 'basedmode', address }: { mode?: Mode; address?: string } = {},
): Promise<Person> {
  const answer = await newVisitor().post<SignedIn>('/auth/dev', { email, mode })
  const signedIn = must(answer, 200)
  const token = signedIn.auth_token
  const caller = newCaller({ headers: { 'x-auth-token': token }, ...(address ? { address } : {}) })
  const personal = signedIn.workspaces.find((workspace) => workspace.kind === 'personal')
  if (!personal) throw new Error(`No personal workspace: ${answer.text}`)
  return { ...caller, email, token, userId: signedIn.user.id, workspaceId: personal.id, signedIn }
}

export async function newWorkspace(person: Person, name = 'Team'): Promise<Workspace> {
  return must(await person.post<Workspace>('/workspaces', { name }), 201)
}

/** Invites somebody into a team, who accepts. */
export async function addMember(owner: Person, workspaceId: string, member: Person): Promise<void> {
  const body = { email: member.email }
  const invited = await owner.post<{ id: string }>(
    '/workspaces/current/members',
    body,
    inWorkspace(workspaceId),
  )
  must(await member.post(`/invitations/${must(invited, 202).id}/accept`), 200)
}

export function inWorkspace(workspaceId: string): SendOptions {
  return { headers: { 'x-workspace-id': workspaceId } }
}

export async function newKey(
  person: Person,
  fields: Record<string, unknown> = {},
  options?: SendOptions,
): Promise<Key> {
  const body = { label: 'A key', ...fields }
  const record = must(await person.post<NewKeyRecord>('/keys', body, options), 201)
  return { ...keyCaller(record.api_key), secret: record.api_key, id: record.id, record }
}

/** Whoever presents this secret as an API key. */
export function keyCaller(secret: string): Caller {
  return newCaller({ headers: { 'x-api-key': secret } })
}

export async function listKeys(person: Person): Promise<KeyRecord[]> {
  return must(await person.get<KeyRecord[]>('/keys'), 200)
}

export async function startPairing(headers: Record<string, string> = {}, client = newVisitor()) {
  const answer = await client.post<ActivationAnswer>('/activate', undefined, { headers })
  const { device_code: deviceCode, user_code: userCode } = must(answer, 200)
  return { client, deviceCode, userCode, answer } satisfies Pairing
}

/** Keeps the second between two polls of a code that every client has to keep. */
export async function poll(pairing: Pairing): Promise<Answer<PollAnswer>> {
  const last = polledAt.get(pairing)
  if (last !== undefined) await letWindowsPass(last + pollEveryMs - performance.now())
  const answer = await sendPoll(pairing, {})
  polledAt.set(pairing, performance.now())
  return answer
}

/** Without regard to the last one. */
export function pollNow(pairing: Pairing): Promise<Answer<PollAnswer>> {
  return sendPoll(pairing, { impatient: true })
}

function sendPoll({ client, deviceCode }: Pairing, options: SendOptions): Promise<Answer<PollAnswer>> {
  return client.post<PollAnswer>('/activate/poll', { device_code: deviceCode }, options)
}

export function confirm(person: Caller, code: string, options?: SendOptions, fields: object = {}) {
  return person.post<{ success: boolean }>('/activate/confirm', { code, ...fields }, options)
}

export function deny(person: Caller, code: string) {
  return person.post<{ success: boolean }>('/activate/deny', { code })
}

export function lookup(person: Caller, code: string) {
  return person.get<LookupAnswer>(`/activate/lookup?code=${encodeURIComponent(code)}`)
}

/** The whole way: a code, its approval, and the poll that collects the key. */
export async function pair(
  person: Person,
  options: { confirm?: SendOptions; fields?: object; headers?: Record<string, string> } = {},
): Promise<{ pairing: Pairing; claim: Required<PollAnswer>; key: Caller }> {
  const pairing = await startPairing(options.headers)
  must(await confirm(person, pairing.userCode, options.confirm, options.fields), 200)
  const answer = await poll(pairing)
  const { api_key, tier, workspace, status } = must(answer, 200)
  if (!api_key || !tier || !workspace) throw new Error(`The claiming poll answered ${answer.text}`)
  return { pairing, claim: { status, api_key, tier, workspace }, key: keyCaller(api_key) }
}

/** For steps on the way to what a test is about. */
export function must<Body>(answer: Answer<Body>, status: number): Body {
  if (answer.status === status) return answer.body
  throw new Error(`Expected ${status}, got ${answer.status}: ${answer.text}`)
}
