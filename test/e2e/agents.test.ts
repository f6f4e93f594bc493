import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { definitionOf } from '../support/workflows.ts'
import { callFrom, type Device, desktop, expectNoFaults, phone, shapes } from './support/app.ts'
import { api, ask, callAsBefore, cardOf, newAgent, newPerson, origin } from './support/app-house.ts'
import { hindrancesOf } from './support/axe.ts'

/** Agents as their person looks at them, and ends what they do. */

const reads = async (key: string) => (await api.call('GET', '/api/v1/profile', { key })).status

/** Says yes for an hour, in another window as it were. */
async function allow(device: Device, key: string, scope: string): Promise<void> {
  const id = await ask(key, { scope })
  const path = `/api/v1/agents/request-permission/${id}/approve`
  const { status } = await callFrom(device, 'POST', path, { mode: 'session' })
  expect(status).toBe(200)
}

/** An agent that may do everything, and has a workflow under way. */
async function newBusyAgent(device: Device): Promise<{ id: number; key: string; runId: string }> {
  const made = await callFrom(device, 'POST', '/api/v1/keys', { label: 'Night shift', access: 'full' })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  const key: string = made.body.api_key
  const definition = definitionOf('nap', [{ type: 'sleep', id: 's', duration: 60_000 }])
  const installed = await api.call('POST', '/api/v1/workflows/nap/install', { key, body: { definition } })
  expect(installed.status, installed.text).toBeLessThan(300)
  const launched = await api.call('POST', '/api/v1/workflows/nap/launch', { key, body: { inputs: {} } })
  expect(launched.status, launched.text).toBe(201)
  return { id: made.body.id, key, runId: launched.body.runId }
}

/** The kinds of what an agent touched, as its page has them. */
const touchedKinds = async (page: Page) => {
  await page.getByTestId('touched').waitFor()
  const groups = await page.getByTestId('touched-group').all()
  return Promise.all(groups.map((group) => group.getAttribute('data-kind')))
}
const groupText = (page: Page, kind: string) =>
  page.locator(`[data-testid=touched-group][data-kind="${kind}"]`).textContent()

const grantRow = (page: Page, scope: string) => page.locator(`[data-testid=grant-row][data-scope="${scope}"]`)

test('what an agent may do for a while is shown, and one of it is ended with one tap', async () => {
  const device = await newPerson()
  const { page, sent } = device
  const { id, key } = await newAgent(device)
  await allow(device, key, 'profile:read')
  await allow(device, key, 'billing:read')
  expect(await reads(key)).toBe(200)
  const waiting = await ask(key, { scope: 'agent:list' })

  await page.goto(`${origin}/agents/${id}`)
  await grantRow(page, 'profile:read').waitFor()
  expect(await page.getByTestId('grant-row').count()).toBe(2)
  expect(await grantRow(page, 'profile:read').textContent()).toMatch(
    /Read your profile.*(?:60:00|5\d:\d\d) left/,
  )
  expect(await page.getByTestId('spent-today').textContent()).toBe('0 Ds')
  expect(await page.getByTestId('spent-month').textContent()).toBe('0 Ds')
  expect(await page.getByTestId('agent-pending').textContent()).toBe('1 request of it waits for you')
  sent.length = 0
  await grantRow(page, 'profile:read').getByTestId('grant-end').click()
  await grantRow(page, 'profile:read').waitFor({ state: 'detached' })
  expect(sent).toEqual([expect.stringMatching(new RegExp(`^DELETE /api/v1/keys/${id}/grants/\\d+$`))])
  expect(await reads(key)).toBe(403)
  expect((await api.call('GET', '/api/v1/billing', { key })).status).toBe(200)
  expect(await grantRow(page, 'billing:read').count()).toBe(1)

  await page.getByTestId('agent-pending').click()
  await cardOf(page, waiting).waitFor()
  expectNoFaults(device)
})

