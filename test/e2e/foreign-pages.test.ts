import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { launchBrowser } from './support/browser.ts'

/**
 * What a real browser sends along from pages that are not the app's own, in every way that a page has of sending. That
 * the server lets none of it count is tried for every route in the server's tests; here it is tried that no browser finds a
 * way round them. Chromium takes every name below localhost for this machine, and for a secure one.
 */
let stack: SpawnedStack
let browser: Browser
let database: pg.Client
let foreign: Server
let appOrigin: string
let pages: string

beforeAll(async () => {
  foreign = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Foreign</title>')
  })
  pages = mkdtempSync(join(tmpdir(), 'guildhall-app-'))
  writeFileSync(join(pages, 'index.html'), '<!doctype html><title>App</title>')
  await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve))
  ;[stack, browser] = await Promise.all([
    // A name of its own, so that there can be siblings of it.
    spawnStack([
      ...'--limits off --host app.guild.localhost --env LOG_LEVEL=debug'.split(' '),
      '--env',
      `APP_DIR=${pages}`,
    ]),
    launchBrowser(),
  ])
  appOrigin = stack.baseUrl
  database = new pg.Client({ connectionString: stack.databaseUrl })
  await database.connect()
})

afterAll(async () => {
  await browser?.close()
  await database?.end()
  foreign?.close()
  foreign?.closeAllConnections()
  rmSync(pages, { recursive: true })
  expect(await stack?.stop()).toBe(0)
})

/** A browser that came back from the identity provider, by one click there. */
async function signedIn(): Promise<BrowserContext> {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${appOrigin}/api/v1/auth/start?browser=1&return=/`)
  expect(new URL(page.url()).origin).toBe(stack.identityUrl)
  await Promise.all([page.waitForURL(`${appOrigin}/`), page.click('button')])
  await page.close()
  const cookies = await context.cookies(appOrigin)
  expect(cookies).toMatchObject([{ name: '__Host-guild', httpOnly: true, secure: true, sameSite: 'Strict' }])
  return context
}

const portOf = () => (foreign.address() as AddressInfo).port
const places = {
  'another site': () => `http://evil.localhost:${portOf()}/`,
  'another port of the same host': () => `http://app.guild.localhost:${portOf()}/`,
  'a sibling host': () => `http://evil.guild.localhost:${portOf()}/`,
}

/** Sends in every way a page has, and waits until all has arrived or failed. In the browser's language, not in ours. */
const sendInEveryWay = `async (target) => {
  const settle = (work) => work.catch(() => undefined)
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
  const json = { 'content-type': 'application/json', 'x-guild-app': '1' }
  const send = (method, init) => settle(fetch(target, { method, credentials: 'include', ...init }))
  const reads = (method) => method === 'GET' || method === 'HEAD'
  const loads = (tag, attribute, fields = {}) =>
    new Promise((resolve) => {
      const element = Object.assign(document.createElement(tag), fields)
      element.addEventListener('load', resolve)
      element.addEventListener('error', resolve)
      element.setAttribute(attribute, target)
      document.body.append(element)
      setTimeout(resolve, 2000)
    })
  await Promise.all([
    ...methods.flatMap((method) => [
      send(method),
      send(method, { headers: json, ...(reads(method) ? {} : { body: '{}' }) }),
    ]),
    ...['GET', 'HEAD', 'POST'].map((method) => send(method, { mode: 'no-cors' })),
    send('POST', { mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body: '{}' }),
    loads('img', 'src'),
    loads('script', 'src'),
    loads('iframe', 'src'),
    loads('object', 'data'),
    loads('link', 'href', { rel: 'stylesheet' }),
    new Promise((resolve) => {
      const source = new EventSource(target, { withCredentials: true })
      source.onerror = source.onopen = () => {
        source.close()
        resolve()
      }
    }),
  ])
  navigator.sendBeacon(target, '{}')
  for (const enctype of ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']) {
    for (const method of ['get', 'post']) {
      const frame = Object.assign(document.createElement('iframe'), { name: enctype + method })
      const form = Object.assign(document.createElement('form'), { action: target, method, enctype, target: frame.name })
      form.append(Object.assign(document.createElement('input'), { name: 'a', value: 'b' }))
      document.body.append(frame, form)
      const loaded = new Promise((resolve) => {
        frame.addEventListener('load', resolve)
        setTimeout(resolve, 2000)
      })
      form.submit()
      await loaded
    }
  }
}`

