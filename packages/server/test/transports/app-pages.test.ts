import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase, type House, nowhere, openHouse } from '../support/house.ts'

/** The app's files, as the API serves them. */
const script = `export const text = ${JSON.stringify('guildhall '.repeat(500))}\n`
const index = '<!doctype html><title>Guildhall</title><script type="module" src="/assets/app-1.js"></script>'
let folder: string
let databaseUrl: string
let house: House

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guildhall-app-'))
  mkdirSync(join(folder, 'assets'))
  for (const [path, text] of Object.entries({
    'index.html': index,
    'assets/app-1.js': script,
    'assets/sans.woff2': 'font',
    'sw.js': 'self.x = 1',
    'manifest.webmanifest': '{}',
    'icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  }))
    writeFileSync(join(folder, path), text)
  databaseUrl = await createDatabase()
  house = await openApp()
})
afterAll(async () => {
  await house.close()
  rmSync(folder, { recursive: true })
})

const openApp = (env: Record<string, string> = {}) =>
  openHouse({ DATABASE_URL: databaseUrl, PUBLIC_URL: 'http://localhost:4100', APP_DIR: folder, ...env })

interface Got {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: Buffer
}

/** Unlike fetch it sends any host, and shows what came before anybody decoded it. */
function ask(
  path: string,
  headers: Record<string, string> = {},
  { of = house, method = 'GET' } = {},
): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = get(
      of.url + path,
      { method, headers: { host: 'localhost:4100', ...headers } },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
          }),
        )
      },
    )
    request.on('error', reject)
  })
}

const document = { accept: 'text/html,application/xhtml+xml', 'sec-fetch-dest': 'document' }
const apiPolicy = "default-src 'none'; frame-ancestors 'none'"

describe('a document', () => {
  test.each([
    '/',
    '/requests/x',
    '/pair?code=WDJB-MJHT',
    '/pair/WDJB-MJHT',
    '/sign-in',
    '/app',
    '/a/b/c',
    '/apiary',
  ])('is the app at %s', async (path) => {
    for (const headers of [document, { accept: 'text/html' }]) {
      const { status, headers: sent, body } = await ask(path, headers)
      expect([status, body.toString()]).toEqual([200, index])
      expect(sent).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'cross-origin-opener-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      })
      expect(sent['permissions-policy']).toContain('publickey-credentials-get=(self)')
      expect(sent['vary']).toContain('sec-fetch-dest')
    }
  })

  test('has a policy that lets nothing in but the app’s own files', async () => {
    const { headers } = await ask('/', document)
    expect(String(headers['content-security-policy']).split('; ')).toEqual([
      "default-src 'none'",
      'script-src http://localhost:4100/assets/',
      "style-src 'self'",
      "img-src 'self' data:",
      "font-src 'self'",
      "connect-src 'self' ws://localhost:4100",
      "manifest-src 'self'",
      'worker-src http://localhost:4100/sw.js',
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      'trusted-types guildhall',
      'report-uri /csp-report',
    ])
    const apart = await openApp({ PUBLIC_URL: 'https://g.example', STREAM_URL: 'https://stream.g.example' })
    try {
      const other = await ask('/', document, { of: apart })
      expect(other.headers['content-security-policy']).toContain(
        "connect-src 'self' https://stream.g.example wss://g.example;",
      )
    } finally {
      await apart.close()
    }
  })

  test.each([
    '/api/v1/nothing',
    '/api',
    '/oauth/nothing',
    '/mcp/nothing',
    '/.well-known/nothing',
    '/metrics/x',
    '/openapi.json/x',
  ])('is none of ours at %s', async (path) => {
    const { status, headers, body } = await ask(path, document)
    expect([status, JSON.parse(body.toString()).error.code]).toEqual([404, 'NOT_FOUND'])
    expect(headers['content-security-policy']).toBe(apiPolicy)
    expect(headers['x-ratelimit-limit']).toBeDefined()
  })

  test.each([
    ['/requests/x', { accept: 'application/json' }],
    ['/requests/x', {}],
    ['/requests/x', { accept: 'text/html', 'sec-fetch-dest': 'iframe' }],
    ['/assets/gone-2.js', { accept: '*/*', 'sec-fetch-dest': 'script' }],
    ['/assets/../package.json', { accept: '*/*' }],
    ['/assets/%2e%2e/%2e%2e/package.json', { accept: '*/*' }],
    ['//evil.example', { accept: '*/*' }],
  ])('is nothing that %s asks for with %j', async (path, headers) => {
    const { status, body } = await ask(path, headers)
    expect([status, JSON.parse(body.toString()).error.code]).toEqual([404, 'NOT_FOUND'])
  })

  test('goes to the one name of this machine that passkeys and cookies are bound to', async () => {
    for (const host of ['127.0.0.1:4100', '[::1]:4100', '127.0.0.1']) {
      const { status, headers } = await ask('/pair?code=A', { ...document, host })
      expect([status, headers['location']]).toEqual([308, 'http://localhost:4100/pair?code=A'])
      expect((await ask('/assets/app-1.js', { host })).status).toBe(200)
      expect((await ask('/api/v1/meta', { host, accept: 'application/json' })).status).toBe(200)
      expect((await ask('//evil.example/', { ...document, host })).headers['location']).toBe(
        'http://localhost:4100//evil.example/',
      )
    }
    for (const host of ['evil.example', '127.0.0.1.evil.example']) {
      expect((await ask('/', { ...document, host })).status).toBe(200)
    }
  })

  test('is answered to HEAD without its body, and to nothing that writes', async () => {
    const head = await ask('/', document, { method: 'HEAD' })
    expect([head.status, head.body.length, head.headers['content-length']]).toEqual([
      200,
      0,
      String(index.length),
    ])
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect((await ask('/', document, { method })).status).toBe(404)
  })
})

