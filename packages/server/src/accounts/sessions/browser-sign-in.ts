import { createHash, randomBytes } from 'node:crypto'
import { ApiError } from '#operations/errors.ts'
import type { Deps } from '#platform/deps.ts'

/** Of a sign-in that ends in a session of the browser that began it. */
export interface BrowserSignIn {
  /** The address of the page to go back to. */
  readonly returnTo: string
  /** Of the mark that the browser has in a cookie. */
  readonly markHash: string
  /** Whether the provider must have asked who it is after this began. */
  readonly fresh: boolean
}

export interface StartQuery {
  readonly provider?: string
  readonly redirect?: string
  readonly challenge?: string
  readonly browser?: '1'
  readonly return?: string
  readonly fresh?: '1'
}

type Config = Pick<Deps['config'], 'appOrigin' | 'appUrl'>

/** Both are undefined for who is no browser. */
export function beginInBrowser(
  { appOrigin }: Config,
  query: StartQuery,
  known: string | undefined,
): { mark?: string; browser?: BrowserSignIn } {
  if (query.browser === undefined) return {}
  if (appOrigin === undefined) {
    throw new ApiError('INVALID_INPUT', {
      message:
        'browser: APP_URL and PUBLIC_URL differ, so no cookie can count; serve the app from PUBLIC_URL',
    })
  }
  if (query.redirect !== undefined || query.challenge !== undefined) {
    throw new ApiError('INVALID_INPUT', {
      message: 'browser: takes return, and neither redirect nor challenge',
    })
  }
  const returnTo = new URL(query.return ?? '/', appOrigin)
  if (returnTo.origin !== appOrigin)
    throw new ApiError('INVALID_INPUT', { message: 'return: must be a path' })
  const mark = isMark(known) ? known : randomBytes(32).toString('base64url')
  const browser = { returnTo: returnTo.href, markHash: hashOf(mark), fresh: query.fresh !== undefined }
  return { mark, browser }
}

/** Whether it is the browser that began: nobody can have another one sign in as them, or finish what they began. */
export function isSameBrowser({ markHash }: BrowserSignIn, mark: string | undefined): boolean {
  return mark !== undefined && hashOf(mark) === markHash
}

/** The app's page to sign in on, which says what went wrong, if anything did, and knows where to go on. */
export function signInPage({ appUrl }: Config, { returnTo }: BrowserSignIn, error?: string): string {
  const page = new URL(`${appUrl}/sign-in`)
  const { pathname, search } = new URL(returnTo)
  if (error !== undefined) page.searchParams.set('error', error)
  page.searchParams.set('return', pathname + search)
  return page.href
}

/** What the page is told; whatever is no refusal of this person's sign-in goes on. */
export function reasonOfRefusal(error: unknown): string {
  if (!(error instanceof ApiError) || error.code !== 'UNAUTHORIZED') throw error
  return error.details?.['reason'] === 'SIGN_IN_TOO_OLD' ? 'sign_in_too_old' : 'sign_in_refused'
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function isMark(text: string | undefined): text is string {
  return text !== undefined && /^[\w-]{43}$/.test(text)
}
