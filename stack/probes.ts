import { get } from 'node:http'
import { connect } from 'node:net'

type HttpAnswer = { status: number; body: string }

const probeWithinMs = 2000

/** Not fetch: its pool would keep a connection open to every server that was asked. */
export function httpGet(url: string): Promise<HttpAnswer | undefined> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: probeWithinMs }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        body += text
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
      response.on('error', () => resolve(undefined))
    })
    request.on('timeout', () => request.destroy(new Error('no answer in time')))
    request.on('error', () => resolve(undefined))
  })
}

export async function answersOk(url: string): Promise<boolean> {
  return (await httpGet(url))?.status === 200
}

export function acceptsConnections(port: number): Promise<boolean> {
  return exchange(port, '', () => true)
}

/** Connects, says something and judges what has come back so far, until the judgment is true. */
export function exchange(port: number, say: string, isEnough: (heard: string) => boolean): Promise<boolean> {
  return new Promise((resolve) => {
    let heard = ''
    const socket = connect({ port, host: '127.0.0.1', timeout: probeWithinMs })
    const finish = (holds: boolean) => {
      socket.destroy()
      resolve(holds)
    }
    socket.on('connect', () => (say === '' ? finish(isEnough('')) : socket.write(say)))
    socket.on('data', (bytes) => {
      heard += bytes.toString('latin1')
      if (isEnough(heard)) finish(true)
    })
    socket.on('error', () => finish(false))
    socket.on('timeout', () => finish(false))
    socket.on('close', () => finish(false))
  })
}
