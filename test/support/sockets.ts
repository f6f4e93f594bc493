import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Caller } from './caller.ts'
import { requireDocumentedEvent } from './documented-shapes.ts'

const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

/** A fresh address of an event socket, at the process that was asked and not at the public name. */
export async function socketUrl(
  house: Caller & { url: string },
  credential: { key?: string; token?: string; headers?: Record<string, string> },
): Promise<string> {
  const answer = await house.call('GET', '/api/v1/events/subscribe-url', credential)
  if (answer.status !== 200) throw new Error(`no address: ${answer.status} ${answer.text}`)
  return movedTo(answer.body.url, house.url)
}

export function movedTo(url: string, base: string): string {
  const moved = new URL(url)
  moved.protocol = 'ws:'
  moved.host = new URL(base).host
  return moved.href
}

export interface HeardSocket {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events whose shape they assert
  readonly heard: any[]
  readonly socket: WebSocket
  /** Resolves with how the socket ended. */
  readonly closed: Promise<{ code: number; reason: string; at: number }>
}

export async function openSocket(url: string): Promise<HeardSocket> {
  const socket = new WebSocket(url)
  const heard: unknown[] = []
  socket.addEventListener('message', ({ data }) => {
    const event = JSON.parse(data)
    requireDocumentedEvent('LiveEvent', event)
    heard.push(event)
  })
  const closed = new Promise<{ code: number; reason: string; at: number }>((resolve) => {
    socket.addEventListener('close', ({ code, reason }) => resolve({ code, reason, at: performance.now() }))
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', () => reject(new Error('the socket did not open')))
  })
  return { heard, socket, closed }
}

/** The status that an upgrade is answered with; a socket that opens is closed again. */
export function tryUpgrade(
  url: string,
  localAddress?: string,
): Promise<{ status: number; text: string; retryAfter?: string }> {
  return new Promise((resolve, reject) => {
    const from = localAddress === undefined ? {} : { localAddress }
    const asked = request(url.replace(/^ws/, 'http'), { headers: handshake, agent: false, ...from })
    asked.on('upgrade', (_response, stream) => {
      stream.on('error', () => {})
      stream.destroy()
      resolve({ status: 101, text: '' })
    })
    asked.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      const retryAfter = response.headers['retry-after']
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text, ...(retryAfter ? { retryAfter } : {}) }),
      )
    })
    asked.on('error', reject)
    asked.end()
  })
}

/** Bytes on a bare connection that has been upgraded; nothing is read from it after that. */
export function openUnread(url: string): Promise<Socket> {
  const { hostname, port, pathname, search } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', reject)
    socket.once('data', (answer) => {
      socket.pause()
      if (String(answer).startsWith('HTTP/1.1 101')) resolve(socket)
      else reject(new Error(`no upgrade: ${String(answer).slice(0, 60)}`))
    })
    const headers = Object.entries(handshake).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\n${headers.join('')}\r\n`)
  })
}
