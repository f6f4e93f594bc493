import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Answer } from '../../support/caller.ts'
import { isProof } from '../../support/sizes.ts'
import { addAuthenticator } from './browser.ts'

export const phone = {
  viewport: { width: 390, height: 844 },
  // Of four times the pixels a software renderer takes four times as long.
  deviceScaleFactor: isProof ? 2 : 1,
  hasTouch: true,
  isMobile: true,
}
export const desktop = { viewport: { width: 1440, height: 900 } }

/** What is looked at on every page costs the most; the gate looks on one of the two. */
export const shapes = isProof
  ? ([
      ['a phone', phone],
      ['a desktop', desktop],
    ] as const)
  : ([['a phone', phone]] as const)

/** What a device did that no page of ours may do. */
interface Faults {
  readonly console: string[]
  readonly policy: string[]
  readonly elsewhere: string[]
}

export interface Device {
  readonly context: BrowserContext
  readonly page: Page
  readonly cdp: CDPSession
  readonly authenticatorId: string
  readonly faults: Faults
  /** Method and path of everything that was sent but GET. */
  readonly sent: string[]
}

type Shape = typeof phone | typeof desktop

/** A browser of its own, with an authenticator in software, that notes what its pages do. */
export async function openDevice(
  browser: Browser,
  origin: string,
  { shape = phone }: { shape?: Shape } = {},
): Promise<Device> {
  const context = await browser.newContext({ ...shape, reducedMotion: 'reduce' })
  const page = await context.newPage()
  const { cdp, authenticatorId } = await addAuthenticator(page)
  const faults: Faults = { console: [], policy: [], elsewhere: [] }
  const sent: string[] = []
  page.on('console', (message) => {
    // The browser itself says so of an answer that the page expects: nobody is signed in, a code is unknown.
    if (message.type() === 'error' && !/status of 40[1349]/.test(message.text()))
      faults.console.push(message.text())
  })
  page.on('pageerror', (error) => faults.console.push(error.message))
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.pathname === '/csp-report') faults.policy.push(request.postData() ?? '')
    if (url.origin === origin && request.method() !== 'GET') sent.push(`${request.method()} ${url.pathname}`)
    const isOurs = ['localhost', '127.0.0.1'].includes(url.hostname) || url.protocol === 'data:'
    if (!isOurs) faults.elsewhere.push(request.url())
  })
  return { context, page, cdp, authenticatorId, faults, sent }
}

export function expectNoFaults({ faults }: Device): void {
  expect(faults).toEqual({ console: [], policy: [], elsewhere: [] })
}

/** Signs in through the provider, as a person does, and comes back to the page that was asked for. */
export async function signIn({ page }: Device, origin: string, email: string, path = '/'): Promise<void> {
  await page.goto(origin + path)
  await page.getByTestId('sign-in').click()
  await page.locator('input:not([type=hidden])').first().fill(email)
  await page.locator('button[type=submit], input[type=submit], button').first().click()
  await page.waitForURL((url) => url.origin === origin && !url.pathname.startsWith('/api/'))
}

/** The same without its pages, which take longer to draw than what most tests look at. */
export async function signInUnseen({ context }: Device, origin: string, email: string): Promise<void> {
  const asked = await context.request.get(`${origin}/api/v1/auth/start?browser=1&return=/`)
  const back = await context.request.post(asked.url(), { form: { login: email } })
  expect(back.url()).toBe(`${origin}/`)
}

/** A request of the page itself, with the cookie that it cannot read. */
export async function callFrom(
  { page }: Device,
  method: string,
  path: string,
  body?: unknown,
  workspaceId?: string,
): Promise<Pick<Answer, 'status' | 'body'>> {
  const headers = {
    'content-type': 'application/json',
    'x-guild-app': '1',
    ...(workspaceId && { 'x-workspace-id': workspaceId }),
  }
  return page.evaluate(
    async ({ method, path, body, headers }) => {
      const response = await fetch(path, {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
      })
      return { status: response.status, body: await response.json() }
    },
    { method, path, body, headers },
  )
}
