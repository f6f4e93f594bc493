import type { TestProject } from 'vitest/node'
import { spawnStack } from '../../../../stack/client.ts'

declare module 'vitest' {
  interface ProvidedContext {
    libraryStack: { baseUrl: string; databaseUrl: string; dir: string; pageOrigin: string }
  }
}

/** A page is thought to be here; the stack lets it in. */
const pageOrigin = 'http://localhost:4999'

/** One stack for all files of the library: two API processes, and limits as they are where people work. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stack = await spawnStack(['--api', '2', '--env', `CORS_ORIGINS=${pageOrigin}`])
  const { baseUrl, databaseUrl, dir } = stack
  project.provide('libraryStack', { baseUrl, databaseUrl, dir, pageOrigin })
  return async () => {
    await stack.stop()
  }
}
