import { type CallOptions, Client, type Prepared } from './client.ts'
import { ConfigurationError, type MissingScopeError } from './errors.ts'
import { Activity } from './generated/activity.ts'
import { Approvals } from './generated/approvals.ts'
import { Artifacts } from './generated/artifacts.ts'

import { BillingResource } from './generated/billing.ts'
import { Consents } from './generated/consents.ts'
import { Handovers } from './generated/handovers.ts'
import { Invitations } from './generated/invitations.ts'
import { Keys } from './generated/keys.ts'
import { Marketplace } from './generated/marketplace.ts'
import { Members } from './generated/members.ts'
import { Meta } from './generated/meta.ts'
import { Notifications } from './generated/notifications.ts'
import { OauthClients } from './generated/oauth-clients.ts'
import { OauthGrants } from './generated/oauth-grants.ts'
import { Operations } from './generated/operations.ts'
import { Pairings } from './generated/pairings.ts'
import { Passkeys } from './generated/passkeys.ts'
import { ProfileResource } from './generated/profile.ts'
import { ProviderKeys } from './generated/provider-keys.ts'
import { Push } from './generated/push.ts'
import { Receipts } from './generated/receipts.ts'
import { SessionResource } from './generated/session.ts'
import { Threads } from './generated/threads.ts'
import { Workspaces } from './generated/workspaces.ts'
import { Healer } from './healing.ts'
import type { AnyCall } from './operation.ts'
import { Agents } from './resources/agents.ts'
import { Asks } from './resources/asks.ts'
import { Chat } from './resources/chat.ts'
import { Events } from './resources/events.ts'
import { Executions } from './resources/executions.ts'
import { Permissions } from './resources/permissions.ts'
import { Runs } from './resources/runs.ts'
import { Skills } from './resources/skills.ts'
import { Traces } from './resources/traces.ts'
import { Workflows } from './resources/workflows.ts'

/** The whole API: a client with every resource on it. */
export class Guildhall extends Client {
  readonly #healer = new Healer(this)
  readonly activity = new Activity(this)
  readonly agents = new Agents(this)
  readonly approvals = new Approvals(this)
  readonly artifacts = new Artifacts(this)
  readonly asks = new Asks(this)
  readonly billing = new BillingResource(this)
  readonly chat = new Chat(this)
  readonly consents = new Consents(this)
  readonly events = new Events(this)
  readonly executions = new Executions(this)
  readonly handovers = new Handovers(this)
  readonly invitations = new Invitations(this)
  readonly keys = new Keys(this)
  readonly marketplace = new Marketplace(this)
  readonly members = new Members(this)
  readonly meta = new Meta(this)
  readonly notifications = new Notifications(this)
  readonly oauthClients = new OauthClients(this)
  readonly oauthGrants = new OauthGrants(this)
  readonly operations = new Operations(this)
  readonly pairings = new Pairings(this)
  readonly passkeys = new Passkeys(this)
  readonly permissions = new Permissions(this)
  readonly profile = new ProfileResource(this)
  readonly providerKeys = new ProviderKeys(this)
  readonly push = new Push(this)
  readonly receipts = new Receipts(this)
  readonly runs = new Runs(this)
  readonly session = new SessionResource(this)
  readonly skills = new Skills(this)
  readonly threads = new Threads(this)
  readonly traces = new Traces(this)
  readonly workflows = new Workflows(this)
  readonly workspaces = new Workspaces(this)

  /** Sends what the library has no name for, with the same care. */
  request(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    {
      query = {},
      body,
      creates = false,
    }: { readonly query?: object; readonly body?: unknown; readonly creates?: boolean } = {},
    options?: CallOptions,
  ): Promise<unknown> {
    if (!path.startsWith('/')) throw new ConfigurationError('A path begins with a slash')
    const name = `${method} ${path.split('?')[0]}`
    const operation = { name, method, path: path.replaceAll(':', '%3A'), creates }
    return this.call<AnyCall, unknown>(operation, { query, body }, options)
  }

  /** Asks a person, where the client or the call says so. */
  protected override async heal(
    refusal: MissingScopeError,
    request: Prepared,
    options: CallOptions = {},
  ): Promise<boolean> {
    const { onMissing = 'throw', ...usual } = this.settings.permissions ?? {}
    if (onMissing === 'throw' && !options.permission) return false
    return this.#healer.heal(refusal, request, { ...usual, ...options.permission }, options)
  }
}
