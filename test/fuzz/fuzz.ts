import { Agent, request as send } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorTable } from '@guildhall/contract'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { isAlive } from '../support/processes.ts'
import { Random } from './random.ts'
import { type FuzzRequest, makeRequest } from './requests.ts'
import { makeWorld, type World } from './world.ts'

export interface FuzzOptions {
  readonly seed: number
  readonly requests: number
  /** Ends early after this time, with as many requests as there was time for. */
  readonly withinMs?: number
  /** Only this one of the requests, to look at a finding again. */
  readonly only?: number
  readonly tell?: (line: string) => void
  /** Asked instead of one of its own, which it would start and stop. */
  readonly stack?: Asked
  /** From here on an answer is slow. */
  readonly slowMs?: number
}

export interface FuzzReport {
  readonly seed: number
  readonly requests: number
  readonly statuses: Readonly<Record<string, number>>
  /** How many took longer than allowed at first, with whatever else the machine did then. */
  readonly suspects: number
  readonly slowest: { readonly ms: number; readonly name: string }
  readonly findings: readonly string[]
}

type Asked = Pick<SpawnedStack, 'baseUrl' | 'pids'>

interface Outcome {
  readonly status: number
  readonly text: string
  readonly ms: number
}

const noAnswerMs = 30_000
const atOnce = 4
const perWorld = 500
const looksAgain = 8

/**
 * Sends requests that follow from the seed to every route of the contract and finds answers of
 * 500 and more, and slow ones. One that was slow is asked again, alone, until it is not or was slow eight times: so what
 * the rest of the machine does meanwhile is not taken for the request's own slowness.
 */
export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  if (options.stack) return fuzzAt(options.stack, options)
  const stack = await spawnStack(['--limits', 'off'])
  try {
    return await fuzzAt(stack, options)
  } finally {
    await stack.stop()
  }
}

async function fuzzAt(stack: Asked, options: FuzzOptions): Promise<FuzzReport> {
  const { seed, requests, only, withinMs = Number.POSITIVE_INFINITY, tell = () => {}, slowMs = 250 } = options
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  try {
    const findings: string[] = []
    const statuses: Record<string, number> = {}
    let [sent, suspects] = [0, 0]
    let slowest = { ms: 0, name: '' }
    const note = ({ name }: FuzzRequest, ms: number) => {
      if (ms > slowest.ms) slowest = { ms: Math.round(ms), name }
    }
    const end = performance.now() + withinMs
    for (let start = 0; start < requests && performance.now() < end; start += perWorld) {
      const world = await makeWorld(stack)
      let next = start
      const suspicious: [number, FuzzRequest][] = []
      const work = async () => {
        for (;;) {
          const index = next++
          if (index >= Math.min(start + perWorld, requests) || performance.now() > end) return
          if (only !== undefined && index !== only) continue
          const made = requestOf(seed, index, world)
          const outcome = await ask(stack, agent, made)
          sent++
          statuses[outcome.status] = (statuses[outcome.status] ?? 0) + 1
          if (isFault(made, outcome)) findings.push(describe(seed, index, made, outcome))
          else if (outcome.ms > slowMs) suspicious.push([index, made])
          else note(made, outcome.ms)
        }
      }
      await Promise.all(Array.from({ length: atOnce }, work))
      suspects += suspicious.length
      for (const [index, made] of suspicious) {
        const outcome = await askAlone(stack, agent, made, slowMs)
        if (isFault(made, outcome) || outcome.ms > slowMs) findings.push(describe(seed, index, made, outcome))
        else note(made, outcome.ms)
      }
      tell(`${sent} requests, ${suspects} looked at again, ${findings.length} findings`)
    }
    for (const pid of stack.pids.api)
      if (pid === null || !isAlive(pid)) findings.push('An API process has ended')
    return { seed, requests: sent, statuses, suspects, slowest, findings }
  } finally {
    agent.destroy()
  }
}

/** Of the seed and its number alone, so that any single one can be made again. */
function requestOf(seed: number, index: number, world: World): FuzzRequest {
  const random = new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b))
  return makeRequest(random, world)
}

/** What the contract says of an author's mistake is told with a status of 500; it is no fault of the service. */
function isFault({ route }: FuzzRequest, { status, text }: Outcome): boolean {
  if (status < 500) return status === 0
  const told = route.errors.includes('INTERNAL_ERROR') && !text.includes(errorTable.INTERNAL_ERROR.message)
  return !told
}

async function askAlone(stack: Asked, agent: Agent, made: FuzzRequest, slowMs: number): Promise<Outcome> {
  let best: Outcome | undefined
  for (let tried = 0; tried < looksAgain; tried++) {
    if (tried > 0) await sleep(50 * tried)
    const outcome = await ask(stack, agent, made)
    if (!best || outcome.ms < best.ms) best = outcome
    if (best.ms <= slowMs) break
  }
  return best as Outcome
}

function ask(stack: Asked, agent: Agent, made: FuzzRequest): Promise<Outcome> {
  const { method, path, headers, body } = made
  const started = performance.now()
  return new Promise((resolve) => {
    const settle = (status: number, text: string) =>
      resolve({ status, text, ms: performance.now() - started })
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const sent = send(stack.baseUrl + path, {
      method,
      agent,
      headers: { ...headers, ...length },
      timeout: noAnswerMs,
    })
    sent.on('response', (response) => {
      const { statusCode = 0, headers: answered } = response
      if (answered['content-type']?.startsWith('text/event-stream')) {
        settle(statusCode, '')
        sent.destroy()
        return
      }
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => settle(statusCode, Buffer.concat(chunks).toString()))
      response.on('error', (error) => settle(0, String(error)))
    })
    sent.on('timeout', () => sent.destroy(new Error(`No answer within ${noAnswerMs} ms`)))
    // A body that is refused before it was read to its end may cost the connection; that is an answer as well.
    sent.on('error', (error: NodeJS.ErrnoException) =>
      settle(error.code === 'EPIPE' || error.code === 'ECONNRESET' ? 499 : 0, String(error)),
    )
    sent.end(body)
  })
}

function describe(seed: number, index: number, made: FuzzRequest, { status, text, ms }: Outcome): string {
  const { name, method, path, headers, body } = made
  const shown = { headers, body: String(body ?? '').slice(0, 500) }
  return `--seed ${seed} --only ${index}: ${name} ${method} ${path.slice(0, 300)} → ${status} in ${ms.toFixed()} ms: ${text.slice(0, 300)}\n    ${JSON.stringify(shown).slice(0, 1200)}`
}
