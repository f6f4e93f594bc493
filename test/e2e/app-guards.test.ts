import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { callFrom, type Device, expectNoFaults, shapes } from './support/app.ts'
import { addPasskey, api, ask, looked, newAgent, newPerson, origin, pollOf } from './support/app-house.ts'
import { hindrancesOf } from './support/axe.ts'

test('no link decides anything, whatever it looks like', async () => {
  const device = await newPerson()
  const { page, sent } = device
  await addPasskey(device)
  const { id: keyId, key } = await newAgent(device)
  const id = await ask(key)
  const { userCode } = await api.newCode()
  const paths = ['/', `/approvals/${id}`, `/requests/${id}`, `/consents/${id}`, `/pair/${userCode}`]
  const others = [
    `/pair?code=${userCode}`,
    '/pair',
    '/agents',
    `/agents/${keyId}`,
    '/settings',
    '/settings/passkeys',
    '/settings/apps',
    '/settings/members',
    '/settings/invitations',
  ]
  const tails = ['', '?approve=1&allow=true#allow']
  sent.length = 0
  for (const path of [...paths, ...others, '/settings/sessions', '/sign-in', '/nowhere']) {
    for (const tail of tails) {
      await page.goto(origin + (path.includes('?') ? path + tail.replace('?', '&') : path + tail))
      await page.locator('h1').first().waitFor()
    }
  }
  expect(sent).toEqual([])
  expect((await pollOf(key, id)).status).toBe('pending')
  expectNoFaults(device)
})

/** What a page that is not looked at is told by its browser. Scripts of pages are text here: they are no part of Node. */
const notLookedAt = {
  hidden: `Object.defineProperty(document, 'visibilityState', { get: () => 'hidden', configurable: true })`,
  unfocused: `Object.defineProperty(document, 'hasFocus', { value: () => false, configurable: true })`,
} as const

/** Presses in the very moment in which the button appears. */
const pressEarly = `new MutationObserver((_changes, observer) => {
  const button = document.querySelector('[data-testid=allow]')
  if (!button || location.hash !== '#early') return
  observer.disconnect()
  button.click()
}).observe(document, { childList: true, subtree: true })`

const ways = [...Object.keys(notLookedAt), 'early'] as (keyof typeof notLookedAt | 'early')[]

/** How many times a yes was sent, when it was given in this way. */
async function yesGiven({ page, sent }: Device, id: string, way: (typeof ways)[number]): Promise<number> {
  await page.goto(`${origin}/agents`)
  sent.length = 0
  await page.goto(`${origin}/approvals/${id}${way === 'early' ? '#early' : ''}`)
  if (way !== 'early') {
    await page.getByTestId('allow').waitFor()
    await looked(page)
    await page.evaluate(notLookedAt[way])
    await page.getByTestId('allow').click()
  }
  await page.getByTestId('allow').or(page.getByTestId('decided-banner')).first().waitFor()
  await page.waitForTimeout(400)
  return sent.filter((line) => line.endsWith('/approve')).length
}