/** A frame of which nobody knows where it comes from, that sends what it can. */
const sendFromSandbox = `(target) =>
  new Promise((resolve) => {
    const frame = document.createElement('iframe')
    frame.setAttribute('sandbox', 'allow-scripts allow-forms')
    frame.srcdoc = '<form action="' + target + '"></form><script>Promise.allSettled(["GET", "HEAD"].map((method) => ' +
      'fetch("' + target + '", { method, credentials: "include", mode: "no-cors" })))' +
      '.then(() => { document.forms[0].submit() })</' + 'script>'
    frame.addEventListener('load', () => setTimeout(resolve, 1500))
    document.body.append(frame)
  })`

/** What the app's own page does: reads, writes without and with the header, and keeps something. */
const useOwnSession = `async () => {
  const status = async (path, init) => (await fetch(path, init)).status
  const post = (path, headers) => status(path, { method: 'POST', headers })
  localStorage.setItem('kept', 'by the app')
  return {
    statuses: [
      await status('/api/v1/auth/session'),
      await post('/api/v1/auth/sessions/end-others', {}),
      await post('/api/v1/auth/sessions/end-others', { 'x-guild-app': '1' }),
    ],
    visible: document.cookie,
  }
}`
const signOut = `async () =>
  (await fetch('/api/v1/auth/sign-out', { method: 'POST', headers: { 'x-guild-app': '1' } })).status`

const inPage = (page: Page, script: string, argument = ''): Promise<unknown> =>
  page.evaluate(`(${script})(${JSON.stringify(argument)})`)

interface Logged {
  readonly route?: string
  readonly method: string
  readonly status: number
}

/** What the server says it answered to requests of this route: what a browser keeps from a page has arrived all the same. */
async function answered(path: string, work: () => Promise<void>): Promise<Logged[]> {
  const logFile = join(stack.dir, 'logs', 'api-1.log')
  const before = readFileSync(logFile).length
  await work()
  // A line is written when the answer is out.
  await new Promise((resolve) => setTimeout(resolve, 500))
  const lines = readFileSync(logFile).subarray(before).toString().split('\n')
  const logged = lines.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Logged] : []))
  return logged.filter(({ route }) => route === path)
}

const readable = '/api/v1/auth/session'
const writable = '/api/v1/auth/sessions/end-others'
const accepted = ({ status }: Logged) => status < 400
const sessions = async () => Number((await database.query('select count(*) from sessions')).rows[0].count)

test.each(Object.entries(places))('nothing that a page on %s sends counts', async (_place, address) => {
  for (const path of [readable, writable]) {
    const context = await signedIn()
    const before = await sessions()
    const page = await context.newPage()
    const all = await answered(path, async () => {
      await page.goto(address())
      await inPage(page, sendInEveryWay, appOrigin + path)
      await page.goto(appOrigin + path).catch(() => undefined)
    })
    expect(all.length, 'requests that arrived').toBeGreaterThanOrEqual(path === readable ? 9 : 6)
    expect(all.filter(accepted)).toEqual([])
    expect(await sessions()).toBe(before)
    await context.close()
  }
})

test('a browser does send the cookie from the same site, so that SameSite alone would not do', async () => {
  const context = await signedIn()
  const withCookie: string[] = []
  context.on('request', async (request) => {
    const headers = await request.allHeaders().catch(() => ({}) as Record<string, string>)
    if (/__Host-guild=/.test(headers['cookie'] ?? ''))
      withCookie.push(`${request.method()} ${headers['sec-fetch-site']}`)
  })
  const page = await context.newPage()
  await page.goto(places['a sibling host']())
  await inPage(page, sendInEveryWay, appOrigin + writable)
  expect(withCookie).toContain('POST same-site')
  await context.close()
})

test('nothing counts from a sandboxed frame, whose origin is null, nor from an address that is typed', async () => {
  const context = await signedIn()
  const page = await context.newPage()
  const all = await answered(readable, async () => {
    await page.goto(places['a sibling host']())
    await inPage(page, sendFromSandbox, appOrigin + readable)
    expect((await page.goto(appOrigin + readable))?.status()).toBe(401)
  })
  expect(all.length).toBeGreaterThanOrEqual(3)
  expect(all.filter(accepted)).toEqual([])
  await context.close()
})

test('what a page of the app sends does, no script sees the cookie, and signing out takes it away', async () => {
  const context = await signedIn()
  const page = await context.newPage()
  await page.goto(`${appOrigin}/keys`)
  expect(await inPage(page, useOwnSession)).toEqual({ statuses: [200, 401, 200], visible: '' })
  expect(await inPage(page, signOut)).toBe(200)
  expect(await context.cookies(appOrigin)).toEqual([])
  await expect.poll(() => page.evaluate(`localStorage.getItem('kept')`)).toBeNull()
  await context.close()
})
