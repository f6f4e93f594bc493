import type { IncomingHttpHeaders } from 'node:http'
import type { Deps } from '#platform/deps.ts'
import type { PageFile, Pages } from '#transports/http/pages.ts'
import type { RawRoute } from '#transports/http/raw-route.ts'
import { readFiles } from './files.ts'

type Config = Deps['config']

/** Where other things than pages are: what is unknown there is no page either. */
const notPages = [
  '/api',
  '/oauth',
  '/mcp',
  '/.well-known',
  '/healthz',
  '/readyz',
  '/metrics',
  '/openapi.json',
]
const loopback = /^(?:127\.0\.0\.1|\[::1\])(?::\d+)?$/

/**
 * The app, held in memory: what was built is small and does not change while a process runs. Undefined where nothing was
 * built, or where the app has another address than the API and could not sign anybody in here.
 */
export function createPages({ config, logger }: Pick<Deps, 'config' | 'logger'>): Pages | undefined {
  const { appOrigin, appDirectory } = config
  if (appOrigin === undefined) return undefined
  const policy = policyOf(config, appOrigin)
  const files = readFiles(appDirectory, (path) => headersOf(path, policy))
  const index = files.get('/index.html')
  if (!index) {
    logger.info({ directory: appDirectory }, 'no app is served: nothing was built there')
    return undefined
  }
  const isLocal = new URL(appOrigin).hostname === 'localhost'
  return {
    find: (path, headers) => {
      const isDocument = wantsDocument(headers)
      // Passkeys and the cookie are bound to the one name.
      if (isDocument && isLocal && isPage(path) && loopback.test(headers.host ?? ''))
        return { redirect: appOrigin }
      return files.get(path) ?? (isDocument && isPage(path) ? index : undefined)
    },
  }
}

function isPage(path: string): boolean {
  return !notPages.some((other) => path === other || path.startsWith(`${other}/`))
}

function wantsDocument(headers: IncomingHttpHeaders): boolean {
  const destination = headers['sec-fetch-dest']
  if (destination !== undefined) return destination === 'document'
  return headers.accept?.includes('text/html') ?? false
}

function headersOf(path: string, policy: string): PageFile['headers'] {
  if (path.startsWith('/assets/')) return { 'cache-control': 'public, max-age=31536000, immutable' }
  const hasPolicy = /\.(?:html|js|webmanifest)$/.test(path)
  return {
    'cache-control': 'no-cache',
    ...(hasPolicy ? { 'content-security-policy': policy } : {}),
    ...(path.endsWith('.html') ? documentHeaders : {}),
  }
}

const documentHeaders = {
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy':
    'camera=(), microphone=(), geolocation=(), publickey-credentials-get=(self), publickey-credentials-create=(self)',
  // The same address is an unknown one to whoever asks for no page.
  vary: 'accept-encoding, accept, sec-fetch-dest',
}

/** What the app may load, say and become part of. A file of somebody's can never be a script: those have a path of their own. */
function policyOf({ streamUrl, publicUrl }: Config, origin: string): string {
  const { protocol, host } = new URL(publicUrl)
  const talksTo = new Set([
    "'self'",
    ...[new URL(streamUrl).origin].filter((stream) => stream !== origin),
    `${protocol === 'https:' ? 'wss' : 'ws'}://${host}`,
  ])
  return [
    "default-src 'none'",
    `script-src ${origin}/assets/`,
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src ${[...talksTo].join(' ')}`,
    "manifest-src 'self'",
    `worker-src ${origin}/sw.js`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types guildhall',
    'report-uri /csp-report',
  ].join('; ')
}

/** Where browsers tell what the policy kept from the app. Counted only: what a report says is whatever a page wants. */
export function reportRoute({ metrics }: Pick<Deps, 'metrics'>): RawRoute {
  return {
    name: 'cspReport',
    method: 'POST',
    path: '/csp-report',
    limits: ['report'],
    handle: async ({ response }) => {
      metrics.policyReports.inc()
      response.writeHead(204).end()
    },
  }
}