describe('a file', () => {
  test('that is named by its content is kept for good, and is no page', async () => {
    const { status, headers, body } = await ask('/assets/app-1.js')
    expect([status, body.toString()]).toEqual([200, script])
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': apiPolicy,
      vary: 'accept-encoding',
    })
    expect((await ask('/assets/sans.woff2')).headers['content-type']).toBe('font/woff2')
  })

  test('of the worker and the manifest is asked for anew, under the app’s policy', async () => {
    const policy = (await ask('/', document)).headers['content-security-policy']
    for (const path of ['/sw.js', '/manifest.webmanifest']) {
      const { headers } = await ask(path)
      expect([headers['cache-control'], headers['content-security-policy']]).toEqual(['no-cache', policy])
    }
    expect((await ask('/icon.svg')).headers['content-security-policy']).toBe(apiPolicy)
  })

  test('comes as small as the browser can read it', async () => {
    const as = (accepted: string) => ask('/assets/app-1.js', { 'accept-encoding': accepted })
    const [br, gzip, plain] = [await as('gzip, deflate, br'), await as('gzip'), await as('identity')]
    expect([br, gzip, plain].map(({ headers }) => headers['content-encoding'])).toEqual([
      'br',
      'gzip',
      undefined,
    ])
    expect(brotliDecompressSync(br.body).toString()).toBe(script)
    expect(gunzipSync(gzip.body).toString()).toBe(script)
    expect(br.body.length).toBeLessThan(plain.body.length / 10)
    expect(new Set([br, gzip, plain].map(({ headers }) => headers['etag'])).size).toBe(3)
    expect((await as('br;q=0, gzip')).headers['content-encoding']).toBe('gzip')
    const font = await ask('/assets/sans.woff2', { 'accept-encoding': 'br' })
    expect(font.headers['content-encoding']).toBeUndefined()
  })

  test('that has not changed is not sent again', async () => {
    const first = await ask('/', { ...document, 'accept-encoding': 'br' })
    const etag = String(first.headers['etag'])
    const again = await ask('/', { ...document, 'accept-encoding': 'br', 'if-none-match': `"x", W/${etag}` })
    expect([again.status, again.body.length]).toEqual([304, 0])
    expect(again.headers['content-security-policy']).toBe(first.headers['content-security-policy'])
    const other = await ask('/', { ...document, 'if-none-match': etag })
    expect(other.status).toBe(200)
    const hash = createHash('sha256').update(index).digest('base64url').slice(0, 22)
    expect(other.headers['etag']).toBe(`"${hash}"`)
  })

  test('is counted under one name, and in nobody’s window', async () => {
    const strict = await openApp({ LIMITS: 'rest=3/60,refused=3/60' })
    try {
      for (let i = 0; i < 8; i++) {
        const { status, headers } = await ask(`/requests/${i}`, document, { of: strict })
        expect([status, headers['x-ratelimit-limit']]).toEqual([200, undefined])
      }
      const metrics = (await ask('/metrics', {}, { of: strict })).body.toString()
      expect(metrics).toMatch(/route="app"/)
      expect(metrics).not.toContain('/requests/')
    } finally {
      await strict.close()
    }
  })
})

describe('without the app', () => {
  test('all else is as ever, and the log says why there is none', async () => {
    const bare = await openApp({ APP_DIR: join(folder, 'not-there') })
    try {
      for (const path of ['/', '/assets/app-1.js'])
        expect((await ask(path, document, { of: bare })).status).toBe(404)
      expect((await ask('/api/v1/meta', {}, { of: bare })).status).toBe(200)
      expect(bare.log()).toContain('no app is served')
    } finally {
      await bare.close()
    }
  })

  test('where it has another address than the API it is not served here', async () => {
    const apart = await openApp({ APP_URL: 'https://app.example' })
    try {
      expect((await ask('/', document, { of: apart })).status).toBe(404)
    } finally {
      await apart.close()
    }
  })
})

test('it opens while the database and Redis are away', async () => {
  const cut = await openApp({ REDIS_URL: `redis://${nowhere}` })
  try {
    Object.defineProperty(cut.deps.database, 'available', { get: () => false })
    expect((await ask('/', document, { of: cut })).status).toBe(200)
    expect((await ask('/api/v1/meta', {}, { of: cut })).status).toBe(503)
  } finally {
    await cut.close()
  }
})

describe('reports of the policy', () => {
  test('are counted, at most ten a minute from one address, and small', async () => {
    const strict = await openApp({ LIMITS: 'report=10/60' })
    const post = (body: string, type: string) =>
      fetch(`${strict.url}/csp-report`, { method: 'POST', headers: { 'content-type': type }, body })
    try {
      const small = JSON.stringify({ 'csp-report': { 'blocked-uri': 'https://evil.example' } })
      expect((await post(small, 'application/csp-report')).status).toBe(204)
      expect((await post(`[${small}]`, 'application/reports+json')).status).toBe(204)
      expect((await post('x'.repeat(9000), 'application/csp-report')).status).toBe(400)
      const statuses = []
      for (let i = 0; i < 12; i++) statuses.push((await post(small, 'application/csp-report')).status)
      expect(statuses).toContain(429)
      const metrics = (await ask('/metrics', {}, { of: strict })).body.toString()
      const counted = Number(/^guildhall_policy_reports_total (\d+)/m.exec(metrics)?.[1])
      expect(counted).toBeGreaterThanOrEqual(2)
      expect(counted).toBeLessThanOrEqual(10)
      expect(strict.log()).not.toContain('evil.example')
    } finally {
      await strict.close()
    }
  })
})
