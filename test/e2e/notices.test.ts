import type { Worker } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { until } from '../support/processes.ts'
import { type Browser, openPushService, type PushService } from '../support/push-service.ts'
import { callFrom, type Device, expectNoFaults } from './support/app.ts'
import { api, ask, browseWith, newAgent, newEmail, newPerson, origin, pollOf } from './support/app-house.ts'
import { hindrancesOf } from './support/axe.ts'
import { launchWholeBrowser } from './support/browser.ts'

/** Where browsers that are told are told. */
let pushes: PushService

beforeAll(async () => {
  await browseWith(await launchWholeBrowser())
  const { applicationServerKey } = (await api.call('GET', '/api/v1/meta')).body.push
  pushes = await openPushService(() => applicationServerKey, inject('house').pushPort)
})

afterAll(() => pushes?.close())

/**
 * No push service can be reached from here. So the page is given a subscription at one that speaks the same protocol, the
 * worker of the stack sends there, and what arrives is handed to the browser as its own push service would.
 */
function subscribeAs({ subscription }: Browser): string {
  return `{
    let given = null
    const keyOf = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0)).buffer
    PushManager.prototype.getSubscription = async () => given
    PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
      given = {
        options: { applicationServerKey: keyOf(applicationServerKey) },
        toJSON: () => (${JSON.stringify(subscription)}),
        unsubscribe: async () => { given = null; return true },
      }
      return given
    }
  }`
}

async function turnOn({ page, context }: Device): Promise<void> {
  await context.grantPermissions(['notifications'], { origin })
  await page.addInitScript({ content: subscribeAs(await pushes.newBrowser()) })
  await page.goto(`${origin}/settings/notices`)
  await page.getByTestId('notices-on').click()
  await page.getByTestId('told-browser').waitFor()
}

/** As the browser's push service hands over what was sent. */
async function deliverer({ cdp, page }: Device): Promise<(data: string) => Promise<void>> {
  const registered = new Promise<string>((resolve) => {
    cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const [first] = registrations
      if (first) resolve(first.registrationId)
    })
  })
  await cdp.send('ServiceWorker.enable')
  return async (data) => {
    // To one that is only being installed nothing is handed over.
    await page.evaluate('navigator.serviceWorker.ready.then(() => undefined)')
    await cdp.send('ServiceWorker.deliverPushMessage', { origin, registrationId: await registered, data })
  }
}

type Notice = { title: string; tag: string }

const shown = (worker: Worker): Promise<Notice[]> =>
  worker.evaluate(
    'self.registration.getNotifications().then((all) => all.map(({ title, tag }) => ({ title, tag })))',
  )

/** All that the worker has had shown from now on, whatever became of it. */
async function watchShows(worker: Worker): Promise<() => Promise<Notice[]>> {
  await worker.evaluate(`{
    self.shows = []
    const { showNotification } = ServiceWorkerRegistration.prototype
    ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
      await showNotification.call(this, title, options)
      self.shows.push({ title, tag: options.tag })
    }
  }`)
  return () => worker.evaluate('self.shows')
}

interface Way {
  readonly worker: Worker
  readonly deliver: (data: string) => Promise<void>
  readonly shows: () => Promise<Notice[]>
}

/**
 * Delivers what is shown, and stays. Chromium forgets a notice of which somebody asks while it is on its way to the screen
 * (seen on a busy machine, in one of forty), so nobody asks too early, and what was forgotten is delivered once more.
 */
async function deliverToStay({ deliver, worker, shows }: Way, data: string): Promise<Notice[]> {
  for (let tries = 1; ; tries++) {
    const before = (await shows()).length
    await deliver(data)
    await until(async () => (await shows()).length > before, 5000)
    await new Promise((resolve) => setTimeout(resolve, 300))
    const notices = await shown(worker)
    if (notices.length > 0 || tries === 5) return notices
  }
}

const tap = (worker: Worker) =>
  worker.evaluate(
    `self.registration.getNotifications().then(([notification]) =>
      void self.dispatchEvent(new NotificationEvent('notificationclick', { notification })))`,
  )

