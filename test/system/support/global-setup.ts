import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { type SpawnedStack, spawnStack } from '../../../stack/client.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Whoever asks here for one of the stacks that files share is told of it. */
    sharedStacksUrl: string
  }
}

const both = ['--api', '2', '--workers', '2', '--limits', 'off']
/** The parts of one are left alone, those of the other killed and frozen. */
const shared: Readonly<Record<string, readonly string[]>> = {
  // Loops end early, for what the workflows' corpus expects of one that never would.
  '/calm': [...both, '--env', 'LOOP_ITERATIONS=50'],
  // As a deployment does: a process that stops says so before it closes what is idle.
  '/rough': [...both, '--env', 'STOP_GRACE_MS=1000'],
}

/** Each is started for the first file that asks for it: files with a stack of their own need not wait for any. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started = new Map<string, Promise<SpawnedStack>>()
  const server = createServer(({ url = '' }, response) => {
    const stack = started.get(url) ?? spawnStack([...(shared[url] ?? [])])
    started.set(url, stack)
    stack.then(
      (description) => response.end(JSON.stringify(description)),
      (error: Error) => response.writeHead(500).end(error.message),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  project.provide('sharedStacksUrl', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return async () => {
    server.close()
    for (const [url, starting] of started) {
      const stack = await starting.catch(() => undefined)
      const code = await stack?.stop()
      if (stack && code !== 0) throw new Error(`the stack ${url} ended with ${code}\n${stack.said()}`)
    }
  }
}
