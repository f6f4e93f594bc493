import { AuthenticationError } from '@guildhall/sdk/core'
import { useSyncExternalStore } from 'react'
import { api } from './client.ts'
import { closeNotice } from './push.ts'

/** What reads differently now: kinds of things, or nobody knows what. */
export type Changed = 'all' | readonly string[]

export type LiveState = 'live' | 'reconnecting' | 'offline'

let state: LiveState = navigator.onLine ? 'reconnecting' : 'offline'
const listeners = new Set<() => void>()

function become(next: LiveState): void {
  if (state === next) return
  state = next
  for (const listener of listeners) listener()
}

export const isLive = () => state === 'live'

/** Whether what is shown is told at once when it changes. */
export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => state,
  )
}

/** The library opens sockets anew by itself; this is how the page learns that one has closed. */
class TellingSocket {
  readonly #socket: WebSocket

  constructor(address: string) {
    this.#socket = new WebSocket(address)
    this.#socket.addEventListener('close', () => become(navigator.onLine ? 'reconnecting' : 'offline'))
  }

  close(code?: number): void {
    this.#socket.close(code)
  }

  addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: never) => void): void {
    this.#socket.addEventListener(type, listener as (event: Event) => void)
  }
}

/**
 * Listens until the signal. An event is only a reason to read again: nothing of it is shown. `again` is told what has
 * changed: everything after each connect, because nothing is repeated.
 */
export async function listen(again: (what: Changed) => void, signal: AbortSignal): Promise<void> {
  const onLine = () => {
    become('reconnecting')
    again('all')
  }
  const onOffline = () => become('offline')
  window.addEventListener('online', onLine, { signal })
  window.addEventListener('offline', onOffline, { signal })
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      for await (const event of api.events.subscribe({ signal, WebSocket: TellingSocket })) {
        failures = 0
        if (event.type === 'connected') {
          become('live')
          again('all')
        } else if (event.type === 'approval-requested' || event.type === 'approval-resolved') {
          again(['approvals'])
          if (event.type === 'approval-resolved') void closeNotice(event.approvalId)
        } else if (event.type === 'cache-invalidate') again(event.keys)
      }
    } catch (error) {
      if (signal.aborted) return
      become(navigator.onLine ? 'reconnecting' : 'offline')
      // The session has ended, and whoever reads again finds it so; or it lives on in fewer workspaces than it did.
      if (AuthenticationError.is(error)) {
        again('all')
        failures = Math.max(1, failures)
      }
    }
    await pause(Math.min(30_000, 1000 * 2 ** failures) * (0.5 + Math.random() / 2), signal)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
