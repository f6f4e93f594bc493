import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describeEnding } from './child.ts'
import { logFileOf } from './folder.ts'
import { baseEnv, repositoryRoot, runToEnd } from './spawn.ts'
import { StartError } from './start-error.ts'

const web = join(repositoryRoot, 'packages', 'web')
const sources = ['src', 'public', 'index.html', 'vite.config.ts', 'package.json', '../sdk/src'].map((path) =>
  join(web, path),
)

/** Whether the app was never built, or has changed since. */
export function isAppStale(
  builtAt: number | undefined = changedAt(join(web, 'dist', 'index.html')),
): boolean {
  return builtAt === undefined || sources.some((path) => newestIn(path) > builtAt)
}

/** Builds what the API serves to browsers. */
export async function buildApp(dir: string, signal: AbortSignal | undefined): Promise<void> {
  const logFile = logFileOf(dir, 'build-app')
  const args = [join(web, 'build.ts')]
  const ending = await runToEnd({ program: process.execPath, args, env: baseEnv(dir), logFile }, signal)
  if (ending.code !== 0) throw new StartError(`The build of the app ${describeEnding(ending)}.`, { logFile })
}

function newestIn(path: string): number {
  const own = changedAt(path) ?? 0
  if (!statSync(path).isDirectory()) return own
  return readdirSync(path).reduce((newest, name) => Math.max(newest, newestIn(join(path, name))), own)
}

function changedAt(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs
}
