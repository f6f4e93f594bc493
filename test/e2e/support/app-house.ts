import type { Approval } from '@guildhall/sdk'
import pg from 'pg'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest'
import { type Answer, createCaller } from '../../support/caller.ts'
import { callFrom, type Device, openDevice, signInUnseen } from './app.ts'

/** The app as it is served, in a real browser, with real agents that ask over the API. */
const house = inject('house')
export const { origin } = house
export const api = createCaller(origin)
let browser: Browser
const devices: Device[] = []

beforeAll(async () => {
  browser = await chromium.connect(house.browserUrl)
})

afterAll(() => browser?.close())

/** For what the shared one cannot do. It is closed with the file. */
export async function browseWith(own: Browser): Promise<void> {
  await browser.close()
  browser = own
}

/** A page that is left open goes on asking. */
afterEach(async () => {
  for (const { context } of devices.splice(0)) await context.close()
})

let people = 0
export const newEmail = (name = 'mira') => `${name}-${process.pid}-${++people}@example.test`

/** A browser of which nothing is kept when the test is over. */
export async function newDevice(options: Parameters<typeof openDevice>[2] = {}): Promise<Device> {
  const device = await openDevice(browser, origin, options)
  devices.push(device)
  return device
}

/** A person who is signed in on a new device, at the inbox. */
export async function newPerson(
  options: Parameters<typeof openDevice>[2] = {},
  email = newEmail(),
): Promise<Device> {
  const device = await newDevice(options)
  await signInUnseen(device, origin, email)
  await device.page.goto(origin)
  await device.page.getByRole('heading', { name: 'Inbox' }).first().waitFor()
  return device
}

export async function addPasskey({ page }: Device): Promise<void> {
  await page.goto(`${origin}/settings/passkeys`)
  await page.getByTestId('passkey-add').click()
  await page.getByTestId('passkey-row').waitFor()
}

/** A key of this person, as an agent holds it. */
export async function newAgent(
  device: Device,
  label = 'Release bot',
  may: object = { access: 'declared', scopes: ['memory:read'] },
): Promise<{ id: number; key: string }> {
  const { id, api_key: key } = await mustCall(device, 'POST', '/api/v1/keys', { label, ...may })
  device.sent.length = 0
  return { id, key }
}

export async function mustCall(...call: Parameters<typeof callFrom>): Promise<Answer['body']> {
  const { status, body } = await callFrom(...call)
  expect(status, JSON.stringify(body)).toBeLessThan(300)
  return body
}

/** A workspace of the one, with the other in it. */
export async function newTeam(owner: Device, member: Device): Promise<string> {
  const { user } = await mustCall(member, 'GET', '/api/v1/auth/session')
  const { id: team } = await mustCall(owner, 'POST', '/api/v1/workspaces', { name: 'Storefront' })
  const members = '/api/v1/workspaces/current/members'
  const { id } = await mustCall(owner, 'POST', members, { email: user.email }, team)
  await mustCall(member, 'POST', `/api/v1/invitations/${id}/accept`)
  return team
}

/** What a step of a run asks everybody in the workspace. */
export async function askInWorkflow(device: Device, workspaceId?: string, tool = 'request-approval') {
  const told = JSON.stringify({ action: { value: 'Pay 42' }, question: { value: 'Go?' } })
  const graph = [
    { type: 'mapping', id: 'm', mapConfig: told },
    { type: 'tool', id: 'ask', toolId: tool },
  ]
  const definition = { id: tool, inputSchema: {}, outputSchema: {}, graph }
  const path = `/api/v1/workflows/${tool}`
  await mustCall(device, 'POST', `${path}/install`, { definition }, workspaceId)
  const { runId } = await mustCall(device, 'POST', `${path}/launch`, { inputs: {} }, workspaceId)
  let id: string | undefined
  await expect
    .poll(async () => {
      const { items } = await mustCall(device, 'GET', '/api/v1/approvals?kind=workflow&status=pending')
      id = items.find((item: Approval) => item.workflow?.runId === runId)?.id
      return id
    })
    .toBeDefined()
  return id ?? ''
}

export const action = {
  summary: 'Open the release pull request',
  tool: 'github.create_pull_request',
  args: { repo: 'acme/storefront', base: 'main', title: 'Release 4.12.0', draft: false },
  diff: '@@ -3,2 +3,2 @@\n ## 4.12.0\n-_Unreleased_\n+_15 November 2026_',
  estimatedCost: 3,
}

export async function ask(key: string, wish: Record<string, unknown> = {}): Promise<string> {
  const asked = await api.call('POST', '/api/v1/agents/request-permission', {
    key,
    body: { scope: 'profile:write', mode: 'session', reason: 'The branch is green.', action, ...wish },
  })
  expect(asked.status, asked.text).toBe(202)
  return asked.body.request_id
}

export const pollOf = async (key: string, id: string) =>
  (await api.call('GET', `/api/v1/agents/request-permission/poll/${id}`, { key })).body

export const cardOf = (page: Page, id: string) => page.locator(`[data-testid=inbox-card][data-id="${id}"]`)

async function query(text: string, values: readonly unknown[] = []): Promise<void> {
  const client = new pg.Client({ connectionString: house.databaseUrl })
  await client.connect()
  await client.query(text, [...values])
  await client.end()
}

/** Moves the clock that decides deadlines. */
export const setAhead = (seconds: number) =>
  query(
    `create or replace function guild_now() returns timestamptz language sql stable
     as $$ select now() + interval '${seconds} seconds' $$`,
  )

/** Calls a thing what it could be called before names were looked at: there is data from then. */
export const callAsBefore = (
  column: 'api_keys.label' | 'artifacts.name' | 'workspaces.name' | 'users.name',
  name: string,
  hostile: string,
) => {
  const [table, field] = column.split('.')
  return query(`update ${table} set ${field} = $2 where ${field} = $1`, [name, hostile])
}

/** So long a card must have been in sight before a yes counts. */
export const looked = (page: Page) => page.waitForTimeout(600)