test('a yes that comes before anybody can have looked is none; without the guard it would be one', async () => {
  const guarded = await newPerson()
  await guarded.page.addInitScript({ content: pressEarly })
  const { key } = await newAgent(guarded)
  const id = await ask(key, { scope: 'profile:read' })
  for (const way of ways) expect([way, await yesGiven(guarded, id, way)]).toEqual([way, 0])
  expect((await pollOf(key, id)).status).toBe('pending')

  const folder = await mkdtemp(join(tmpdir(), 'app-'))
  try {
    const build = fileURLToPath(new URL('../../packages/web/build.ts', import.meta.url))
    await promisify(execFile)(process.execPath, [build, '--out', join(folder, 'dist')], {
      env: { ...process.env, APP_GUARDS: 'out' },
    })
    const bare = await newPerson()
    await bare.page.addInitScript({ content: pressEarly })
    await serveFrom(bare.page, join(folder, 'dist'))
    for (const way of ways) {
      const agent = await newAgent(bare, way)
      const request = await ask(agent.key, { scope: 'profile:read' })
      expect([way, await yesGiven(bare, request, way)]).toEqual([way, 1])
    }
    await bare.context.close()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

/** Gives the page another build of the app; everything else comes from the server. */
async function serveFrom(page: Page, folder: string): Promise<void> {
  const types: Record<string, string> = { html: 'text/html', js: 'text/javascript', css: 'text/css' }
  await page.route(
    (url) => url.origin === origin && !url.pathname.startsWith('/api/'),
    async (route) => {
      const { pathname } = new URL(route.request().url())
      const path = pathname.startsWith('/assets/') ? pathname : '/index.html'
      const body = await readFile(join(folder, path))
      await route.fulfill({ body, contentType: types[path.split('.').at(-1) ?? ''] ?? 'font/woff2' })
    },
  )
}

const hostile = {
  html: '<img src=x onerror=alert(1)><script>alert(2)</script>',
  link: '[click](javascript:alert(1)) ![](https://evil.test/a.png)',
  turned: 'harmless \u202Egnp.exe\u202C',
  invisible: 'a\u200Bb\u2060c',
  marks: `a${'\u0301'.repeat(500)}`,
  long: 'x'.repeat(2000),
}

test('what an agent writes is text: shown, marked and folded, and it asks nobody for anything', async () => {
  const device = await newPerson()
  const { page } = device
  const { key } = await newAgent(device, hostile.html.slice(0, 60))
  const reason = `${hostile.html} ${hostile.link} ${hostile.turned}`
  const lines = Array.from({ length: 100 }, (_, index) => `+line ${index}`).join('\n')
  const id = await ask(key, {
    scope: 'profile:read',
    reason,
    action: {
      summary: hostile.turned,
      tool: hostile.invisible,
      args: { ...hostile, [hostile.turned]: 1 },
      diff: lines,
    },
  })
  await page.goto(`${origin}/approvals/${id}`)
  await page.getByTestId('allow').waitFor()
  expect(await page.getByTestId('claim-reason').locator('img, script, a').count()).toBe(0)
  expect(await page.getByTestId('claim-reason').textContent()).toContain('<img src=x onerror=alert(1)>')
  expect(await page.locator('.strange').allTextContents()).toEqual(
    expect.arrayContaining(['U+202E', 'U+200B', expect.stringMatching(/^\+\d{2,3}$/)]),
  )
  expect(await page.getByTestId('allow').textContent()).toMatch(/\d+ lines not shown/)
  await page.getByTestId('show-all').click()
  expect(await page.getByTestId('allow').textContent()).not.toContain('not shown')
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  expectNoFaults(device)
})

test('no script can read the session, and signing out ends it', async () => {
  const device = await newPerson()
  const { page, context } = device
  const kept = await page.evaluate(`({
    cookie: document.cookie,
    local: Object.keys(localStorage),
    session: Object.keys(sessionStorage),
    address: location.href,
  })`)
  expect(kept).toEqual({ cookie: '', local: [], session: [], address: `${origin}/` })
  expect((await context.cookies()).filter(({ httpOnly }) => !httpOnly)).toEqual([])
  await page.goto(`${origin}/settings`)
  await page.getByTestId('sign-out').click()
  await page.getByTestId('sign-in').waitFor()
  expect((await callFrom(device, 'GET', '/api/v1/auth/session')).status).toBe(401)
  expectNoFaults(device)
})

test('while the network is away nothing can be decided, and the page says so', async () => {
  const device = await newPerson()
  const { page, context, sent } = device
  const { key } = await newAgent(device)
  const id = await ask(key, { scope: 'profile:read' })
  await page.goto(`${origin}/approvals/${id}`)
  await page.getByTestId('allow').waitFor()
  await looked(page)
  sent.length = 0
  await context.setOffline(true)
  await page.getByTestId('offline-banner').waitFor()
  expect(await page.getByTestId('allow').isDisabled()).toBe(true)
  expect(await page.getByTestId('deny').isDisabled()).toBe(true)
  await context.setOffline(false)
  await page.getByTestId('offline-banner').waitFor({ state: 'detached' })
  await page.waitForTimeout(500)
  expect(sent).toEqual([])
  expect((await pollOf(key, id)).status).toBe('pending')
})

test.each(shapes)(
  'on %s every page can be read and used by everybody, by day and by night',
  async (_name, shape) => {
    const device = await newPerson({ shape })
    const { page } = device
    const found: Record<string, string[]> = {}
    const look = async (name: string) => {
      const hindrances = await hindrancesOf(page)
      if (hindrances.length > 0) found[name] = hindrances
    }
    await look('empty inbox')
    await page.goto(`${origin}/settings/passkeys`)
    await page.getByTestId('passkey-add').waitFor()
    await look('no passkeys')
    await addPasskey(device)
    const { id: keyId, key } = await newAgent(device)
    const id = await ask(key)
    const consent = await api.call('POST', '/api/v1/agents/connect', {
      key,
      body: { requestedScopes: ['memory:read', 'memory:write', 'trace:read'] },
    })
    const { userCode } = await api.newCode()
    const pages: [string, string][] = [
      ['inbox', '/'],
      ['permission', `/approvals/${id}`],
      ['consent', `/approvals/${consent.body.consent_id}`],
      ['pair', '/pair'],
      ['agents', '/agents'],
      ['agent', `/agents/${keyId}`],
      ['settings', '/settings'],
      ['passkeys', '/settings/passkeys'],
      ['sessions', '/settings/sessions'],
      ['not found', '/nowhere'],
    ]
    for (const [name, path] of pages) {
      await page.goto(origin + path)
      await page.locator('h1').first().waitFor()
      await page.waitForTimeout(150)
      await look(name)
    }
    await page.goto(`${origin}/pair/${userCode}`)
    await page.getByTestId('pair-lookup').click()
    await page.getByTestId('pair-review').waitFor()
    await look('pair review')
    await page.goto(`${origin}/approvals/${id}`)
    await page.getByTestId('deny-reason-open').click()
    await page.getByTestId('reason-sheet').waitFor()
    await look('reason')
    expect(found).toEqual({})
    expectNoFaults(device)
  },
)
