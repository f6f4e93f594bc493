import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { spawnStack } from '../../../stack/client.ts'
import { claimPort } from '../../../stack/ports.ts'
import { chromiumOptions } from './browser.ts'

interface House {
  readonly origin: string
  readonly databaseUrl: string
  /** Where a browser can be had. */
  readonly browserUrl: string
  /** The one port at which the stack believes a push service. */
  readonly pushPort: number
}

declare module 'vitest' {
  interface ProvidedContext {
    house: House
  }
}

/** One stack and one browser for all files that look at the app: each test brings people of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const push = await claimPort()
  const [stack, browser] = await Promise.all([
    spawnStack(['--host', 'localhost', '--limits', 'off', '--env', `PUSH_ALLOW=127.0.0.1:${push.port}`]),
    chromium.launchServer(chromiumOptions),
  ])
  const { baseUrl: origin, databaseUrl } = stack
  project.provide('house', { origin, databaseUrl, browserUrl: browser.wsEndpoint(), pushPort: push.port })
  return async () => {
    await browser.close()
    push.release()
    const code = await stack.stop()
    if (code !== 0) throw new Error(`the stack ended with ${code}\n${stack.said()}`)
  }
}
