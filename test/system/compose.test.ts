import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openModelEndpoint } from '../../stack/model-endpoint/server.ts'
import { repositoryRoot } from '../../stack/spawn.ts'
import { requestNames, runCorpus } from '../compose/corpus.ts'
import { patienceFor } from '../support/sizes.ts'

/** Of each kind some; `npm run prove -- compose` asks for all 40. */
const some = [
  'approve-payment',
  'mail-after-yes',
  'all-statuses',
  'late-order',
  'each-order',
  'poll-often',
  'order-size',
  'each-of-each',
] as const

test('what an agent makes of requests in plain words does what was asked for', async () => {
  expect(requestNames).toHaveLength(40)
  const verdicts = await runCorpus({ names: some, patienceMs: patienceFor(60_000), atOnce: 4 })
  expect(verdicts.filter(({ problems }) => problems.length > 0)).toEqual([])
  expect(verdicts).toHaveLength(some.length)
})

/** The program itself, as `npm run prove -- compose-real` starts it. */
function composeReal(models: string, ...flags: string[]): Promise<{ code: number; said: string }> {
  const program = join(repositoryRoot, 'test/compose/main.ts')
  const env = { ...process.env, MODELS: models }
  return new Promise((resolve) => {
    execFile(process.execPath, [program, '--real', ...flags], { env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), said: stdout + stderr }),
    )
  })
}

test('a real model is asked for the same, and without one it is said what is missing', async () => {
  const none = await composeReal('')
  expect(none.code).toBe(2)
  expect(none.said).toContain('MODELS is not set')
  // To the program an endpoint like any other, over the other of the two protocols.
  const endpoint = await openModelEndpoint({ port: 0 })
  const model = {
    id: 'some-model',
    provider: 'openai-compatible',
    baseUrl: endpoint.url,
    apiKey: 'k',
    default: true,
    inputPricePerMillion: 300,
    outputPricePerMillion: 1500,
  }
  const { code, said } = await composeReal(JSON.stringify([model]), '--only', 'greet', '--only', 'tell-slack')
  expect(said).toMatch(/right {2}greet .*\n(.*\n)*2 of 2\n/)
  expect(code).toBe(0)
  expect(endpoint.stats().requests).toBeGreaterThanOrEqual(6)
  await endpoint.close()
})
