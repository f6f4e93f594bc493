import { fork } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export interface Reads {
  readonly count: number
  readonly p99Ms: number
}

/**
 * Reads at a steady pace, each on a connection of its own and however long it takes. In a process of its own: what the
 * storm costs the one that makes it is not measured. Gives what ends it.
 */
export async function readSteadily(url: string, key: string): Promise<() => Promise<Reads>> {
  const child = fork(fileURLToPath(import.meta.url), [url, key], { serialization: 'advanced' })
  await once(child, 'message')
  return async () => {
    child.send('stop')
    const [reads] = await once(child, 'message')
    child.disconnect()
    return reads as Reads
  }
}

const readEveryMs = 20

async function read(url: string, key: string): Promise<number> {
  const began = performance.now()
  await new Promise<void>((done, failed) => {
    const request = get(url, { agent: false, headers: { 'x-api-key': key } }, (response) => {
      if (response.statusCode !== 200) failed(new Error(`status ${response.statusCode}`))
      response.resume().on('end', done)
    })
    request.on('error', failed)
  })
  return performance.now() - began
}

async function p99Of(reads: readonly Promise<number>[]): Promise<number> {
  const tookMs = (await Promise.all(reads)).sort((a, b) => a - b)
  return Math.round(tookMs[Math.floor(tookMs.length * 0.99)] ?? 0)
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , url = '', key = ''] = process.argv
  let isOver = false
  process.once('message', () => {
    isOver = true
  })
  process.once('disconnect', () => process.exit())
  await read(url, key)
  process.send('ready')
  const all: Promise<number>[] = []
  while (!isOver) {
    all.push(read(url, key))
    await setTimeout(readEveryMs)
  }
  process.send({ count: all.length, p99Ms: await p99Of(all) })
}
