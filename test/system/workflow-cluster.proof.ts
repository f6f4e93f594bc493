import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { makeFolder, removeFolder } from '../../stack/folder.ts'
import { type RestateCluster, startRestateCluster } from '../../stack/restate-cluster.ts'
import { createCaller } from '../support/caller.ts'
import { readCalls, tools } from '../support/counting-tools.ts'
import { patiently } from '../support/patience.ts'
import { until } from '../support/processes.ts'
import { tell } from '../support/proof.ts'
import { definitionOf, type Runs, runsOf } from '../support/workflows.ts'

const wantedRuns = 60
const clients = 6
const steps = ['s1', 's2', 's3']

let folder: string
let cluster: RestateCluster
let stack: SpawnedStack
let runs: Runs

const countFile = () => join(folder, 'calls')

/** The stack's own engine stands idle: both roles are told of the cluster instead. */
beforeAll(async () => {
  folder = await makeFolder()
  writeFileSync(countFile(), '')
  cluster = await startRestateCluster({ dir: folder, restart: false })
  const env = {
    RESTATE_INGRESS_URL: cluster.ingressUrl,
    RESTATE_ADMIN_URL: cluster.adminUrl,
    RESTATE_IDENTITY_KEY: cluster.identityKey,
    TOOLS_MODULE: fileURLToPath(new URL('../support/counting-tools.ts', import.meta.url)),
    COUNT_FILE: countFile(),
  }
  const settings = Object.entries(env).flatMap(([key, value]) => ['--env', `${key}=${value}`])
  stack = await spawnStack(['--workers', '2', '--limits', 'off', ...settings])
  const app = createCaller(stack.baseUrl)
  runs = runsOf(app, await app.newPerson())
  const [first, ...others] = steps.map((id) => ({ type: 'tool', id, toolId: tools[0]?.id }))
  await runs.install(
    'nap',
    definitionOf('nap', [first, { type: 'sleep', id: 'z', duration: 2000 }, ...others]),
  )
}, 120_000)

afterAll(async () => {
  await stack?.stop()
  await cluster?.stop()
  await removeFolder(folder)
})

/** The first one made the cluster; it may be lost like any other, once all three vote on what the cluster is. */
async function loseFirstNode(): Promise<void> {
  await until(async () => (await countVoters()) === 3, 20_000)
  const [pid] = cluster.pids()
  if (!pid) throw new Error('the first node has gone by itself')
  process.kill(pid, 'SIGKILL')
}

async function countVoters(): Promise<number> {
  const response = await fetch(`${cluster.adminUrl}/cluster-health`)
  const health = (await response.json()) as { metadata_cluster_health?: { members?: unknown[] } }
  return health.metadata_cluster_health?.members?.length ?? 0
}

test(`a node of three is lost for good in the middle of ${wantedRuns} runs, and all of them finish`, {
  timeout: 90_000,
}, async () => {
  const accepted: string[] = []
  let turnedAway = 0
  let slowestLaunchMs = 0
  let begun = 0
  let lostAt: number | undefined
  const client = async () => {
    while (begun < wantedRuns) {
      if (begun++ === wantedRuns / 2) {
        await loseFirstNode()
        lostAt = performance.now()
      }
      const n = begun
      const since = performance.now()
      const answer = await patiently(
        () => runs.launch('nap', { n }),
        () => turnedAway++,
      )
      expect(answer.status, answer.text).toBe(201)
      slowestLaunchMs = Math.max(slowestLaunchMs, performance.now() - since)
      accepted.push(answer.body.runId)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  expect(accepted).toHaveLength(wantedRuns)
  for (const runId of accepted) {
    const { run } = await runs.reaches(runId, ['success', 'failed'], 60_000)
    expect(run.status, JSON.stringify(run.snapshot.error)).toBe('success')
  }
  const afterLossMs = performance.now() - (lostAt ?? Number.NaN)
  const calls = readCalls(countFile())
  const distinct = new Set(calls.map(({ idempotencyKey }) => idempotencyKey))
  tell(
    `${accepted.length} runs, one node lost: all finished ${Math.round(afterLossMs)} ms after it; slowest launch ` +
      `${Math.round(slowestLaunchMs)} ms, ${turnedAway} launches told to come back; ${calls.length} calls of tools, ` +
      `${calls.length - distinct.size} repeated`,
  )
  expect(cluster.pids()[0]).toBeNull()
  // A launch that was refused is not driven either, although its word may have got through.
  expect(new Set(calls.map(({ runId }) => runId))).toEqual(new Set(accepted))
  for (const runId of accepted) {
    const order = calls.filter((call) => call.runId === runId).map(({ stepId }) => stepId)
    expect([...new Set(order)]).toEqual(steps)
    // Done again after a later one, a recorded step was done again.
    expect(order).toEqual(order.toSorted())
  }
})