test('a grant that was ended elsewhere leaves the page without a complaint', async () => {
  const device = await newPerson()
  const { page } = device
  const { id, key } = await newAgent(device)
  await allow(device, key, 'profile:read')
  await page.goto(`${origin}/agents/${id}`)
  await grantRow(page, 'profile:read').waitFor()
  expect((await callFrom(device, 'DELETE', `/api/v1/agents/${id}/scopes/profile:read`)).status).toBe(200)
  await grantRow(page, 'profile:read').getByTestId('grant-end').click()
  await grantRow(page, 'profile:read').waitFor({ state: 'detached' })
  expect(await page.locator('.note[data-look=bad]').count()).toBe(0)
  expectNoFaults(device)
})

test.each([
  ['a phone', phone],
  ['a desktop', desktop],
] as const)('on %s an agent is revoked in two taps, with all that it runs', async (_name, shape) => {
  const device = await newPerson({ shape })
  const { page, sent } = device
  const { id, key, runId } = await newBusyAgent(device)
  const asked = await api.call('POST', '/api/v1/agents/ask', { key, body: { question: 'Go on?' } })
  await page.goto(`${origin}/agents/${id}`)
  await page.getByTestId('work-row').waitFor()
  expect(await page.getByTestId('work-row').textContent()).toBe('napWorkflow, under way')
  sent.length = 0
  await page.getByTestId('agent-revoke').click()
  expect(await page.getByTestId('revoke-along').textContent()).toBe(
    'Stops 1 thing that it runsDrops 1 request in your inboxShows what it touched in 24 hours',
  )
  expect(sent).toEqual([])
  await page.getByTestId('revoke-confirm').click()
  await page.getByTestId('revoked').waitFor()
  expect(await page.getByTestId('revoked').textContent()).toBe(
    'Night shift is revoked. 1 run was stopped. 1 request dropped.',
  )
  expect(sent).toEqual([`DELETE /api/v1/keys/${id}`])
  expect(await reads(key)).toBe(401)
  expect(await touchedKinds(page)).toEqual(['workflow-run', 'workflow'])
  expect(await groupText(page, 'workflow')).toMatch(/^1 workflow changed.*nap.*Can be taken back$/)
  await expect.poll(() => groupText(page, 'workflow-run')).toMatch(/^1 workflow run.*nap(?!.*Still goes on)/)
  const run = await callFrom(device, 'GET', `/api/v1/workflows/runs/${runId}`)
  expect(run.body.run.status).toBe('canceled')
  await page.goto(origin)
  await page.getByTestId('inbox-empty').waitFor()
  expect(await cardOf(page, asked.body.ask_id).count()).toBe(0)
  await page.goto(`${origin}/agents/${id}`)
  await page.getByTestId('ended-agent').waitFor()
  expect(await touchedKinds(page)).toEqual(['workflow-run', 'workflow'])
  await page.goto(`${origin}/agents/987654321`)
  await page.getByRole('heading', { name: 'Nothing is here' }).waitFor()
  expectNoFaults(device)
})

test('several are chosen and revoked together; the others stay', async () => {
  const device = await newPerson()
  const { page, sent } = device
  const agents = []
  for (const label of ['One', 'Two', 'Three']) agents.push(await newAgent(device, label))
  const [one, two, three] = agents
  await page.goto(`${origin}/agents`)
  await page.getByTestId('agent-row').first().waitFor()
  expect(await page.getByTestId('row-spent').allTextContents()).toEqual(Array(3).fill('0 Ds today'))
  expect(await page.locator('.head p').textContent()).toBe('3 connected · 0 Ds today')
  await page.getByTestId('agents-select').click()
  expect(await page.getByTestId('revoke-chosen').isDisabled()).toBe(true)
  for (const agent of [one, three])
    await page.locator(`[data-testid=agent-choose][data-id="${agent?.id}"]`).click()
  expect(await page.getByTestId('revoke-chosen').textContent()).toBe('Revoke 2')
  sent.length = 0
  await page.getByTestId('revoke-chosen').click()
  await page.getByRole('button', { name: 'Leave as it is' }).click()
  await page.getByTestId('revoke-sheet').waitFor({ state: 'detached' })
  expect(sent).toEqual([])
  await page.getByTestId('revoke-chosen').click()
  await page.getByTestId('revoke-confirm').click()
  await page.getByTestId('revoked').waitFor()
  expect(await page.getByTestId('revoked').textContent()).toBe('2 agents are revoked. Nothing was running.')
  expect(sent).toEqual(['POST /api/v1/keys/revoke'])
  await expect.poll(() => page.getByTestId('agent-row').count()).toBe(1)
  const self = (agent: typeof one) => api.call('GET', '/api/v1/agents/me', { key: agent?.key ?? '' })
  expect([(await self(one)).status, (await self(two)).status, (await self(three)).status]).toEqual([
    401, 200, 401,
  ])
  expectNoFaults(device)
})

