import { expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { patienceFor } from '../support/sizes.ts'
import { callFrom, type Device, desktop, expectNoFaults, phone, shapes } from './support/app.ts'
import { api, callAsBefore, looked, mustCall, newEmail, newPerson, origin } from './support/app-house.ts'
import { hindrancesOf } from './support/axe.ts'

/** Who works together, who is asked to, and which apps act for whom: as the people themselves see it. */

const callback = 'https://app.example/callback'

async function makeTeam({ page }: Device, name: string): Promise<void> {
  await page.goto(`${origin}/settings/members`)
  await page.getByTestId('team-name').fill(name)
  await page.getByTestId('team-make').click()
  await page.getByTestId('invite-address').waitFor()
}

async function invite({ page }: Device, email: string, role?: 'owner'): Promise<void> {
  await page.getByTestId('invite-address').fill(email)
  if (role) await page.getByTestId(`mode-${role}`).click()
  await page.getByTestId('invite').click()
  await page.getByTestId('invited-row').filter({ hasText: email }).waitFor()
}

async function openInvitation({ page }: Device): Promise<void> {
  await page.goto(`${origin}/settings/invitations`)
  await page.getByTestId('invitation').waitFor()
}

const rename = (device: Device, name: string) => mustCall(device, 'PATCH', '/api/v1/profile', { name })

/** What an app holds that this person let in. */
async function letAppIn(device: Device, email: string, name: string): Promise<string> {
  const app = await mustCall(device, 'POST', '/api/v1/oauth/clients', { name, redirect_uris: [callback] })
  const asked = new URLSearchParams({
    response_type: 'code',
    client_id: app.client_id,
    redirect_uri: callback,
    scope: 'read',
    state: 's',
  })
  const visitor = openBrowser({ stopAt: callback })
  const signIn = await visitor.open(`${origin}/oauth/authorize?${asked}`)
  const consent = await visitor.submit(await visitor.submit(signIn), { login: email })
  const { url, text } = await visitor.submit(consent, { decision: 'allow' })
  const code = url.searchParams.get('code')
  expect(code, text).toBeTruthy()
  const { client_id, client_secret } = app
  const body = { grant_type: 'authorization_code', redirect_uri: callback, client_id, client_secret, code }
  const { body: tokens } = await api.call('POST', '/oauth/token', { body })
  return tokens.access_token
}

const workspacesBy = (token: string) =>
  api.call('GET', '/api/v1/workspaces', { headers: { authorization: `Bearer ${token}` } })

test('somebody is invited, joins with a tap and no sooner, and is told when that is over', async () => {
  const [tom, eve] = [newEmail('tom'), newEmail('eve')]
  const owner = await newPerson({ shape: desktop })
  const invited = await newPerson({ shape: phone }, tom)
  const stranger = await newPerson({}, eve)
  await rename(invited, 'Tom Reed')
  await makeTeam(owner, 'Storefront')
  await invite(owner, tom)
  expect(await owner.page.getByTestId('inviting-said').textContent()).toContain(`${tom} is invited.`)
  expect(await owner.page.getByTestId('member-row').count()).toBe(1)

  const { page, sent } = invited
  sent.length = 0
  await page.goto(`${origin}/settings`)
  await page.getByText('1 invitation waits for you').click()
  const card = page.getByTestId('invitation')
  await card.waitFor()
  expect(await card.getByRole('heading').textContent()).toBe('Storefront')
  expect(await card.getByTestId('invited-by').textContent()).toContain('@example.test')
  expect(await card.getByTestId('invited-as').textContent()).toBe('Member. Works here.')
  expect(sent).toEqual([])
  const id = (await card.getAttribute('data-id')) ?? ''

  await stranger.page.goto(`${origin}/settings/invitations`)
  await stranger.page.getByTestId('invitations-none').waitFor()
  for (const verb of ['accept', 'decline'])
    expect((await callFrom(stranger, 'POST', `/api/v1/invitations/${id}/${verb}`)).status).toBe(404)

  await looked(page)
  await card.getByTestId('accept').click()
  await page.getByTestId('go-there').waitFor()
  expect(sent).toEqual([`POST /api/v1/invitations/${id}/accept`])
  expect(await page.getByTestId('invitation-said').textContent()).toBe('You are a member of Storefront now.')
  await page.getByTestId('go-there').click()
  await page.getByTestId('go-there').waitFor({ state: 'detached' })
  await page.goto(`${origin}/settings/members`)
  await expect.poll(() => page.getByTestId('member-row').count()).toBe(2)
  expect(await page.getByTestId('members-of').textContent()).toBe('Storefront')
  expect(await page.getByTestId('member-remove').allTextContents()).toEqual(['Leave'])
  expect(await page.getByTestId('invite').count()).toBe(0)

  await owner.page.reload()
  await owner.page.getByTestId('invited-none').waitFor()
  const row = owner.page.getByTestId('member-row').filter({ hasText: 'Tom Reed' })
  expect(await row.textContent()).toContain(tom)
  const team = (await mustCall(invited, 'GET', '/api/v1/auth/session')).current_workspace_id
  await row.getByTestId('member-remove').click()
  expect(await owner.page.getByTestId('remove-sheet').textContent()).toContain('Remove Tom Reed?')
  await owner.page.getByTestId('remove-confirm').click()
  await expect
    .poll(() => owner.page.getByTestId('members-said').textContent())
    .toBe('Tom Reed is not a member any more.')
  await expect.poll(() => owner.page.getByTestId('member-row').count()).toBe(1)

  await page.getByTestId('workspace-lost').waitFor({ timeout: patienceFor(10_000) })
  expect(await page.getByTestId('workspace-lost').textContent()).toContain(
    'You are not a member of Storefront any more.',
  )
  await expect.poll(() => page.getByTestId('members-of').textContent()).toBe('Personal')
  await expect.poll(() => page.getByTestId('member-row').count()).toBe(0)
  expect((await callFrom(invited, 'GET', '/api/v1/skills', undefined, team)).status).toBe(403)
  // What ended was their place in the team, not their session: the page goes on being told.
  await expect
    .poll(() => page.getByTestId('live-state').getAttribute('data-state'), { timeout: patienceFor(10_000) })
    .toBe('live')
  await page.getByRole('button', { name: 'Understood' }).click()
  await page.getByTestId('workspace-lost').waitFor({ state: 'detached' })
  for (const device of [owner, invited, stranger]) expectNoFaults(device)
})

test('what was withdrawn cannot be accepted, what was declined is gone, and an early yes is none', async () => {
  const email = newEmail('tom')
  const [owner, invited] = [await newPerson(), await newPerson({}, email)]
  const { page, sent } = invited
  await makeTeam(owner, 'Lures')
  await invite(owner, email, 'owner')
  await page.addInitScript({
    content: `{
      const seen = new MutationObserver(() => {
        const button = document.querySelector('[data-testid=accept]')
        if (!button) return
        seen.disconnect()
        button.click()
      })
      seen.observe(document, { subtree: true, childList: true })
    }`,
  })
  sent.length = 0
  await openInvitation(invited)
  expect(await page.getByTestId('invited-as').textContent()).toContain('Owner')
  await looked(page)
  expect(sent).toEqual([])

  await owner.page.getByTestId('withdraw').click()
  await owner.page.getByTestId('invited-none').waitFor()
  await page.getByTestId('accept').click()
  await page.getByTestId('invitation').waitFor({ state: 'detached' })
  expect(await page.getByTestId('invitation-said').textContent()).toContain('was withdrawn')

  await invite(owner, email)
  await openInvitation(invited)
  await page.getByTestId('decline').click()
  await page.getByTestId('invitation').waitFor({ state: 'detached' })
  expect(await page.getByTestId('invitation-said').textContent()).toContain('You have declined')
  const { workspaces } = await mustCall(invited, 'GET', '/api/v1/auth/session')
  expect(workspaces).toHaveLength(1)
  await owner.page.reload()
  await owner.page.getByTestId('invited-none').waitFor()
  expectNoFaults(owner)
  expectNoFaults(invited)
})

test('an app is ended with one tap, and can do nothing from then on', async () => {
  const email = newEmail()
  const device = await newPerson({}, email)
  const { page, sent } = device
  const kept = await letAppIn(device, email, 'Reports')
  const token = await letAppIn(device, email, 'Weather <b>Bot</b>')
  expect((await workspacesBy(token)).status).toBe(200)
  await page.goto(`${origin}/settings/apps`)
  const row = page.getByTestId('app-row').filter({ hasText: 'Weather <b>Bot</b>' })
  await row.waitFor()
  expect(await row.textContent()).toMatch(/in Personal, last used just now.*Asked for read/)
  sent.length = 0
  await row.getByTestId('app-end').click()
  await row.waitFor({ state: 'detached' })
  expect(sent).toEqual([expect.stringMatching(/^DELETE \/api\/v1\/oauth\/grants\/\d+$/)])
  expect((await workspacesBy(token)).status).toBe(401)
  expect((await workspacesBy(kept)).status).toBe(200)
  expect(await page.getByTestId('app-row').count()).toBe(1)
  expectNoFaults(device)
})

test.each(shapes)('on %s everybody can use these pages, whatever others are called', async (_name, shape) => {
  const hostile = '\u202e<img src=x onerror=alert(1)>\u200b'
  const email = newEmail('tom')
  const [owner, device] = [await newPerson({ shape }), await newPerson({ shape }, email)]
  const { page } = device
  const [one, other, team] = ['one', 'other', 'team'].map((name) => `${name} ${email}`) as [
    string,
    string,
    string,
  ]
  await rename(owner, one)
  await callAsBefore('users.name', one, hostile)
  await rename(device, other)
  await callAsBefore('users.name', other, `${hostile}${'x'.repeat(100)}`)
  await letAppIn(device, email, 'Reports <img src=x>')
  await makeTeam(owner, team)
  await callAsBefore('workspaces.name', team, hostile)
  await invite(owner, email)
  const found: Record<string, unknown> = {}
  const look = async (name: string, at = page) => {
    await at.waitForTimeout(150)
    const hindrances = await hindrancesOf(at)
    if (hindrances.length > 0) found[name] = hindrances
    await expectCalm(name, at)
  }
  const expectCalm = async (name: string, at = page) => {
    const odd = await at.evaluate(`({
      images: document.querySelectorAll('main img, nav img, dialog img').length,
      turned: /[\\u202e\\u200b]/.test(document.body.innerText),
      beyond: document.documentElement.scrollWidth > innerWidth,
      small: [...document.querySelectorAll('button')]
        .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 36)
        .map((one) => one.outerHTML.slice(0, 120)),
    })`)
    expect([name, odd]).toEqual([name, { images: 0, turned: false, beyond: false, small: [] }])
  }
  await page.goto(`${origin}/settings/apps`)
  await page.getByTestId('app-row').waitFor()
  await look('apps')
  await openInvitation(device)
  await look('invitations')
  await looked(page)
  await page.getByTestId('accept').click()
  await page.getByTestId('go-there').waitFor()
  await expectCalm('joined')
  await invite(owner, newEmail('next'))
  await owner.page.reload()
  await owner.page.getByTestId('member-row').nth(1).waitFor()
  await look('members', owner.page)
  await owner.page.getByTestId('member-remove').nth(1).click()
  await owner.page.getByTestId('remove-sheet').waitFor()
  await expectCalm('remove', owner.page)
  await page.goto(`${origin}/settings/members`)
  await page.getByTestId('team-name').waitFor()
  await expectCalm('no team')
  expect(found).toEqual({})
  expectNoFaults(owner)
  expectNoFaults(device)
})
