/// <reference lib="webworker" />
declare const self: ServiceWorkerGlobalScope

/**
 * Shows what the server tells this browser. It keeps no pages and answers no requests, so it can be replaced at any time;
 * and it decides nothing: a tap opens the request's own page.
 */
interface Told {
  readonly notification?: {
    readonly title?: unknown
    readonly navigate?: unknown
    readonly tag?: unknown
    readonly silent?: unknown
  }
  readonly guild?: { readonly kind?: unknown }
}

const shownForMs = 4000

self.addEventListener('install', () => void self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))
self.addEventListener('push', (event) => event.waitUntil(show(read(event.data))))
self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(open(pathOf(event.notification.data)))
})

/** What cannot be read is shown too, without a word: a browser that is told and shows nothing stops being told. */
function read(data: PushMessageData | null): Told {
  try {
    return (data?.json() as Told | null) ?? {}
  } catch {
    return {}
  }
}

async function show({ notification = {}, guild = {} }: Told): Promise<void> {
  const tag = typeof notification.tag === 'string' ? notification.tag : 'guildhall'
  const title = typeof notification.title === 'string' ? notification.title : 'Guildhall'
  const isOver = guild.kind === 'ended'
  // The same tag takes the place of what was shown; what is over then goes by itself.
  await self.registration.showNotification(title, {
    tag,
    icon: '/icon.svg',
    silent: isOver,
    data: notification.navigate,
    ...(!isOver && { renotify: true }),
  } as NotificationOptions)
  if (!isOver) return
  await new Promise((resolve) => setTimeout(resolve, shownForMs))
  for (const shown of await self.registration.getNotifications({ tag })) shown.close()
}

/** A page of ours, whatever the message says. */
function pathOf(address: unknown): string {
  const { origin } = self.location
  if (typeof address !== 'string' || !URL.canParse(address, origin)) return '/'
  const url = new URL(address, origin)
  return url.origin === origin ? url.pathname : '/'
}

/** A page that is open goes there without being loaded again: somebody may be in the middle of something. */
async function open(path: string): Promise<void> {
  const [page] = await self.clients.matchAll({ type: 'window' })
  if (!page) return void (await self.clients.openWindow(path))
  page.postMessage({ open: path })
  await page.focus()
}