test('while the network is away nothing is ended, and the buttons say so', async () => {
  const device = await newPerson()
  const { page, context, sent } = device
  const { id, key } = await newAgent(device)
  await allow(device, key, 'profile:read')
  await page.goto(`${origin}/agents/${id}`)
  await page.getByTestId('grant-end').waitFor()
  sent.length = 0
  await context.setOffline(true)
  await page.getByTestId('offline-banner').waitFor()
  for (const name of ['grant-end', 'agent-revoke', 'scope-remove']) {
    expect([name, await page.getByTestId(name).isDisabled()]).toEqual([name, true])
  }
  await context.setOffline(false)
  await page.getByTestId('offline-banner').waitFor({ state: 'detached' })
  expect(sent).toEqual([])
  expect(await reads(key)).toBe(200)
})

test('an agent cannot make its page say or show what it wants', async () => {
  const device = await newPerson()
  const { page } = device
  const label = '\u202e<img src=x onerror=alert(1)>\u200b'
  const name = 'to be called otherwise'
  const made = await callFrom(device, 'POST', '/api/v1/keys', { label: name, access: 'full' })
  const { id, api_key: key } = made.body
  const stored = { type: 'file', name, files: [{ path: 'a.md', content: 'a' }] }
  expect((await api.call('POST', '/api/v1/artifacts', { key, body: stored })).status).toBe(201)
  await callAsBefore('api_keys.label', name, label)
  await callAsBefore('artifacts.name', name, label.repeat(3))
  await page.goto(`${origin}/agents/${id}`)
  await page.getByTestId('touched-item').waitFor()
  expect(await page.getByTestId('touched').textContent()).not.toMatch(/[\u202e\u200b]/)
  expect(await page.getByTestId('touched').textContent()).toContain('<img src=x onerror=alert(1)>')
  await page.getByTestId('agent-revoke').click()
  await page.getByTestId('revoke-sheet').waitFor()
  expect(await page.locator('main img, dialog img').count()).toBe(0)
  expect(await page.getByTestId('revoke-sheet').textContent()).not.toMatch(/[\u202e\u200b]/)
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  expectNoFaults(device)
})

test.each(shapes)('on %s agents can be looked at and revoked by everybody', async (_name, shape) => {
  const device = await newPerson({ shape })
  const { page } = device
  const found: Record<string, string[]> = {}
  const look = async (name: string) => {
    await page.waitForTimeout(150)
    const hindrances = await hindrancesOf(page)
    if (hindrances.length > 0) found[name] = hindrances
  }
  const { id } = await newBusyAgent(device)
  const { id: other, key } = await newAgent(device)
  await allow(device, key, 'profile:read')
  await page.goto(`${origin}/agents/${other}`)
  await page.getByTestId('grant-row').waitFor()
  await look('grants')
  await page.goto(`${origin}/agents/${id}`)
  await page.getByTestId('work-row').waitFor()
  await look('work')
  await page.getByTestId('agent-revoke').click()
  await page.getByTestId('revoke-sheet').waitFor()
  await look('revoke')
  await page.goto(`${origin}/agents`)
  await page.getByTestId('agents-select').click()
  await page.getByTestId('choose-all').click()
  await look('chosen')
  await page.getByTestId('revoke-chosen').click()
  await page.getByTestId('revoke-sheet').waitFor()
  await look('revoke several')
  const small = await page.evaluate(`[...document.querySelectorAll('button, label.choosable')]
    .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 36)
    .map((one) => one.outerHTML.slice(0, 120))`)
  expect(found).toEqual({})
  expect(small).toEqual([])
  await page.getByTestId('revoke-confirm').click()
  await page.getByTestId('revoked').waitFor()
  expectNoFaults(device)
})
