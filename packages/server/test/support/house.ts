import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import pg from 'pg'
import { inject } from 'vitest'
import { createApp } from '#app.ts'
import { closeDeps, openDeps } from '#open-deps.ts'
import type { Perform } from '#operations/perform.ts'
import type { Bus } from '#platform/bus.ts'
import { readConfig } from '#platform/config.ts'
import type { Deps } from '#platform/deps.ts'
import { createLogger } from '#platform/logger.ts'
import type { Reconciler } from '#platform/reconcile.ts'
import type { Sweep } from '#platform/sweep.ts'
import type { Authenticators } from '#transports/http/authenticate.ts'
import type { Sockets } from '#transports/sockets/sockets.ts'
import { type Caller, createCaller, type Person } from '../../../../test/support/caller.ts'
import { isThereOnly, openIngress } from './ingress.ts'
import { redisUrl } from './redis.ts'

export interface House extends Caller {
  readonly url: string
  readonly deps: Deps
  readonly sweeps: readonly Sweep[]
  readonly reconcilers: readonly Reconciler[]
  readonly bus: Bus
  readonly sockets: Sockets
  readonly perform: Perform
  readonly authenticators: Authenticators
  /** Everything the process has logged. */
  log(): string
  close(): Promise<void>
}

/** Nothing answers at the discard port: a part that is away from the start. */
export const nowhere = '127.0.0.1:9'

let databases = 0

/** A fresh database with the current schema, or a copy of another one that nobody is connected to. */
export async function createDatabase(template: string = inject('templateDatabase')): Promise<string> {
  const adminUrl = inject('databaseUrl')
  const name = `house_${process.pid}_${++databases}_${randomBytes(3).toString('hex')}`
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  await admin.query(`create database ${name} template ${template}`)
  await admin.end()
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
}

export const secretsOfTests = {
  KEY_PEPPERS: `1:${randomBytes(32).toString('base64url')}`,
  SIGNING_KEYS: `1:${randomBytes(32).toString('base64url')}`,
  ENCRYPTION_KEYS: `1:${randomBytes(32).toString('base64url')}`,
  RECEIPT_KEYS: `1:${randomBytes(32).toString('base64url')}`,
  VAPID_KEYS: `1:${randomBytes(32).toString('base64url')}`,
}

/** What a process of the tests has in its environment. */
export function testEnv(env: Record<string, string>): Record<string, string> {
  return {
    NODE_ENV: 'test',
    PUBLIC_URL: 'http://house.test',
    REDIS_URL: redisUrl(),
    RESTATE_INGRESS_URL: `http://${nowhere}`,
    RESTATE_ADMIN_URL: `http://${nowhere}`,
    RESTATE_IDENTITY_KEY: 'publickeyv1_none',
    AUTH_DEV: '1',
    LIMITS: 'off',
    LOG_LEVEL: 'debug',
    STOP_GRACE_MS: '0',
    DATABASE_POOL_SIZE: '10',
    ...secretsOfTests,
    ...env,
  }
}

/** One API process's worth of server, in this process, on a port of its own. Several may share a database. */
export async function openHouse(env: Record<string, string> & { DATABASE_URL: string }): Promise<House> {
  const blobs = mkdtempSync(join(tmpdir(), 'guildhall-blobs-'))
  // A launch waits for a place only where there is an engine to wait for.
  const ingress = env['RUNS_PER_WORKSPACE'] === '0' ? await openIngress(isThereOnly) : undefined
  const engine = ingress && { RESTATE_INGRESS_URL: ingress.url }
  const config = readConfig(testEnv({ STORAGE: `directory:${blobs}`, ...engine, ...env }))
  let logged = ''
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      logged += chunk
      done()
    },
  })
  const logger = createLogger(config.logLevel, sink)
  const deps = await openDeps(config, logger, new AbortController().signal)
  const { server, perform, authenticators, sweeps, reconcilers, bus, sockets } = createApp(deps)
  if (!config.redisUrl.includes(nowhere)) await deps.redis.settle()
  await server.listen({ host: '127.0.0.1', port: 0 })
  const { port } = server.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return {
    ...createCaller(url),
    url,
    deps,
    sweeps,
    reconcilers,
    bus,
    sockets,
    perform,
    authenticators,
    log: () => logged,
    close: async () => {
      await server.close()
      await closeDeps(deps)
      await ingress?.close()
      await rm(blobs, { recursive: true })
    },
  }
}

/** Moves the clock that decides deadlines, for every process on this database at once. */
export async function shiftClock(databaseUrl: string, seconds: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(
    `create or replace function guild_now() returns timestamptz language sql stable
     as $$ select now() + interval '${seconds} seconds' $$`,
  )
  await client.end()
}

/** A team workspace of the one with the other as its member. */
export async function newTeamWith(house: House, owner: Person, member: Person): Promise<string> {
  const workspaceId = await house.newTeam(owner)
  await house.addMember(owner, workspaceId, member)
  return workspaceId
}
