import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { spawnStack } from '../../../../stack/client.ts'

declare module 'vitest' {
  interface ProvidedContext {
    guildStack: { baseUrl: string; databaseUrl: string; dir: string }
    /** The folder that is published, as it is built from the sources now. */
    guildDist: string
  }
}

/** Wide enough for one address that runs everything; wrong codes are counted as everywhere. */
const limits = [
  'rest=1000000/60',
  'refused=1000000/60',
  'poll=1000000/60',
  'stream=1000000/60',
  'toolCall=1000000/60',
  'skillRun=1000000/60',
  'activate=1000000/60',
  'activationPoll=1000000/60',
  'pendingCodes=1000000/60',
]

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** One stack for all files of the command line, and the program as people get it: it starts in half the time. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [stack] = await Promise.all([
    spawnStack(['--env', `LIMITS=${limits.join(',')}`]),
    promisify(execFile)(process.execPath, [at('../../build.ts'), at('../../dist')]),
  ])
  const { baseUrl, databaseUrl, dir } = stack
  project.provide('guildStack', { baseUrl, databaseUrl, dir })
  project.provide('guildDist', at('../../dist'))
  return async () => {
    await stack.stop()
  }
}
