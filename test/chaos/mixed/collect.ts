import { setTimeout as delay } from 'node:timers/promises'
import type { SpawnedStack } from '../../../stack/client.ts'
import { readCalls } from '../../support/counting-tools.ts'
import { withDatabase } from '../../support/database.ts'
import { readToEnd } from '../cut-reader.ts'
import { listOpenCalls } from '../engine-evidence.ts'
import type { Reading } from '../execution-history.ts'
import { listOrphans } from '../faults/own-processes.ts'
import { type FinalState, readState, type Seen } from './evidence.ts'
import type { Lane } from './lane.ts'
import type { Load } from './load.ts'

const replayed = 400
const contentsRead = 400
const readWithinMs = 30_000
const goneWithinMs = 15_000
const atOnce = 8

/** Looks at everything that is left when the load is over: rows, logs, contents, calls of the engine, processes. */
export async function collect(
  place: {
    readonly stack: SpawnedStack
    readonly callFile: string
    readonly evaluatorsBefore: ReadonlySet<number>
  },
  lanes: readonly Lane[],
  load: Load,
): Promise<Seen> {
  const { stack } = place
  const state = await withDatabase(stack.databaseUrl, readState)
  return {
    state,
    calls: readCalls(place.callFile),
    readings: await readAgain(stack, lanes, state, load.readings),
    lostContent: await readContents(lanes, load),
    driven: await settled(async () => drivenForNothing(stack, state)),
    orphans: await settled(async () => listOrphans(stack, place.evaluatorsBefore)),
  }
}

/** What goes by itself may take a moment. */
async function settled(look: () => Promise<string[]>): Promise<string[]> {
  for (const end = performance.now() + goneWithinMs; ; await delay(500)) {
    const found = await look()
    if (found.length === 0 || performance.now() > end) return found
  }
}

/** A run that waits for a person is driven, and nothing else when all is quiet. */
async function drivenForNothing(stack: SpawnedStack, { runs }: FinalState): Promise<string[]> {
  const states = new Map<string | null, string>(runs.map(({ runId, status }) => [runId, status]))
  const open = (await listOpenCalls(stack)).filter(
    ({ service, handler, key }) =>
      ['StepRunner', 'ExecutionRunner'].includes(service) ||
      (service === 'WorkflowRun' && handler === 'run' && states.get(key) !== 'suspended'),
  )
  return open.map(({ service, key, status, retries, failure }) => {
    const about = key === null ? service : `${service} of ${key}, which is ${states.get(key)}`
    return `the engine still drives ${about}: ${status}, ${retries ?? 0} tries, ${failure ?? 'no failure'}`
  })
}

/** Those that somebody read along, and the latest others, each from every process. */
async function readAgain(
  { apiUrls }: SpawnedStack,
  lanes: readonly Lane[],
  { executions }: FinalState,
  live: ReadonlyMap<string, readonly Reading[]>,
): Promise<Map<string, Reading[]>> {
  const people = new Map(lanes.map((lane) => [lane.person.workspaceId, lane]))
  const ended = executions.filter(({ status }) => status === 'completed' || status === 'failed')
  const chosen = [...ended.filter(({ executionId }) => live.has(executionId)), ...ended.slice(-replayed)]
  const readings = new Map<string, Reading[]>()
  await inParallel([...new Set(chosen)], async ({ executionId, workspaceId }) => {
    const lane = people.get(workspaceId)
    if (!lane) throw new Error(`${executionId} belongs to nobody here`)
    const replays = await Promise.all(
      apiUrls.map((processUrl) => {
        const how = { reader: `a replay at ${processUrl}`, cuts: 0, withinMs: readWithinMs, processUrl }
        return readToEnd(lane.app, lane.person, executionId, how)
      }),
    )
    readings.set(executionId, [...replays, ...(live.get(executionId) ?? [])])
  })
  return readings
}

/** The latest of what was acknowledged, and whether it is what was sent. */
async function readContents(lanes: readonly Lane[], { operations }: Load): Promise<string[]> {
  const people = new Map(lanes.map((lane) => [lane.person.workspaceId, lane]))
  const made = operations
    .filter(({ sort, succeeded }) => sort === 'artifact' && succeeded)
    .slice(-contentsRead)
  const lost: string[] = []
  await inParallel(made, async ({ id, workspaceId, attempts }) => {
    const artifactId = attempts.at(-1)?.told
    const lane = people.get(workspaceId)
    const path = `/api/v1/artifacts/${artifactId}/content?path=data.txt`
    const answer = await lane?.app.call('GET', path, { token: lane.person.token })
    if (answer?.text !== `${id}\n`.repeat(50))
      lost.push(`artifact ${id}: ${artifactId} was acknowledged and answers ${answer?.status}`)
  })
  return lost
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const client = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, client))
}
