import { expect, test } from 'vitest'
import { type Device, desktop } from './support/app.ts'
import { mustCall, newEmail, newPerson, origin } from './support/app-house.ts'

/** The page on which an app is let in has no script; that nothing on it is pressed by mistake is up to its style. */

const callback = 'https://app.example/callback'

/** From a link of the app's to the page that asks. */
async function reachConsent(device: Device, email: string): Promise<void> {
  const { page } = device
  const body = { name: 'Weather Bot', redirect_uris: [callback] }
  const app = await mustCall(device, 'POST', '/api/v1/oauth/clients', body)
  const query = { response_type: 'code', client_id: app.client_id, redirect_uri: callback, scope: 'read' }
  await page.goto(`${origin}/oauth/authorize?${new URLSearchParams(query)}`)
  await page.mouse.move(5, 5)
  await page.click('a.btn')
  await page.locator('input:not([type=hidden])').first().fill(email)
  await page.click('button')
  await page.locator('[value=allow]').waitFor()
}

/** Animations and what follows a pointer with delay: they stand still until they are let go. */
const pace = ({ cdp }: Device, playbackRate: 0 | 1) => cdp.send('Animation.setPlaybackRate', { playbackRate })

async function clickOnAllow({ page }: Device): Promise<void> {
  const box = await page.locator('[value=allow]').boundingBox()
  if (!box) throw new Error('no such button')
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
}

const styleOf = ({ page }: Device, name: 'visibility' | 'pointer-events') =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll('a, button')].map((e) => getComputedStyle(e).getPropertyValue('${name}'))`,
  )

test('the second click of a double click does not let an app in', async () => {
  const email = newEmail('clicker')
  const device = await newPerson({ shape: desktop }, email)
  await device.cdp.send('Animation.enable')
  await reachConsent(device, email)
  const asks = device.page.url()

  // As it has just come.
  await pace(device, 0)
  await device.page.reload()
  expect(new Set(await styleOf(device, 'visibility'))).toEqual(new Set(['hidden']))
  await clickOnAllow(device)
  expect(device.page.url()).toBe(asks)

  // There for long, but the pointer is not: another window was before it.
  await pace(device, 1)
  await device.page.mouse.move(-5, -5)
  await device.page.reload()
  await device.page.locator('[value=allow]').waitFor()
  await pace(device, 0)
  await clickOnAllow(device)
  expect(device.page.url()).toBe(asks)
  expect(new Set(await styleOf(device, 'pointer-events'))).toEqual(new Set(['none']))

  await pace(device, 1)
  await expect.poll(() => styleOf(device, 'pointer-events')).not.toContain('none')
  await Promise.all([
    device.page.waitForRequest((request) => request.url().startsWith(`${callback}?code=`)),
    clickOnAllow(device),
  ])
})
