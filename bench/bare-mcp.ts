import { createHmac, createSecretKey } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import pg from 'pg'
import { findBySecretStatement } from '../packages/server/src/access/keys/secret-store.ts'
import { countInWindowsScript } from '../packages/server/src/platform/rate-window.ts'
import { sayReady } from './program.ts'

/**
 * Two yardsticks for a list of tools: a JSON-RPC server on node:http that reads the message and writes the list, and at
 * /keyed one that also checks a key and counts the request, as whoever serves the public has to.
 */
const env = (name: string) => {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set`)
  return value
}
const result: unknown = JSON.parse(env('RESULT'))
const pepper = createSecretKey(Buffer.from(env('PEPPER'), 'base64url'))
const pool = new pg.Pool({ connectionString: env('DATABASE_URL'), max: 20, idleTimeoutMillis: 0 })
const redis = new Redis(env('REDIS_URL'), { enableAutoPipelining: true })
redis.defineCommand('countInWindows', { lua: countInWindowsScript, numberOfKeys: 1 })
const count = redis as unknown as { countInWindows(key: string, max: number, ms: number): Promise<number[]> }
const max = 1_000_000_000
const known = new Map<string, { id: number; until: number }>()

async function check(secret: string): Promise<number | undefined> {
  const hash = createHmac('sha256', pepper).update(secret).digest()
  const cacheKey = hash.toString('latin1')
  const found = known.get(cacheKey)
  const now = performance.now()
  if (found && found.until > now) return found.id
  const { rows } = await pool.query<{ id: number }>({ ...findBySecretStatement, values: [[hash]] })
  if (rows[0]) known.set(cacheKey, { id: rows[0].id, until: now + 900 })
  return rows[0]?.id
}

async function limitHeaders(secret: string): Promise<Record<string, number> | undefined> {
  const id = await check(secret)
  if (id === undefined) return undefined
  const [used = 0, resetMs = 0] = await count.countInWindows(`rate:bare-mcp:key:${id}`, max, 1000)
  return {
    'x-ratelimit-limit': max,
    'x-ratelimit-remaining': max - used,
    'x-ratelimit-reset': Math.ceil(resetMs / 1000),
  }
}

async function bodyOf(request: http.IncomingMessage): Promise<{ id: unknown; method: unknown }> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}

const server = http.createServer((request, response) => {
  // A connection that is given up half-way is no matter.
  void answer(request, response).catch(() => response.destroy())
})

async function answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<unknown> {
  const limits = request.url === '/keyed' ? await limitHeaders(String(request.headers['x-api-key'])) : {}
  if (!limits) return response.writeHead(401).end()
  const { id, method } = await bodyOf(request)
  const known = method === 'tools/list'
  const text = JSON.stringify({ jsonrpc: '2.0', id, ...(known ? { result } : { error: { code: -32601 } }) })
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...limits,
  })
  return response.end(text)
}
server.listen(0, '127.0.0.1', () => sayReady((server.address() as AddressInfo).port))
