import { expect, test } from 'vitest'
import { runExecutionChaos } from '../chaos/execution-chaos.ts'

/** The short form of `node test/chaos/executions.ts`. */
test('24 executions under 8 kills of API, worker, Redis and Restate: nothing is lost, doubled or left behind', async () => {
  const { violations, figures } = await runExecutionChaos({
    executions: 24,
    lanes: 6,
    faults: { count: 8, gapMs: { least: 300, most: 1500 }, random: Math.random },
  })
  console.log(JSON.stringify(figures))
  expect(violations).toEqual([])
  const ended = Object.values(figures.executions).reduce((sum, count) => sum + count, 0)
  expect(ended).toBeGreaterThanOrEqual(24)
  expect(figures.executions['completed']).toBeGreaterThan(0)
})
