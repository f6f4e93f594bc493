import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../../../test/support/browser.ts'
import { installErrand, script } from '../../../test/support/executions.ts'
import { freePort } from '../../../test/support/free-port.ts'
import { bundle, installPackage } from './package/installed.ts'
import { app, baseUrl, pageOrigin } from './support/stack.ts'

/** Chromium knows no server of a page that a test makes up, and would ask a person before it may reach this machine. */
const localPages = '--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets'

/** The library where people's browsers are: bundled into a page, and in an app that sends them to consent. */
let folder: string
let code: string
let browser: Browser

beforeAll(async () => {
  folder = installPackage().folder
  code = await bundle(
    folder,
    `import { runInPage } from './browser.mjs'
     import { Guildhall } from '@guildhall/sdk'
     Object.assign(window, { runInPage, Guildhall })`,
  )
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', localPages] })
}, 240_000)

afterAll(() => browser?.close())

/** A page at this origin, whoever serves the rest of it. */
async function pageAt(origin: string): Promise<Page> {
  const page = await browser.newPage()
  const body = `<!doctype html><script type="module">${code}</script>`
  await page.route(`${origin}/page`, (route) => route.fulfill({ contentType: 'text/html', body }))
  await page.goto(`${origin}/page`)
  await page.waitForFunction('window.runInPage')
  return page
}

async function newSession(): Promise<string> {
  const person = await app.newPerson()
  await installErrand(app, person)
  return person.token
}

/** What a piece of the page's own code gives; `given` stands for what it is told. */
const inPage = (page: Page, given: object, work: string) =>
  page.evaluate(`(async (given) => { ${work} })(${JSON.stringify(given)})`)

describe.each([
  ['of the same origin as the service', baseUrl],
  ['of another origin that the service lets in', pageOrigin],
])('a page %s', (_, origin) => {
  test('runs a skill, follows it to its end, and hears what happens', async () => {
    const page = await pageAt(origin)
    const given = {
      baseUrl,
      authToken: await newSession(),
      slug: 'errand',
      input: script({ say: 'Looking.' }),
    }
    const said = await inPage(
      page,
      given,
      `const shown = [], heard = []
       const guild = new Guildhall({ baseUrl: given.baseUrl, authToken: given.authToken })
       const stop = new AbortController()
       const listening = (async () => {
         for await (const { type } of guild.events.subscribe({ signal: stop.signal })) heard.push(type)
       })().catch(() => {})
       while (heard.length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
       const result = await runInPage({ ...given, show: (text) => shown.push(text) })
       while (!heard.includes('execution-started')) await new Promise((resolve) => setTimeout(resolve, 20))
       stop.abort()
       await listening
       return { shown, result, first: heard[0] }`,
    )
    expect(said).toEqual({
      result: { status: 'completed', cost: expect.any(Number) },
      shown: [expect.stringContaining('Looking.')],
      first: 'connected',
    })
    await page.close()
  })

  test('is told what was refused, and by which request', async () => {
    const page = await pageAt(origin)
    const given = { baseUrl, authToken: await newSession() }
    const refused = await inPage(
      page,
      given,
      `return new Guildhall(given).skills.get('none-such').catch(({ name, status, requestId }) => ({ name, status, requestId }))`,
    )
    expect(refused).toEqual({ name: 'NotFoundError', status: 404, requestId: expect.any(String) })
    const key = await inPage(
      page,
      { baseUrl, apiKey: 'guild_live_x' },
      `try { new Guildhall(given) } catch ({ name }) { return name }`,
    )
    expect(key).toBe('ConfigurationError')
    await page.close()
  })
})

test('a page of an origin that the service does not know gets nothing', async () => {
  const page = await pageAt('http://localhost:4998')
  const given = { baseUrl, authToken: await newSession() }
  const refused = await inPage(
    page,
    given,
    `return new Guildhall({ ...given, maxRetries: 0 }).workspaces.list().catch(({ name }) => name)`,
  )
  expect(refused).toBe('ConnectionError')
  await page.close()
})

test('oauth-app.mjs acts for the person who connects it, and for no other browser', async () => {
  const port = await freePort()
  const own = `http://127.0.0.1:${port}`
  const owner = await app.newPerson()
  const registered = await app.call('POST', '/api/v1/oauth/clients', {
    token: owner.token,
    body: { name: 'Reports', redirect_uris: [`${own}/callback`], public: true },
  })
  const env = {
    PATH: '/usr/bin:/bin',
    GUILD_BASE_URL: baseUrl,
    CLIENT_ID: registered.body.client_id,
    PORT: String(port),
  }
  const child = spawn(process.execPath, ['oauth-app.mjs'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await once(createInterface({ input: child.stdout }), 'line')
    const login = `oauth-app-${process.pid}@example.test`
    const consent = async (stopAt: string) => {
      const visitor = openBrowser({ stopAt })
      const page = await visitor.submit(await visitor.submit(await visitor.open(`${own}/`)), { login })
      return visitor.submit(page, { decision: 'allow' })
    }
    expect(await consent('nowhere:')).toMatchObject({
      status: 200,
      text: expect.stringMatching(/^Connected to \S/),
    })
    // The address that one browser came back with is of no use to another.
    const { url } = await consent(`${own}/callback`)
    expect(url.searchParams.has('code')).toBe(true)
    expect((await fetch(url)).status).toBe(400)
  } finally {
    child.kill()
    await once(child, 'close')
  }
})