test('a browser is told that an agent waits, a tap opens the card and decides nothing, and the notice goes', async () => {
  const email = newEmail()
  const device = await newPerson({}, email)
  const { page, context, sent } = device
  const browser = await pushes.newBrowser()
  await context.grantPermissions(['notifications'], { origin })
  await page.addInitScript({ content: subscribeAs(browser) })
  const deliver = await deliverer(device)
  const { key } = await newAgent(device)

  await page.goto(`${origin}/settings`)
  await page.getByTestId('settings-notices').click()
  await page.getByTestId('notices-on').click()
  await page.getByTestId('told-browser').waitFor()
  const [worker = await context.waitForEvent('serviceworker')] = context.serviceWorkers()
  const shows = await watchShows(worker)
  const way = { deliver, worker, shows }

  const id = await ask(key)
  await until(() => browser.received.length === 1, 10_000)
  const asked = browser.received[0]?.text ?? ''
  expect(await deliverToStay(way, asked)).toEqual([{ title: 'An agent asks for a permission', tag: id }])

  sent.length = 0
  await tap(worker)
  await page.waitForURL(`${origin}/approvals/${id}`)
  await page.getByTestId('deny').waitFor()
  expect(sent).toEqual([])
  expect((await pollOf(key, id)).status).toBe('pending')

  // A page that is open hears of a decision elsewhere by itself.
  expect(await deliverToStay(way, asked)).toHaveLength(1)
  const elsewhere = await newPerson({}, email)
  expect((await callFrom(elsewhere, 'POST', `/api/v1/agents/request-permission/${id}/deny`, {})).status).toBe(
    200,
  )
  await until(async () => (await shown(worker)).length === 0, 5000)

  // Others are told by a message that takes the notice's place and goes.
  await until(() => browser.received.length === 2, 10_000)
  expect(await deliverToStay(way, asked)).toHaveLength(1)
  await deliver(browser.received[1]?.text ?? '')
  const over = { title: 'Nothing to decide here any more', tag: id }
  await expect.poll(async () => (await shows()).at(-1)).toEqual(over)
  await until(async () => (await shown(worker)).length === 0, 8000)
  expect(pushes.violations).toEqual([])
  expectNoFaults(device)
})

test('a message that nobody of ours wrote is shown without a word and leads nowhere else', async () => {
  const device = await newPerson()
  const { page, context } = device
  const deliver = await deliverer(device)
  await turnOn(device)
  const [worker = await context.waitForEvent('serviceworker')] = context.serviceWorkers()
  const way = { deliver, worker, shows: await watchShows(worker) }
  expect(await deliverToStay(way, 'not JSON')).toEqual([{ title: 'Guildhall', tag: 'guildhall' }])
  const navigate = 'https://evil.example/approvals/x?approve=1'
  const notification = { title: 'Come here', navigate, tag: 'guildhall' }
  expect(await deliverToStay(way, JSON.stringify({ notification }))).toEqual([
    { title: 'Come here', tag: 'guildhall' },
  ])
  await tap(worker)
  await page.waitForURL(`${origin}/`)
  expectNoFaults(device)
})

test('quiet hours are set and ended, and a browser is removed', async () => {
  const device = await newPerson()
  const { page } = device
  await turnOn(device)
  expect(await hindrancesOf(page)).toEqual([])
  await page.getByTestId('quiet-save').click()
  await page.getByTestId('quiet-off').waitFor()
  const settings = async () => (await callFrom(device, 'GET', '/api/v1/profile/notifications')).body
  expect((await settings()).quiet).toMatchObject({ from: '22:00', to: '07:00' })
  await page.getByTestId('quiet-off').click()
  await page.getByTestId('quiet-off').waitFor({ state: 'detached' })
  expect((await settings()).quiet).toBe(null)
  await page.getByTestId('told-browser').getByRole('button', { name: 'Remove' }).click()
  await page.getByTestId('notices-on').waitFor()
  expect((await api.call('GET', '/api/v1/meta')).body.push).not.toBe(null)
  expectNoFaults(device)
})
