import { connect, type Socket } from 'node:net'
import { sayReady } from './program.ts'

/**
 * Readers on bare connections, in a process of their own: they note when each event with a time in it arrived.
 * Answers `open` when all streams are open, `read` with what arrived since.
 */
const atOnce = 100
const sockets: Socket[] = []
let latencies: number[] = []

function openOne(url: string): Promise<void> {
  const { hostname, port, pathname, search } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    sockets.push(socket)
    socket.on('error', reject)
    socket.once('data', (head) => {
      if (String(head).startsWith('HTTP/1.1 200')) resolve()
      else reject(new Error(String(head)))
    })
    socket.on('data', (chunk) => note(chunk.toString('latin1')))
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\n\r\n`)
  })
}

function note(text: string): void {
  const now = performance.timeOrigin + performance.now()
  for (const [, at] of text.matchAll(/"t":([\d.]+)/g)) latencies.push(now - Number(at))
}

process.on('message', async ({ urls, read }: { urls?: string[]; read?: true }) => {
  if (urls) {
    for (let from = 0; from < urls.length; from += atOnce) {
      await Promise.all(urls.slice(from, from + atOnce).map(openOne))
    }
    process.send?.({ open: sockets.length })
  }
  if (read) {
    process.send?.({ latencies })
    latencies = []
  }
})
sayReady()
