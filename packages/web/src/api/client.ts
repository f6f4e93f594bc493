import { Approvals } from '@guildhall/sdk/approvals'
import { BillingResource } from '@guildhall/sdk/billing'
import { Consents } from '@guildhall/sdk/consents'
import { createClient } from '@guildhall/sdk/core'
import { Events } from '@guildhall/sdk/events'
import { Keys } from '@guildhall/sdk/keys'
import { Meta } from '@guildhall/sdk/meta'
import { Pairings } from '@guildhall/sdk/pairings'
import { Passkeys } from '@guildhall/sdk/passkeys'
import { Permissions } from '@guildhall/sdk/permissions'
import { ProfileResource } from '@guildhall/sdk/profile'
import { Push } from '@guildhall/sdk/push'
import { SessionResource } from '@guildhall/sdk/session'
import { Workspaces } from '@guildhall/sdk/workspaces'
import { ServerClock } from './server-clock.ts'

const clock = new ServerClock()

/** The server's time now, in milliseconds. */
export const serverNow = () => clock.at(Date.now())

/** For the parts of the library that only later pages need. */
export const client = createClient({
  baseUrl: location.origin,
  // The browser keeps the session, and no script can read it. The library wants a credential and gets a word for one,
  // which is never sent.
  authToken: 'cookie',
  // No page of another origin can send it without being asked first.
  headers: { 'x-guild-app': '1' },
  fetch: async (input, init) => {
    const headers = new Headers(init?.headers)
    headers.delete('x-auth-token')
    const answer = await fetch(input, { ...init, headers })
    clock.learn(answer.headers.get('date'), Date.now())
    return answer
  },
  maxRetries: 1,
})

/** What the app asks of the server. */
export const api = {
  approvals: new Approvals(client),
  billing: new BillingResource(client),
  consents: new Consents(client),
  events: new Events(client),
  keys: new Keys(client),
  meta: new Meta(client),
  pairings: new Pairings(client),
  passkeys: new Passkeys(client),
  permissions: new Permissions(client),
  profile: new ProfileResource(client),
  push: new Push(client),
  session: new SessionResource(client),
  workspaces: new Workspaces(client),
}
