import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { createCaller } from '../support/caller.ts'
import { withDatabase } from '../support/database.ts'
import { type BlobDisk, mountBlobDisk } from './faults/blob-disk.ts'
import { type FaultKind, planFaults, seeded } from './faults/fault.ts'
import { evaluatorPids } from './faults/own-processes.ts'
import { type Demands, findMixedViolations, type MixedHistory, shareOf, usualDemands } from './mixed/check.ts'
import { collect } from './mixed/collect.ts'
import { countMoving } from './mixed/evidence.ts'
import type { FaultRecord, Operation } from './mixed/history.ts'
import { type Lane, openLane } from './mixed/lane.ts'
import { type Load, startLoad } from './mixed/load.ts'
import { measureRecovery, probeNames } from './mixed/probes.ts'
import { livingOf, type Part, serves } from './part-faults.ts'

export interface MixedOptions {
  readonly kinds: readonly FaultKind[]
  readonly faults: number
  readonly operations: number
  readonly lanes: number
  readonly seed: number
  /** When the faults should be over; those that are still planned then are not fired, and that is a violation. */
  readonly withinSeconds: number
  readonly demands?: Demands
  /** How long errands last that are there to be stopped, when nobody does. */
  readonly longSeconds?: number
  readonly say?: (line: string) => void
}

export interface MixedOutcome {
  readonly violations: string[]
  readonly history: MixedHistory
  readonly figures: MixedFigures
}

export interface Spread {
  readonly p50: number
  readonly max: number
}

export interface MixedFigures {
  readonly seconds: number
  readonly operations: number
  readonly succeededShare: number
  readonly bySort: Record<string, string>
  readonly faults: number
  readonly executions: Record<string, number>
  readonly runs: Record<string, number>
  /** By kind of fault and by what was tried after it, in milliseconds. */
  readonly recovery: Record<string, { readonly times: number; readonly probes: Record<string, Spread> }>
  readonly quietAfterMs: number
}

const blobDiskMib = 192
const againWithinMs = 60_000
const gapMs = { least: 300, most: 1500 }
const burstLeadMs = { starts: 150, runs: 600 }
const mostPerSecond = 25

/** Runs all sorts of operations in a stack to which all sorts of faults happen, and tells what must not have happened. */
export async function runMixedChaos(options: MixedOptions): Promise<MixedOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'guildhall-chaos-'))
  const callFile = join(folder, 'calls')
  writeFileSync(callFile, '')
  const disk = mountBlobDisk(blobDiskMib)
  try {
    const evaluatorsBefore = new Set(evaluatorPids())
    const tools = fileURLToPath(new URL('../support/counting-tools.ts', import.meta.url))
    const settings = [`TOOLS_MODULE=${tools}`, `COUNT_FILE=${callFile}`, `STORAGE=directory:${disk.folder}`]
    const env = settings.flatMap((setting) => ['--env', setting])
    const stack = await spawnStack(['--api', '2', '--workers', '2', '--limits', 'off', ...env])
    try {
      return await loadUnderFaults({ stack, disk, callFile, evaluatorsBefore }, options)
    } finally {
      await stack.stop()
    }
  } finally {
    disk.unmount()
    await rm(folder, { recursive: true, force: true })
  }
}

interface Place {
  readonly stack: SpawnedStack
  readonly disk: BlobDisk
  readonly callFile: string
  readonly evaluatorsBefore: ReadonlySet<number>
}

async function loadUnderFaults(place: Place, options: MixedOptions): Promise<MixedOutcome> {
  const { stack } = place
  const { say = () => {}, seed, longSeconds = 25 } = options
  const app = createCaller(stack.baseUrl)
  const lanes: Lane[] = []
  for (let n = 0; n < options.lanes; n++) lanes.push(await openLane(app, `l${n}`, longSeconds))
  const probeLanes: Record<string, Lane> = {}
  for (const name of probeNames) probeLanes[name] = await openLane(app, `p${name}`, longSeconds)
  say(`${lanes.length} workspaces are ready`)

  const begun = performance.now()
  const planned = planFaults(options.kinds, options.faults, seeded(seed))
  const load = startLoad(lanes, paceOf(planned, options), Math.random)
  const faults = await fireAll(place, load, probeLanes, planned, { ...options, say, begun })
  const lastEnd = Math.max(...faults.map(({ endedAt }) => endedAt))
  await waitForOperations(load, options, begun)
  await load.stop()
  const { demands = usualDemands } = options
  const quietAfterMs = await waitForQuiet(stack, lastEnd, demands)
  say(`quiet ${Math.round(quietAfterMs)} ms after the last fault`)

  const seen = await collect(place, [...lanes, ...Object.values(probeLanes)], load)
  const history = { operations: load.operations, faults, planned: planned.map(({ name }) => name), seen }
  const violations = findMixedViolations(history, demands)
  return { violations, history, figures: describe(history, { begun, quietAfterMs }) }
}

