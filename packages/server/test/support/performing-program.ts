import { closeDeps, openDeps } from '#open-deps.ts'
import { collect } from '#operations/answer.ts'
import type { Principal } from '#operations/principal.ts'
import { readConfig } from '#platform/config.ts'
import { createLogger } from '#platform/logger.ts'
import { createWork } from '#work.ts'

/** A process like a worker's, with no server in it: performs what it is told, and says what came of it. */
export interface Told {
  readonly principal: Principal
  readonly calls: readonly {
    readonly name: string
    readonly params: Readonly<Record<string, string>>
    readonly body: unknown
  }[]
}

const config = readConfig(process.env)
const deps = await openDeps(config, createLogger('fatal'), new AbortController().signal)
const { perform } = createWork(deps)

process.once('message', async ({ principal, calls }: Told) => {
  const answers: unknown[] = []
  for (const { name, params, body } of calls) {
    const answer = await perform(name, {
      principal,
      client: { address: '127.0.0.1', userAgent: 'worker', label: undefined, via: 'agent' },
      params,
      body,
      signal: new AbortController().signal,
      requestId: 'in-a-worker',
    }).then(
      (given) => collect(given, 100_000),
      ({ code, details }) => ({ code, details }),
    )
    answers.push(answer)
  }
  process.send?.(answers)
  await closeDeps(deps)
  process.disconnect()
})
process.send?.('ready')
