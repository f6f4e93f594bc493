import { must } from './actors.ts'
import type { Caller } from './client.ts'
import { stack } from './stack-only.ts'

const redirect = 'http://127.0.0.1:7777/signed-in'

/** What a browser does between GET /auth/start and the app's own address, at the stack's identity provider. */
export async function signInWithProvider(
  visitor: Caller,
  login: string,
): Promise<{ code: string; authorizationEndpoint: string }> {
  const start = await visitor.get(`/auth/start?${new URLSearchParams({ redirect })}`)
  must(start, 302)
  const authorization = new URL(String(start.headers.location))
  const browser = newBrowser()
  const form = await browser(authorization)
  const decided = await browser(form, new URLSearchParams({ prompt: 'login', login }))
  const callback = await browser(decided)
  const finish = await visitor.get(`root:${callback.pathname}${callback.search}`)
  must(finish, 302)
  const back = new URL(String(finish.headers.location))
  if (!back.href.startsWith(redirect)) throw new Error(`Returned to ${back.href}`)
  return {
    code: back.searchParams.get('code') ?? '',
    authorizationEndpoint: authorization.origin + authorization.pathname,
  }
}

/** Where the provider's own metadata says that authorization begins. */
export async function providerAuthorizationEndpoint(): Promise<string> {
  const answer = await fetch(`${stack().identityUrl}/.well-known/openid-configuration`)
  return ((await answer.json()) as { authorization_endpoint: string }).authorization_endpoint
}

/** Requests with the cookies of earlier ones; answers where each redirects to. */
function newBrowser(): (url: URL, form?: URLSearchParams) => Promise<URL> {
  const cookies = new Map<string, string>()
  return async (url, form) => {
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form ? { method: 'POST', body: form } : {}),
    })
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    const location = answer.headers.get('location')
    if (!location) throw new Error(`No redirect from ${url}: ${answer.status} ${await answer.text()}`)
    return new URL(location, url)
  }
}
