import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { type Answer, type Caller, createCaller, type Person } from '../support/caller.ts'
import { addAuthenticator, launchBrowser } from './support/browser.ts'

/**
 * A real browser with an authenticator in software, on a page of another origin than the API's, as the app is. The
 * page is the least there can be: what it does is in the test.
 */
const bundle = readFileSync(
  new URL(
    import.meta.resolve('@simplewebauthn/browser').replace(/esm\/index\.js$/, 'dist/bundle/index.umd.min.js'),
  ),
)

let pages: Server
let stack: SpawnedStack
let browser: Browser
let app: Caller

beforeAll(async () => {
  pages = createServer((request, response) => {
    if (request.url === '/passkeys.js')
      return response.setHeader('content-type', 'text/javascript').end(bundle)
    response.setHeader('content-type', 'text/html')
    response.end('<!doctype html><title>App</title><script src="/passkeys.js"></script>')
  })
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
  const origin = `http://localhost:${(pages.address() as AddressInfo).port}`
  const settings = ['--env', `APP_URL=${origin}`, '--env', `CORS_ORIGINS=${origin}`]
  ;[stack, browser] = await Promise.all([spawnStack([...settings, '--limits', 'off']), launchBrowser()])
  app = createCaller(stack.baseUrl)
})

afterAll(async () => {
  await browser?.close()
  pages?.close()
  pages?.closeAllConnections()
  expect(await stack?.stop()).toBe(0)
})

interface Device {
  page: Page
  cdp: CDPSession
  authenticatorId: string
}

async function openDevice(): Promise<Device> {
  const context = await browser.newContext()
  const page = await context.newPage()
  const { cdp, authenticatorId } = await addAuthenticator(page)
  await page.goto(`http://localhost:${(pages.address() as AddressInfo).port}/`)
  return { page, cdp, authenticatorId }
}

/** A request of the page itself: with its origin, and only if the API's CORS answer lets it. */
async function callFrom(
  page: Page,
  person: Person,
  method: string,
  path: string,
  body?: unknown,
): Promise<Pick<Answer, 'status' | 'body'>> {
  return page.evaluate(
    async ({ url, method, token, body }) => {
      const response = await fetch(url, {
        method,
        headers: { 'content-type': 'application/json', 'x-auth-token': token },
        body: body === undefined ? null : JSON.stringify(body),
      })
      return { status: response.status, body: await response.json() }
    },
    { url: stack.baseUrl + path, method, token: person.token, body },
  )
}

type Ceremony = 'startRegistration' | 'startAuthentication'

/** What the browser answers, or the name of the error it refuses with. */
async function perform(page: Page, ceremony: Ceremony, optionsJSON: unknown) {
  return page.evaluate(
    async ({ ceremony, optionsJSON }) => {
      // biome-ignore lint/suspicious/noExplicitAny: the library's global in the page
      const library = (globalThis as any).SimpleWebAuthnBrowser
      try {
        return { credential: await library[ceremony]({ optionsJSON }) }
      } catch (error) {
        return { refused: (error as Error).name }
      }
    },
    { ceremony, optionsJSON },
  )
}

async function prepare({ page }: Device, person: Person, wish: Record<string, unknown> = {}) {
  const options = await callFrom(page, person, 'POST', '/api/v1/passkeys/options', wish)
  expect(options.status, JSON.stringify(options.body)).toBe(200)
  return options.body
}

async function registerPasskey(device: Device, person: Person) {
  const { registration } = await prepare(device, person)
  const { credential } = await perform(device.page, 'startRegistration', registration)
  return callFrom(device.page, person, 'POST', '/api/v1/passkeys', { name: 'Chromium', credential })
}

test('a person registers a passkey, and a full key needs it from then on', async () => {
  const [person, device] = [await app.newPerson(), await openDevice()]
  const { page } = device
  const registered = await registerPasskey(device, person)
  expect(registered.status, JSON.stringify(registered.body)).toBe(201)
  expect(registered.body).toMatchObject({ name: 'Chromium', lastUsedAt: null })

  const wish = { label: 'from the browser', access: 'full' }
  const without = await callFrom(page, person, 'POST', '/api/v1/keys', wish)
  expect(without).toMatchObject({ status: 403, body: { error: { details: { device_auth_required: true } } } })

  for (let i = 0; i < 2; i++) {
    const { assertion } = await prepare(device, person, { purpose: 'create-key', access: 'full' })
    const { credential } = await perform(page, 'startAuthentication', assertion)
    const body = { ...wish, device_auth: credential }
    const made = await callFrom(page, person, 'POST', '/api/v1/keys', body)
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    expect(made.body.scopes).toEqual(['*'])
    expect((await callFrom(page, person, 'POST', '/api/v1/keys', body)).status).toBe(403)
  }

  const { assertion } = await prepare(device, person, { purpose: 'remove', passkeyId: registered.body.id })
  const { credential } = await perform(page, 'startAuthentication', assertion)
  const path = `/api/v1/passkeys/${registered.body.id}`
  const removed = await callFrom(page, person, 'DELETE', path, { device_auth: credential })
  expect(removed).toEqual({ status: 200, body: { success: true } })
})

test('who fails the user verification is refused by the browser, and by the API where the browser was lenient', async () => {
  const [person, device] = [await app.newPerson(), await openDevice()]
  const { page, cdp, authenticatorId } = device
  expect((await registerPasskey(device, person)).status).toBe(201)
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
  const { assertion } = await prepare(device, person, { purpose: 'create-key', access: 'full' })
  expect(await perform(page, 'startAuthentication', assertion)).toEqual({ refused: 'NotAllowedError' })

  // A page that was tampered with asks for less; the signature is right, but says that nobody was verified.
  const lenient = { ...assertion, userVerification: 'discouraged' }
  const { credential } = await perform(page, 'startAuthentication', lenient)
  expect(credential).toMatchObject({ type: 'public-key' })
  const wish = { label: 'not verified', device_auth: credential }
  const refused = await callFrom(page, person, 'POST', '/api/v1/keys', wish)
  expect(refused).toMatchObject({ status: 403, body: { error: { details: { device_auth_required: true } } } })

  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
  const verified = await perform(page, 'startAuthentication', assertion)
  const made = await callFrom(page, person, 'POST', '/api/v1/keys', {
    ...wish,
    device_auth: verified.credential,
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
})

test('the same device does not register twice, and a second device needs the first', async () => {
  const [person, phone, laptop] = [await app.newPerson(), await openDevice(), await openDevice()]
  expect((await registerPasskey(phone, person)).status).toBe(201)
  const { registration } = await prepare(phone, person)
  expect(await perform(phone.page, 'startRegistration', registration)).toEqual({
    refused: 'InvalidStateError',
  })
  expect((await registerPasskey(laptop, person)).status).toBe(403)
  const options = await prepare(laptop, person)
  const added = await perform(laptop.page, 'startRegistration', options.registration)
  const consent = await perform(phone.page, 'startAuthentication', options.assertion)
  const body = { credential: added.credential, device_auth: consent.credential }
  expect((await callFrom(laptop.page, person, 'POST', '/api/v1/passkeys', body)).status).toBe(201)
})
