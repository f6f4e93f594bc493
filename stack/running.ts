import { join } from 'node:path'
import { removeCgroups } from './cgroups.ts'
import type { Child } from './child.ts'
import { removeFolder, replaceFile } from './folder.ts'
import type { ModelServer } from './model-endpoint/start.ts'
import type { PostgresServer } from './postgres.ts'
import type { RedisServer } from './redis.ts'
import type { RestateServer } from './restate.ts'
import type { Front } from './roles.ts'
import type { SwiftServer } from './swift.ts'

/** What has been started so far. A part is in here from the moment on in which it has to be stopped. */
export type Running = {
  dir: string
  postgres?: PostgresServer
  redis?: RedisServer
  restate?: RestateServer
  swift?: SwiftServer
  models?: ModelServer
  front?: Front | undefined
  api: Child[]
  worker: Child[]
  folderIsGone: boolean
}

/** A process that is down for the moment has no id. */
type Pid = number | null

export type StackPids = {
  api: Pid[]
  worker: Pid[]
  postgres: Pid
  redis: Pid
  restate: Pid
  /** None when blobs are in a folder. */
  swift: Pid[]
  identity: Pid
  models: Pid
}

export function pidsOf(running: Running): StackPids {
  return {
    api: running.api.map((child) => child.pid()),
    worker: running.worker.map((child) => child.pid()),
    postgres: running.postgres?.pid() ?? null,
    redis: running.redis?.pid() ?? null,
    restate: running.restate?.pid() ?? null,
    swift: running.swift?.pids() ?? [],
    identity: running.front?.identity.pid() ?? null,
    models: running.models?.pid() ?? null,
  }
}

export function recordPids(running: Running): void {
  if (running.folderIsGone) return
  replaceFile(join(running.dir, 'pids.json'), `${JSON.stringify(pidsOf(running))}\n`)
}

export async function stopRoles(running: Running): Promise<void> {
  await Promise.all([...running.api, ...running.worker].map((child) => child.stop()))
  running.api = []
  running.worker = []
  await running.front?.closeBalancers()
  await running.front?.identity.stop()
  running.front?.release()
  running.front = undefined
}

/** Those that use come before those that are used, so that each can end its work in order. */
export async function stopAll(running: Running): Promise<void> {
  await stopRoles(running)
  await running.models?.stop()
  await running.restate?.stop()
  await running.swift?.stop()
  await running.redis?.stop()
  await running.postgres?.stop()
  removeCgroups()
  running.folderIsGone = true
  await removeFolder(running.dir)
}
