/** A browser without scripts: keeps cookies by host and path, follows redirects, sends forms with their origin. */
export interface Browser {
  open(address: string): Promise<Visit>
  /** Sends the page's first form, or follows its first link when it has none. */
  submit(page: Visit, fields?: Record<string, string>, headers?: Record<string, string>): Promise<Visit>
  /** By name, those of this host. */
  cookiesOf(address: string): Record<string, string>
}

export interface Visit {
  /** Where it ended; an address the browser was told to stop at was not asked for. */
  url: URL
  status: number
  headers: Headers
  text: string
}

interface Cookie {
  host: string
  path: string
  name: string
  value: string
}

interface BrowserOptions {
  /** Addresses that are reached elsewhere than their name says. */
  reach?: Readonly<Record<string, string>>
  /** Redirects to addresses that begin like this are not followed. */
  stopAt: string
}

export function openBrowser({ reach = {}, stopAt }: BrowserOptions): Browser {
  let cookies: Cookie[] = []

  const remember = (url: URL, headers: Headers) => {
    for (const line of headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      const path = /;\s*path=([^;]+)/i.exec(line)?.[1] ?? '/'
      const expires = /;\s*expires=([^;]+)/i.exec(line)?.[1]
      const isOver = /;\s*max-age=0\b/i.test(line) || (expires && Date.parse(expires) <= Date.now())
      const same = (cookie: Cookie) =>
        cookie.host === url.host && cookie.path === path && cookie.name === name
      cookies = cookies.filter((cookie) => !same(cookie))
      if (!isOver) cookies.push({ host: url.host, path, name, value })
    }
  }

  const send = async (url: URL, init: RequestInit): Promise<Visit> => {
    const held = cookies.filter(({ host, path }) => host === url.host && isBelow(url.pathname, path))
    const cookie = held.map(({ name, value }) => `${name}=${value}`).join('; ')
    const target = (reach[url.origin] ?? url.origin) + url.pathname + url.search
    const headers = { ...(init.headers as Record<string, string>), ...(cookie ? { cookie } : {}) }
    const response = await fetch(target, { ...init, headers, redirect: 'manual' })
    remember(url, response.headers)
    return { url, status: response.status, headers: response.headers, text: await response.text() }
  }

  const follow = async (first: Visit): Promise<Visit> => {
    let visit = first
    for (let hops = 0; hops < 15; hops++) {
      const location = visit.headers.get('location')
      if (!location) return visit
      const url = new URL(location, visit.url)
      if (url.href.startsWith(stopAt)) return { ...visit, url }
      visit = await send(url, {})
    }
    throw new Error('redirects go round in circles')
  }

  return {
    cookiesOf: (address) => {
      const held = cookies.filter(({ host }) => host === new URL(address).host)
      return Object.fromEntries(held.map(({ name, value }) => [name, value]))
    },
    open: async (address) => follow(await send(new URL(address), {})),
    submit: async (page, fields = {}, headers = {}) => {
      const action = attribute(page.text, /<form\b[^>]*?action="([^"]+)"/)
      if (action === undefined) {
        const href = attribute(page.text, /<a\b[^>]*?href="([^"]+)"/)
        if (href === undefined)
          throw new Error(`nothing to press on ${page.url}: ${page.status} ${page.text}`)
        return follow(await send(new URL(href, page.url), {}))
      }
      const body = new URLSearchParams({ ...hiddenFields(page.text), ...fields })
      const sent = {
        origin: page.url.origin,
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      }
      return follow(await send(new URL(action, page.url), { method: 'POST', headers: sent, body }))
    },
  }
}

function isBelow(pathname: string, path: string): boolean {
  return path === '/' || pathname === path || pathname.startsWith(`${path}/`)
}

/** Hidden fields, and of a choice what stands first. */
function hiddenFields(text: string): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [, name = '', value = ''] of text.matchAll(
    /<input type="hidden" name="([^"]+)" value="([^"]*)"/g,
  )) {
    fields[name] = unescapeHtml(value)
  }
  for (const [, name = '', value = ''] of text.matchAll(
    /<select[^>]*name="([^"]+)"[^>]*>\s*<option value="([^"]*)"/g,
  )) {
    fields[name] = unescapeHtml(value)
  }
  return fields
}

function attribute(text: string, pattern: RegExp): string | undefined {
  const found = pattern.exec(text)?.[1]
  return found === undefined ? undefined : unescapeHtml(found)
}

function unescapeHtml(text: string): string {
  return text.replace(/&#(\d+);/g, (_all, code) => String.fromCharCode(Number(code))).replaceAll('&amp;', '&')
}
