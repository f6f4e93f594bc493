import { expect, test } from 'vitest'
import { patienceFor } from '../support/sizes.ts'
import { callFrom, type Device, desktop, expectNoFaults } from './support/app.ts'
import {
  api,
  ask,
  askInWorkflow,
  cardOf,
  looked,
  newAgent,
  newEmail,
  newPerson,
  newTeam,
  origin,
} from './support/app-house.ts'

const titleOf = ({ page }: Device) => page.getByTestId('decided-banner').getByRole('heading').textContent()
const nameOf = async (device: Device): Promise<string> =>
  (await callFrom(device, 'GET', '/api/v1/auth/session')).body.user.name

test('what another member answers says who it was, on the card and in the list', async () => {
  const [mira, tom] = [await newPerson({ shape: desktop }), await newPerson({}, newEmail('tom'))]
  const team = await newTeam(mira, tom)
  const id = await askInWorkflow(mira, team)
  await mira.page.goto(`${origin}/approvals/${id}`)
  await mira.page.getByTestId('allow').waitFor()
  await tom.page.goto(`${origin}/approvals/${id}`)
  await tom.page.getByTestId('allow').waitFor()
  await looked(tom.page)
  await tom.page.getByTestId('allow').click()
  await mira.page
    .locator('[data-testid=decided-banner][data-state=granted]')
    .waitFor({ timeout: patienceFor(5000) })
  const name = await nameOf(tom)
  expect(name).toMatch(/^Tom /)
  expect(await titleOf(mira)).toBe(`Allowed by ${name}`)
  await tom.page.locator('[data-testid=decided-banner][data-state=granted]').waitFor()
  expect(await titleOf(tom)).toBe('Allowed')
  await mira.page.goto(origin)
  expect(await mira.page.getByTestId('decided-row').first().textContent()).toContain(`Allowed by ${name}`)
  expectNoFaults(mira)
  expectNoFaults(tom)
})

test('who comes second by a moment is told who was first', async () => {
  const [mira, tom] = [await newPerson({ shape: desktop }), await newPerson({}, newEmail('tom'))]
  const team = await newTeam(mira, tom)
  const id = await askInWorkflow(mira, team)
  const { page, context } = mira
  await page.goto(`${origin}/approvals/${id}`)
  await page.getByTestId('allow').waitFor()
  // The page hears of nothing and must find out by its own decision.
  await context.routeWebSocket(/./, (socket) => void socket.close())
  await page.reload()
  await page.getByTestId('allow').waitFor()
  const denied = await callFrom(tom, 'POST', `/api/v1/approvals/${id}/deny`, { reason: 'Not on Friday' })
  expect(denied.status).toBe(200)
  await looked(page)
  await page.getByTestId('allow').click()
  await page.locator('[data-testid=decided-banner][data-state=denied]').waitFor()
  expect(await titleOf(mira)).toBe(`Denied by ${await nameOf(tom)}`)
})

test('what I decide on another device says so, and names nobody else', async () => {
  const email = newEmail()
  const [one, other] = [await newPerson({}, email), await newPerson({ shape: desktop }, email)]
  const { key } = await newAgent(one)
  const id = await ask(key, { scope: 'profile:read' })
  await one.page.goto(`${origin}/approvals/${id}`)
  await one.page.getByTestId('allow').waitFor()
  await cardOf(other.page, id).waitFor()
  await other.page.goto(`${origin}/approvals/${id}`)
  await other.page.getByTestId('deny').click()
  await one.page
    .locator('[data-testid=decided-banner][data-state=denied]')
    .waitFor({ timeout: patienceFor(5000) })
  expect(await titleOf(one)).toBe('Denied by you')
  expect(await one.page.getByTestId('decided-banner').textContent()).toContain('On another device')
  await other.page.locator('[data-testid=decided-banner][data-state=denied]').waitFor()
  expect(await titleOf(other)).toBe('Denied')
  expectNoFaults(one)
  expectNoFaults(other)
})

test('a pairing that I look up is on my other device by itself, and leaves it when I decide', async () => {
  const email = newEmail()
  const [one, other] = [await newPerson({}, email), await newPerson({ shape: desktop }, email)]
  const stranger = await newPerson()
  const { userCode } = await api.newCode()
  const reviewed = async ({ page }: Device) => {
    await page.goto(`${origin}/pair/${userCode}`)
    await page.getByTestId('pair-lookup').click()
    await page.getByTestId('pair-review').waitFor()
  }
  await reviewed(one)
  const card = other.page.locator('[data-testid=inbox-card][data-kind=activation]')
  await card.waitFor({ timeout: patienceFor(5000) })
  await reviewed(other)
  await one.page.getByTestId('pair-deny').click()
  await one.page.locator('[data-testid=decided-banner][data-state=denied]').waitFor()
  await other.page
    .locator('[data-testid=decided-banner][data-state=deniedElsewhere]')
    .waitFor({ timeout: patienceFor(5000) })
  await other.page.waitForURL(`${origin}/`)
  await expect.poll(() => card.count()).toBe(0)
  expect(await stranger.page.getByTestId('inbox-card').count()).toBe(0)
  for (const device of [one, other, stranger]) expectNoFaults(device)
})

test('the inbox fetches cards, and what is long only with the one that is looked at', async () => {
  const device = await newPerson()
  const { page } = device
  const { key } = await newAgent(device)
  const lists: string[] = []
  page.on('response', async (response) => {
    if (response.url().includes('/api/v1/approvals?')) lists.push(await response.text().catch(() => ''))
  })
  const args = { text: 'y'.repeat(50_000) }
  const wish = { scope: 'profile:read', action: { summary: 'Send \u202etxt', args } }
  const id = await ask(key, wish)
  await ask(key, wish)
  await cardOf(page, id).waitFor()
  await expect.poll(() => cardOf(page, id).textContent()).toContain('Unusual characters')
  await page.reload()
  await expect.poll(() => cardOf(page, id).textContent()).toContain('asked 2 times')
  expect(lists.length).toBeGreaterThan(0)
  expect(Math.max(...lists.map((text) => text.length))).toBeLessThan(5000)
  await cardOf(page, id).getByTestId('card-review').click()
  await page.getByTestId('action-args').waitFor()
  expect(await page.getByTestId('action-args').textContent()).toContain('yyyy')
  expectNoFaults(device)
})
