import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { spawnStack } from '../stack/client.ts'
import { createCaller } from '../test/support/caller.ts'
import { installErrand, newRunner, prepareErrand } from '../test/support/executions.ts'
import { modernMessage } from '../test/support/mcp.ts'
import { figuresOnly, readNumbers } from './options.ts'

/**
 * What the Model Context Protocol holds open: calls that wait, and listeners that read nothing of what they are told. The
 * memory of the serving process for each, and how long others wait for an answer meanwhile, against before and after.
 */
const { held, seconds } = readNumbers({ held: 1000, seconds: 8 })
const required = { waitKiB: 40, waitP99: 1.5, stalledP99: 2 }
const perKey = 20

const stack = await spawnStack(['--limits', 'off', '--env', 'STREAMS_PER_CREDENTIAL=5000'])
try {
  const app = createCaller(stack.baseUrl)
  const person = await newRunner(app)
  const { secret: key } = await app.newKey(person)
  const executionId = await prepareErrand(app, person, 'Not yet.')
  const pid = stack.pids.api[0] ?? 0
  const keys = await Promise.all(Array.from({ length: held / perKey }, () => app.newKey(person)))

  const waiting = modernMessage('tools/call', {
    name: 'get_execution',
    arguments: { execution_id: executionId, wait_seconds: 55 },
  })
  const listening = modernMessage('subscriptions/listen', { notifications: { resourcesListChanged: true } })
  const whoami = modernMessage('tools/call', { name: 'whoami', arguments: {} })

  const ask = async () => {
    const began = performance.now()
    const { status, text } = await app.call('POST', '/mcp/', { key, ...whoami })
    if (status !== 200) throw new Error(`${status} ${text}`)
    return performance.now() - began
  }
  /** Of calls one after the other, by two clients. */
  const p99 = async () => {
    const end = performance.now() + seconds * 1000
    const times: number[] = []
    const client = async () => {
      while (performance.now() < end) times.push(await ask())
    }
    await Promise.all([client(), client()])
    times.sort((a, b) => a - b)
    return times[Math.floor(times.length * 0.99)] ?? Number.NaN
  }
  /** Open, and not read from: what comes stays where it is. */
  const open = async ({ headers, body }: typeof waiting, secret: string): Promise<Socket> => {
    const { port } = new URL(stack.apiUrls[0] ?? '')
    const text = JSON.stringify(body)
    const named = { ...headers, 'content-type': 'application/json', 'x-api-key': secret, host: 'x' }
    const lines = Object.entries(named).map(([name, value]) => `${name}: ${value}\r\n`)
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.pause()
    await new Promise((resolve) => socket.on('connect', resolve))
    socket.write(
      `POST /mcp/ HTTP/1.1\r\n${lines.join('')}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    )
    return socket
  }
  const hold = async (message: typeof waiting, meanwhile: () => Promise<void>) => {
    await p99()
    const [memoryBefore, before] = [kibOf(pid), await p99()]
    const sockets: Socket[] = []
    for (const { secret } of keys)
      sockets.push(...(await Promise.all(Array.from({ length: perKey }, () => open(message, secret)))))
    await sleep(2000)
    const [, during] = await Promise.all([meanwhile(), p99()])
    const kib = (kibOf(pid) - memoryBefore) / held
    for (const socket of sockets) socket.destroy()
    await sleep(1000)
    const after = await p99()
    return { kib, before, during, after, ratio: during / ((before + after) / 2) }
  }
  const install = async () => {
    const end = performance.now() + seconds * 1000
    while (performance.now() < end) {
      await installErrand(app, person)
      await sleep(400)
    }
  }
  const waits = await hold(waiting, async () => undefined)
  const stalled = await hold(listening, install)
  console.table({ [`${held} waits`]: waits, [`${held} listeners that read nothing`]: stalled })
  const isGood =
    waits.kib <= required.waitKiB && waits.ratio <= required.waitP99 && stalled.ratio < required.stalledP99
  console.log('required:', required)
  if (!isGood && !figuresOnly) process.exitCode = 1
} finally {
  await stack.stop()
}

function kibOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}