/** So many operations a second that all are done when the faults are, and not so many that nothing else is. */
function paceOf(planned: readonly FaultKind[], { operations, lanes }: MixedOptions): number {
  const betweenSeconds = 3
  const seconds = planned.reduce((sum, kind) => sum + kind.seconds + betweenSeconds, 0)
  const inBursts = planned.length * lanes
  return Math.min(mostPerSecond, Math.max(2, (operations - inBursts) / seconds))
}

async function fireAll(
  { stack, disk }: Place,
  load: Load,
  probeLanes: Readonly<Record<string, Lane>>,
  planned: readonly FaultKind[],
  { seed, withinSeconds, say, begun }: MixedOptions & { say: (line: string) => void; begun: number },
): Promise<FaultRecord[]> {
  const random = seeded(seed + 1)
  const faults: FaultRecord[] = []
  const note = (operation: Operation) => void load.operations.push(operation)
  for (const kind of planned) {
    if (performance.now() - begun > withinSeconds * 1000) break
    await delay(gapMs.least + random() * (gapMs.most - gapMs.least))
    load.burst(kind.aim)
    await delay(random() * burstLeadMs[kind.aim])
    const startedAt = Date.now()
    const met = await kind.fire({ stack, disk, random })
    const endedAt = Date.now()
    const { pids = [], executionIds = [], note: remark = '' } = met
    const recoveryMs = await measureRecovery(probeLanes, endedAt, note)
    await allBack(stack)
    faults.push({ kind: kind.name, startedAt, endedAt, pids, executionIds, note: remark, recoveryMs })
    say(
      `${faults.length}/${planned.length} ${kind.name} ${remark} · recovered ${JSON.stringify(recoveryMs)} · ${load.operations.length} operations`,
    )
  }
  return faults
}

/** The next fault finds every process there, or two faults would be three. */
async function allBack({ dir, baseUrl }: SpawnedStack): Promise<void> {
  const wanted: [Part, number][] = [
    ['api', 2],
    ['worker', 2],
    ['postgres', 1],
    ['redis', 1],
    ['restate', 1],
  ]
  const end = performance.now() + againWithinMs
  const isBack = async () =>
    wanted.every(([part, count]) => livingOf(dir, part).length === count) && (await serves(baseUrl))
  while (!(await isBack())) {
    if (performance.now() > end) throw new Error('not every process of the stack is back after a minute')
    await delay(100)
  }
}

/** Faults may be over before enough was done; then the rest is done in peace. */
async function waitForOperations(load: Load, options: MixedOptions, begun: number): Promise<void> {
  const end = begun + options.withinSeconds * 1000
  while (load.operations.length < options.operations && performance.now() < end) await delay(200)
}

/** How long after the last fault nothing moves any more; what still moves after the time shows in the final state. */
async function waitForQuiet(
  { databaseUrl }: SpawnedStack,
  since: number,
  { endedWithinMs }: Demands,
): Promise<number> {
  const left = Math.max(0, endedWithinMs - (Date.now() - since))
  // At least a while, in case that the operations took longer than that after the last fault.
  const end = performance.now() + Math.max(left, 30_000)
  return withDatabase(databaseUrl, async (database) => {
    while ((await countMoving(database)) > 0 && performance.now() < end) await delay(200)
    return Date.now() - since
  })
}

function describe(
  { operations, faults, seen }: MixedHistory,
  { begun, quietAfterMs }: { begun: number; quietAfterMs: number },
): MixedFigures {
  const sorts = Map.groupBy(operations, ({ sort }) => sort)
  const bySort = [...sorts].map(([sort, all]) => {
    const done = all.filter(({ succeeded }) => succeeded).length
    return [sort, `${done} of ${all.length}`] as const
  })
  const recovery = [...Map.groupBy(faults, ({ kind }) => kind)].map(([kind, all]) => {
    const probed = probeNames.map((probe) => [
      probe,
      spreadOf(all.map(({ recoveryMs }) => recoveryMs[probe])),
    ])
    return [kind, { times: all.length, probes: Object.fromEntries(probed) }]
  })
  return {
    seconds: Math.round((performance.now() - begun) / 1000),
    operations: operations.length,
    succeededShare: shareOf(operations),
    bySort: Object.fromEntries(bySort),
    faults: faults.length,
    executions: countBy(
      seen.state.executions.map((one) => [one.status, one.errorCode ?? one.stopReason].join(' ')),
    ),
    runs: countBy(seen.state.runs.map(({ status }) => status)),
    recovery: Object.fromEntries(recovery),
    quietAfterMs: Math.round(quietAfterMs),
  }
}

/** What never succeeded took for ever. */
function spreadOf(times: readonly (number | null | undefined)[]): Spread {
  const sorted = times.map((ms) => ms ?? Number.POSITIVE_INFINITY).toSorted((a, b) => a - b)
  return { p50: sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN }
}

function countBy(names: readonly string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]))
}
