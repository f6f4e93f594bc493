import { expect, test } from 'vitest'
import { patienceFor } from '../support/sizes.ts'
import { desktop, expectNoFaults, phone, signIn } from './support/app.ts'
import {
  action,
  addPasskey,
  api,
  ask,
  cardOf,
  looked,
  newAgent,
  newDevice,
  newEmail,
  newPerson,
  origin,
  pollOf,
} from './support/app-house.ts'

test.each([
  ['a phone', phone],
  ['a desktop', desktop],
] as const)(
  'on %s a person signs in, looks at what an agent asks and allows it with a passkey',
  async (_name, shape) => {
    const device = await newDevice({ shape })
    const { page } = device
    await signIn(device, origin, newEmail())
    await page.getByRole('heading', { name: 'Inbox' }).first().waitFor()
    await addPasskey(device)
    await page.goto(origin)
    const { key } = await newAgent(device)
    const write = () => api.call('PATCH', '/api/v1/profile', { key, body: { name: 'Mira' } })
    expect((await write()).status).toBe(403)

    const id = await ask(key)
    // It comes by itself: nobody loads the page again.
    await cardOf(page, id).waitFor({ timeout: patienceFor(5000) })
    if (shape === phone) await cardOf(page, id).getByTestId('card-review').click()
    await page.waitForURL(`${origin}/approvals/${id}`)
    expect(await page.getByTestId('ask').textContent()).toBe('Wants to change your profile')
    expect(await page.getByTestId('claim-reason').locator('blockquote').textContent()).toBe(
      'The branch is green.',
    )
    expect(await page.getByTestId('action-args').textContent()).toContain('acme/storefront')
    expect(await page.getByTestId('action-diff').textContent()).toContain('_15 November 2026_')
    expect(await page.getByTestId('allow').textContent()).toBe('Allow for 1 hour')
    await looked(page)
    await page.getByTestId('allow').click()
    await page
      .locator('[data-testid=decided-banner][data-state=granted]')
      .waitFor({ timeout: patienceFor(10_000) })

    expect(await pollOf(key, id)).toMatchObject({ status: 'granted', mode: 'session' })
    expect((await write()).status).toBe(200)
    await page.waitForURL(`${origin}/`)
    await expect.poll(() => cardOf(page, id).count()).toBe(0)
    expectNoFaults(device)
  },
)

test('a person without a passkey can deny, and is told how to allow', async () => {
  const device = await newPerson()
  const { page } = device
  const { key } = await newAgent(device)
  const id = await ask(key)
  await page.goto(`${origin}/approvals/${id}`)
  await page.getByTestId('no-passkey').waitFor()
  expect(await page.getByTestId('allow').isDisabled()).toBe(true)
  await page.getByTestId('no-passkey').getByRole('link').click()
  await page.getByTestId('passkey-add').click()
  // Back at the card, which can be allowed now.
  await page.waitForURL(`${origin}/approvals/${id}`)
  await page.getByTestId('allow').waitFor()
  await looked(page)
  await page.getByTestId('allow').click()
  await page.locator('[data-testid=decided-banner][data-state=granted]').waitFor()
  expect((await pollOf(key, id)).status).toBe('granted')
  expectNoFaults(device)
})

test('no is one tap in the list, one on the card, and may have a reason', async () => {
  const device = await newPerson()
  const { page, sent } = device
  const { key } = await newAgent(device)
  const fromList = await ask(key, { scope: 'profile:read' })
  await cardOf(page, fromList).getByTestId('card-deny').click()
  await cardOf(page, fromList).waitFor({ state: 'detached' })
  await expect.poll(async () => (await pollOf(key, fromList)).status).toBe('denied')
  expect(sent).toEqual([`POST /api/v1/agents/request-permission/${fromList}/deny`])

  const fromCard = await ask(key, { scope: 'billing:read' })
  await cardOf(page, fromCard).getByTestId('card-review').click()
  await page.getByTestId('deny').click()
  await page.locator('[data-testid=decided-banner][data-state=denied]').waitFor()
  expect((await pollOf(key, fromCard)).status).toBe('denied')

  const withReason = await ask(key, { scope: 'agent:list' })
  await page.goto(`${origin}/approvals/${withReason}`)
  await page.getByTestId('deny-reason-open').click()
  await page.getByTestId('deny-reason-text').fill('Not before Monday')
  await page.getByTestId('deny-reason-send').click()
  await page.locator('[data-testid=decided-banner][data-state=denied]').waitFor()
  expect(await pollOf(key, withReason)).toMatchObject({ status: 'denied', deny_reason: 'Not before Monday' })
  expectNoFaults(device)
})

