import { createHmac, createSecretKey } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import pg from 'pg'
import { findBySecretStatement } from '../packages/server/src/access/keys/secret-store.ts'
import { findWorkspaceStatement } from '../packages/server/src/accounts/workspaces/store.ts'
import { countInWindowsScript } from '../packages/server/src/platform/rate-window.ts'
import { sayReady } from './program.ts'

/**
 * The yardstick: the same work on the same PostgreSQL and Redis with nothing around it. Per request one HMAC, a
 * memory of checked keys that lasts 900 ms, one run of the same rate script and one run of the same statement.
 */
const env = (name: string) => {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set`)
  return value
}
const pepper = createSecretKey(Buffer.from(env('PEPPER'), 'base64url'))
const pool = new pg.Pool({ connectionString: env('DATABASE_URL'), max: 20, idleTimeoutMillis: 0 })
const redis = new Redis(env('REDIS_URL'), { enableAutoPipelining: true })
redis.defineCommand('countInWindows', { lua: countInWindowsScript, numberOfKeys: 1 })
const count = redis as unknown as { countInWindows(key: string, max: number, ms: number): Promise<number[]> }
const max = 1_000_000_000

interface CheckedKey {
  id: number
  workspaceId: string
  userId: string
}
const known = new Map<string, { key: CheckedKey; until: number }>()

async function check(secret: string): Promise<CheckedKey | undefined> {
  const hash = createHmac('sha256', pepper).update(secret).digest()
  const cacheKey = hash.toString('latin1')
  const found = known.get(cacheKey)
  const now = performance.now()
  if (found && found.until > now) return found.key
  const { rows } = await pool.query<CheckedKey>({ ...findBySecretStatement, values: [[hash]] })
  if (rows[0]) known.set(cacheKey, { key: rows[0], until: now + 900 })
  return rows[0]
}

const server = http.createServer(async (request, response) => {
  const key = await check(String(request.headers['x-api-key']))
  if (!key) return response.writeHead(401).end()
  const [used = 0, resetMs = 0] = await count.countInWindows(`rate:bare:key:${key.id}`, max, 1000)
  const { rows } = await pool.query({ ...findWorkspaceStatement, values: [key.workspaceId, key.userId] })
  const { id, name, kind, role, created_at } = rows[0]
  const body = JSON.stringify([{ id, name, kind, role, createdAt: created_at, current: true }])
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-ratelimit-limit': max,
    'x-ratelimit-remaining': max - used,
    'x-ratelimit-reset': Math.ceil(resetMs / 1000),
  })
  response.end(body)
})
server.listen(0, '127.0.0.1', () => sayReady((server.address() as AddressInfo).port))
