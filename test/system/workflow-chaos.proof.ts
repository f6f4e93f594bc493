import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { countCalls } from '../chaos/engine-evidence.ts'
import { callsAfterLaterOnes } from '../chaos/step-calls.ts'
import { createCaller } from '../support/caller.ts'
import { readCalls, tools } from '../support/counting-tools.ts'
import { pidsOf, until } from '../support/processes.ts'
import { tell } from '../support/proof.ts'
import { definitionOf, type RunAnswer, type Runs, runsOf } from '../support/workflows.ts'

/** CHAOS_RUNS=500 CHAOS_FAULTS=80 is the full size. */
const wantedRuns = 500
const wantedFaults = 80
const clients = 8

const [quick = '', slow = ''] = tools.map(({ id }) => id)
const step = (id: string, toolId = quick) => ({ type: 'tool', id, toolId })
const items = { type: 'mapping', id: 'm', mapConfig: '{"items":{"value":[1,2,3,4]}}' }

/** The number in a step's id is its level: it runs after all steps of lower levels. */
const graphs: Record<string, unknown[]> = {
  line: [step('s1'), step('s2'), step('s3')],
  fan: [
    step('s1'),
    { type: 'parallel', steps: [step('a2', slow), step('b2'), { type: 'sleep', id: 'z', duration: 300 }] },
    step('s3'),
  ],
  list: [
    items,
    { type: 'tool', id: 'l', toolId: 'list' },
    { type: 'foreach', step: step('e1'), opts: { concurrency: 2 } },
    step('s2'),
  ],
  nap: [step('s1', slow), { type: 'sleep', id: 'z', duration: 1500 }, step('s2')],
  ask: [
    step('s1'),
    { type: 'mapping', id: 'm', mapConfig: '{"question":{"value":"Which?"}}' },
    { type: 'tool', id: 'ask', toolId: 'ask-human' },
    step('s2', slow),
  ],
}
const kinds = Object.keys(graphs)

let stack: SpawnedStack
let folder: string
let runs: Runs

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'guildhall-chaos-'))
  writeFileSync(join(folder, 'calls'), '')
  const module = fileURLToPath(new URL('../support/counting-tools.ts', import.meta.url))
  const env = [`TOOLS_MODULE=${module}`, `COUNT_FILE=${join(folder, 'calls')}`]
  const settings = env.flatMap((setting) => ['--env', setting])
  stack = await spawnStack(['--api', '2', '--workers', '2', '--limits', 'off', ...settings])
  const app = createCaller(stack.baseUrl)
  runs = runsOf(app, await app.newPerson())
  for (const kind of kinds) await runs.install(kind, definitionOf(kind, graphs[kind] ?? []))
})

afterAll(async () => {
  await stack?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** While things are being killed an answer may not come; that is not what is looked at here. */
const orNothing = async <T>(asked: Promise<T>): Promise<T | undefined> => asked.catch(() => undefined)

/** The part and which of its processes: each in turn, so that all are met however few faults there are. */
const victims = [
  ['worker', 0],
  ['restate', 0],
  ['api', 0],
  ['worker', 1],
  ['redis', 0],
  ['api', 1],
] as const

async function disturb(): Promise<void> {
  for (let fault = 0; fault < wantedFaults; fault++) {
    await setTimeout(300 + Math.random() * 900)
    const [part, index] = victims[fault % victims.length] ?? ['worker', 0]
    const pid = [pidsOf(stack.dir)[part]].flat()[index]
    if (pid) process.kill(pid, 'SIGKILL')
  }
}

const inputsOf = (n: number) => ({ n })

async function launchAll(): Promise<Map<string, { kind: string; n: number }>> {
  const accepted = new Map<string, { kind: string; n: number }>()
  let next = 0
  const client = async () => {
    while (next < wantedRuns) {
      const n = next++
      const kind = kinds[n % kinds.length] ?? ''
      for (;;) {
        const answer = await orNothing(runs.launch(kind, inputsOf(n)))
        if (answer?.status === 201) accepted.set(answer.body.runId, { kind, n })
        if (answer?.status === 201) break
        if (answer) expect(answer.status, answer.text).toBe(503)
        await setTimeout(100)
      }
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return accepted
}

/** Answers one run's question until an answer is accepted; gives all answers that may have been. */
async function answer(runId: string): Promise<string[]> {
  const sent: string[] = []
  for (let turn = 0; ; turn++) {
    const seen = await orNothing(runs.get(runId))
    const status = seen?.body?.run?.status
    if (['success', 'failed', 'canceled'].includes(status)) return sent
    if (status === 'suspended') {
      const said = await orNothing(runs.resume(runId, { resumeData: `answer ${turn}` }))
      // Refused for certain, or else it may be the one.
      if (!said || said.status === 200) sent.push(`answer ${turn}`)
      if (said && said.status !== 200) expect([409, 500, 503]).toContain(said.status)
    }
    await setTimeout(200)
  }
}

function expectedOf(kind: string, n: number): unknown {
  const input = inputsOf(n)
  if (kind === 'list') return [1, 2, 3, 4]
  return kind === 'fan' ? { a2: input, b2: input, z: input } : input
}

test(`${wantedRuns} runs while ${wantedFaults} processes are killed: none is lost, nothing recorded is done again`, {
  timeout: 120_000 + wantedRuns * 1000 + wantedFaults * 3000,
}, async () => {
  const disturbing = disturb()
  const accepted = await launchAll()
  expect(accepted.size).toBe(wantedRuns)
  const asking = [...accepted].filter(([, { kind }]) => kind === 'ask').map(([runId]) => runId)
  const answers = new Map(await Promise.all(asking.map(async (id) => [id, await answer(id)] as const)))
  await disturbing

  const ends = new Map<string, RunAnswer>()
  for (const runId of accepted.keys()) {
    await until(async () => {
      const seen = await orNothing(runs.get(runId))
      if (seen?.body?.run?.status === 'success') ends.set(runId, seen.body)
      if (seen?.body?.run?.status === 'failed') throw new Error(seen.text)
      return ends.has(runId)
    }, 60_000)
  }
  for (const [runId, { run, steps }] of ends) {
    const { kind, n } = accepted.get(runId) ?? { kind: '', n: 0 }
    if (kind !== 'ask') expect(run.snapshot.result, kind).toEqual(expectedOf(kind, n))
    else expect(answers.get(runId)).toContain((run.snapshot.result as { answer: string }).answer)
    expect(Object.values(steps).map(({ status }) => status)).toEqual(Object.keys(steps).map(() => 'success'))
  }

  const calls = readCalls(join(folder, 'calls'))
  const repeated = calls.length - new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size
  tell(
    `${accepted.size} runs, ${wantedFaults} faults: ${calls.length} calls of tools, ${repeated} repeated because a crash met them`,
  )
  expect(callsAfterLaterOnes(calls).map(({ idempotencyKey }) => idempotencyKey)).toEqual([])
  for (const runId of await runs.list('suspended')) {
    // A launch whose answer was lost with its process; nobody knows it to answer it.
    expect(accepted.has(runId)).toBe(false)
    await runs.cancel(runId)
  }
  // What the engine still works on, while the records say that all have ended.
  const open = `target_service_name in ('WorkflowRun', 'StepRunner') and status != 'completed'`
  await until(async () => (await countCalls(stack, open)) === 0, 30_000)
})
