import { api } from './client.ts'

/** Whether this browser can be told, and if not, why. */
export type PushState = 'unsupported' | 'refused' | 'off' | 'on'

const worker = '/sw.js'

/** The page loads no code by an address but this one, and its policy keeps it to that. */
const trusted = (window as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy('guildhall', {
  createScriptURL: (address) => {
    if (address !== worker) throw new TypeError('No script but the worker has an address here')
    return address
  },
})

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(address: string): string },
  ): { createScriptURL(address: string): unknown }
}

const isSupported = () => 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window

const register = () =>
  navigator.serviceWorker.register((trusted?.createScriptURL(worker) ?? worker) as string)

async function findSubscription(): Promise<PushSubscription | null> {
  const registration = await navigator.serviceWorker.getRegistration()
  return (await registration?.pushManager.getSubscription()) ?? null
}

export async function readPushState(): Promise<PushState> {
  if (!isSupported() || !(await api.meta.get()).push) return 'unsupported'
  if (Notification.permission === 'denied') return 'refused'
  return (await findSubscription()) ? 'on' : 'off'
}

/** Call it in a tap: the browser asks the person then. */
export async function turnOn(label: string): Promise<PushState> {
  if ((await Notification.requestPermission()) !== 'granted') return 'refused'
  await register()
  const registration = await navigator.serviceWorker.ready
  const { push } = await api.meta.get()
  if (!push) return 'unsupported'
  await subscribe(registration, push.applicationServerKey, label)
  return 'on'
}

export async function turnOff(): Promise<void> {
  await (await findSubscription())?.unsubscribe()
}

/**
 * Says once more where this browser is told, at each start: browsers change their minds about it, the person may be another
 * one, and the server forgets with the session.
 */
export async function keepTold(label: string): Promise<void> {
  if (!isSupported() || Notification.permission !== 'granted' || !(await findSubscription())) return
  const { push } = await api.meta.get()
  if (push) await subscribe(await register(), push.applicationServerKey, label)
}

async function subscribe(registration: ServiceWorkerRegistration, key: string, label: string): Promise<void> {
  const manager = registration.pushManager
  const before = await manager.getSubscription()
  const isSame = before && base64url(before.options.applicationServerKey) === key
  if (before && !isSame) await before.unsubscribe()
  const { endpoint, keys } = (
    isSame ? before : await manager.subscribe({ userVisibleOnly: true, applicationServerKey: key })
  ).toJSON()
  await api.push.subscribe({
    endpoint: endpoint ?? '',
    keys: { p256dh: keys?.['p256dh'] ?? '', auth: keys?.['auth'] ?? '' },
    label,
  })
}

function base64url(bytes: ArrayBuffer | null): string {
  const text = String.fromCharCode(...new Uint8Array(bytes ?? new ArrayBuffer(0)))
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** What was decided is not waited for any more, wherever it was decided. */
export async function closeNotice(tag: string): Promise<void> {
  if (!('serviceWorker' in navigator)) return
  const registration = await navigator.serviceWorker.getRegistration()
  for (const notice of (await registration?.getNotifications({ tag })) ?? []) notice.close()
}

/** Which page a tap on a notice wants. Gives what ends it. */
export function onNoticeOpened(go: (path: string) => void): () => void {
  if (!('serviceWorker' in navigator)) return () => {}
  const heard = ({ data }: MessageEvent<unknown>) => {
    const path = (data as { open?: unknown } | null)?.open
    if (typeof path === 'string' && path.startsWith('/') && !path.startsWith('//')) go(path)
  }
  navigator.serviceWorker.addEventListener('message', heard)
  return () => navigator.serviceWorker.removeEventListener('message', heard)
}