test('a passkey that is canceled, or does not know its owner, allows nothing', async () => {
  const device = await newPerson()
  const { page, cdp, authenticatorId } = device
  await addPasskey(device)
  const { key } = await newAgent(device)
  const id = await ask(key)
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
  await page.goto(`${origin}/approvals/${id}`)
  await page.getByTestId('allow').waitFor()
  await looked(page)
  await page.getByTestId('allow').click()
  await page.getByTestId('problem').waitFor()
  expect((await pollOf(key, id)).status).toBe('pending')
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
  await page.getByTestId('allow').click()
  await page.locator('[data-testid=decided-banner][data-state=granted]').waitFor()
  expectNoFaults(device)
})

test('what is decided on another device leaves this one by itself', async () => {
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
  expectNoFaults(one)
  expectNoFaults(other)
})

test('an agent is paired by its code, starts with what is ticked, and is revoked in two taps', async () => {
  const device = await newPerson()
  const { page, sent } = device
  await addPasskey(device)
  const { deviceCode, userCode } = await api.newCode()
  sent.length = 0
  await page.goto(`${origin}/pair?code=${userCode}`)
  await page.getByTestId('pair-lookup').click()
  await page.getByTestId('pair-review').waitFor()
  expect(sent).toEqual([])
  await looked(page)
  await page.getByTestId('pair-approve').click()
  await page.locator('[data-testid=decided-banner][data-state=paired]').waitFor()
  const polled = await api.call('POST', '/api/v1/activate/poll', { body: { device_code: deviceCode } })
  expect(polled.body).toMatchObject({ status: 'approved', activated: false })
  const key: string = polled.body.api_key

  const asked = await api.call('POST', '/api/v1/agents/connect', {
    key,
    body: { requestedScopes: ['memory:read', 'memory:write', 'trace:read'] },
  })
  const id: string = asked.body.consent_id
  await page.goto(`${origin}/approvals/${id}`)
  await page.locator('[data-scope="memory:write"] [data-testid=scope-check]').uncheck()
  expect(await page.getByTestId('allow').textContent()).toBe('Allow 2 of 3')
  await looked(page)
  await page.getByTestId('allow').click()
  await page.locator('[data-testid=decided-banner][data-state=granted]').waitFor()
  const self = await api.call('GET', '/api/v1/agents/me', { key })
  expect(self.body.scopes.map(({ scope, mode }: { scope: string; mode: string }) => [scope, mode])).toEqual(
    expect.arrayContaining([
      ['memory:read', 'persistent'],
      ['trace:read', 'session'],
    ]),
  )
  expect(JSON.stringify(self.body.scopes)).not.toContain('memory:write')

  await page.goto(`${origin}/agents`)
  await page.getByTestId('agent-row').first().click()
  await page.getByTestId('agent-revoke').click()
  await page.getByTestId('revoke-confirm').click()
  await page.getByTestId('revoked').waitFor()
  expect((await api.call('GET', '/api/v1/agents/me', { key })).status).toBe(401)
  expectNoFaults(device)
})

test('an ask is answered, and nothing is granted by it', async () => {
  const device = await newPerson()
  const { page } = device
  const { key } = await newAgent(device)
  const choices = [
    { id: 'now', label: 'Now', kind: 'allow' },
    { id: 'later', label: 'Tonight', kind: 'allow' },
    { id: 'no', label: 'Never', kind: 'deny' },
  ]
  const asked = await api.call('POST', '/api/v1/agents/ask', {
    key,
    body: { question: 'May I delete the old branch?', action, choices },
  })
  expect(asked.status, asked.text).toBe(202)
  const id: string = asked.body.ask_id
  await page.goto(asked.body.approval_url)
  await page.locator('[data-choice=later]').click()
  await looked(page)
  await page.getByTestId('allow').click()
  await page.locator('[data-testid=decided-banner][data-state=granted]').waitFor()
  expect((await api.call('GET', `/api/v1/agents/ask/poll/${id}`, { key })).body).toMatchObject({
    status: 'answered',
    choice: 'later',
  })
  expectNoFaults(device)
})
