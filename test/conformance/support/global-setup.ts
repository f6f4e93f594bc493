import { randomInt } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import document from '../../../docs/api/openapi.json' with { type: 'json' }
import { spawnStack } from '../../../stack/client.ts'
import { openRemote } from './remote.ts'

export interface StackParts {
  databaseUrl: string
  redisUrl: string
  identityUrl: string
  /** How many milliseconds the processes' clocks are ahead is read from here. */
  clockFile: string
  /** Where the stack keeps its files and the ids of its processes. */
  dir: string
  /** A git server and registry that the stack may fetch from; `folder` is what it serves. */
  remote: { url: string; folder: string; deadUrl: string }
}

declare module 'vitest' {
  interface ProvidedContext {
    baseUrl: string
    /** Null when the suite runs against a deployment that is not ours to disturb. */
    stack: StackParts | null
    /** Whether the deployment sees the loopback address a caller chooses, so that each has windows of its own. */
    ownAddresses: boolean
    /** A file with a line for each call of a documented operation; null against a deployment that is not ours. */
    calledOperations: string | null
  }
}

/** One deployment for the whole run, with default limits: the given one, or a private stack. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const provide: TestProject['provide'] = (key, value) => project.provide(key, value)
  const given = process.env['CONFORMANCE_BASE_URL']
  if (given) {
    const baseUrl = given.replace(/\/+$/, '')
    provide('baseUrl', baseUrl)
    provide('stack', null)
    provide('calledOperations', null)
    provide('ownAddresses', await seesAddresses(baseUrl))
    return async () => {}
  }
  const dir = await mkdtemp(join(tmpdir(), 'conformance-'))
  const remote = await openRemote(dir)
  const cleanUp = async () => {
    await remote.close()
    await rm(dir, { recursive: true, force: true })
  }
  const clockFile = join(dir, 'ahead')
  const preload = fileURLToPath(new URL('process-clock.ts', import.meta.url))
  const settings = [
    `NODE_OPTIONS=--import=${preload}`,
    `CLOCK_FILE=${clockFile}`,
    `FETCH_ALLOW=${remote.allow}`,
  ]
  const args = settings.flatMap((setting) => ['--env', setting])
  const stack = await spawnStack(args).catch(async (error) => {
    await cleanUp()
    throw error
  })
  const { baseUrl, databaseUrl, redisUrl, identityUrl } = stack
  provide('baseUrl', baseUrl)
  const { url, folder, deadUrl } = remote
  provide('stack', {
    databaseUrl,
    redisUrl,
    identityUrl,
    clockFile,
    dir: stack.dir,
    remote: { url, folder, deadUrl },
  })
  provide('ownAddresses', await seesAddresses(baseUrl))
  const calledOperations = join(dir, 'called-operations')
  await writeFile(calledOperations, '')
  provide('calledOperations', calledOperations)
  return async () => {
    const called = new Set((await readFile(calledOperations, 'utf8')).split('\n'))
    await stack.stop()
    await cleanUp()
    if (await ranEverything(project)) requireAllCalled(called)
  }
}

async function ranEverything({ vitest, name }: TestProject): Promise<boolean> {
  const files = await readdir(new URL('..', import.meta.url))
  const ran = vitest.state.getTestModules().filter(({ project }) => project.name === name)
  return ran.length === files.filter((file) => file.endsWith('.test.ts')).length
}

/** What nobody called was compared with nothing. */
function requireAllCalled(called: ReadonlySet<string>): void {
  const missed = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods) as { operationId: string }[])
    .map(({ operationId }) => operationId)
    .filter((operationId) => !called.has(operationId))
  if (missed.length > 0) throw new Error(`operations that no test of the suite called: ${missed.join(', ')}`)
}

/** Not so on systems that have 127.0.0.1 alone, nor behind a balancer: there two callers share one window. */
async function seesAddresses(baseUrl: string): Promise<boolean> {
  if (!/^http:\/\/(localhost|127(\.\d+){3})(:|$)/.test(baseUrl)) return false
  const block = `127.${randomInt(1, 255)}.${randomInt(0, 256)}`
  const first = await remainingFrom(baseUrl, `${block}.1`)
  const second = await remainingFrom(baseUrl, `${block}.2`)
  return first !== undefined && first === second
}

function remainingFrom(baseUrl: string, localAddress: string): Promise<unknown> {
  return new Promise((resolve) => {
    get(`${baseUrl}/api/v1/meta`, { localAddress, agent: false }, (answer) => {
      answer.resume()
      resolve(answer.headers['x-ratelimit-remaining'])
    }).once('error', () => resolve(undefined))
  })
}
