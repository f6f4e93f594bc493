import type { ChildProcess } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { createSandboxDriver, type SandboxConfig } from '#machinery/sandbox/sandbox.ts'
import { expectWithin, tell } from '../../../../../test/support/proof.ts'
import { atSize } from '../../../../../test/support/sizes.ts'
import {
  cgroupFolders,
  isRunning,
  kinds,
  makeConfig,
  processesOf,
  removeConfig,
  smallLimits,
  startWorker,
  stubbornTree,
  waitUntil,
} from './support.ts'

/** The walls that take longer to put up are tried less often. */
const rounds = { bubblewrap: atSize(5, 100), runc: atSize(2, 30), runsc: atSize(1, 10) }
const costRounds = 5
const nobody = 65534
const nothing = { cleared: [], left: [] }

const configs: SandboxConfig[] = []
const configOf = (kind: SandboxConfig['kind']) => {
  const config = makeConfig(kind)
  configs.push(config)
  return config
}
afterAll(() => {
  for (const config of configs) removeConfig(config)
})

const say = async (worker: ChildProcess) => (worker.stdout ? (await text(worker.stdout)).trim() : '')

/** What a runtime writes down about a sandbox, as a full disk leaves it. */
const brokenNotes = {
  bubblewrap: 'none/left-b',
  runc: 'left-b/state.json',
  runsc: 'left-b_sandbox:left-b.state',
}

describe.each(kinds)('%s', (kind) => {
  test(`a tree that ignores SIGTERM is gone after destroy, ${rounds[kind]} times`, {
    timeout: 200_000,
  }, async () => {
    const config = configOf(kind)
    const driver = createSandboxDriver(config)
    const tookMs: number[] = []
    for (let round = 0; round < rounds[kind]; round++) {
      const id = `stubborn-${kind}-${round}`
      const sandbox = await driver.create({ id, skillFiles: [], limits: smallLimits, env: {} })
      const command = sandbox.run({ shell: stubbornTree, timeoutMs: 60_000, maxOutputBytes: 1000 })
      const refused = expect(command).rejects.toMatchObject({ reason: 'lost' })
      // The first process, the command, three sessions with a bash and two sleeps each.
      await waitUntil(() => processesOf(config, id).size >= 11, 10_000)
      const pids = [...processesOf(config, id)]
      const startedMs = performance.now()
      expect(await sandbox.destroy()).toBe(true)
      tookMs.push(performance.now() - startedMs)
      expect(pids.filter(isRunning)).toEqual([])
      expect(cgroupFolders(join(config.cgroupParent, id))).toEqual([])
      expect(readdirSync(join(config.directory, 'sandboxes'))).toEqual([])
      expect(await sandbox.destroy()).toBe(true)
      await refused
    }
    const sorted = tookMs.toSorted((a, b) => a - b)
    const at = (share: number) => sorted.at(Math.ceil(sorted.length * share) - 1)?.toFixed(1)
    tell(`${kind}: destroyed ${sorted.length} trees, median ${at(0.5)} ms, slowest ${at(1)} ms`)
    expectWithin(Math.max(...sorted), 2000)
  })

  test('when the worker is killed its sandbox ends, and the next one sweeps up', {
    timeout: 60_000,
  }, async () => {
    const config = configOf(kind)
    const worker = startWorker(config, ['hold', 'held'])
    try {
      await waitUntil(() => processesOf(config, 'held').size >= 11, 20_000)
    } finally {
      worker.kill('SIGKILL')
    }
    const tookMs = await waitUntil(() => processesOf(config, 'held').size === 0, 5000)
    tell(`${kind}: empty ${tookMs.toFixed(0)} ms after the worker was killed`)
    const driver = createSandboxDriver(config)
    expect(await driver.sweep(async (id) => id === 'held')).toEqual(nothing)
    expect(readdirSync(join(config.directory, 'sandboxes'))).toEqual(['held'])
    expect(await driver.sweep(async () => false)).toEqual({ cleared: ['held'], left: [] })
    expect(readdirSync(join(config.directory, 'sandboxes'))).toEqual([])
    expect(cgroupFolders(join(config.cgroupParent, 'held'))).toEqual([])
    const again = await driver.create({ id: 'held', skillFiles: [], limits: smallLimits, env: {} })
    expect(await again.destroy()).toBe(true)
  })

  test('a trial whose worker was killed is swept up after a minute, and not one under way', async () => {
    const config = configOf(kind)
    const worker = startWorker(config, ['hold', 'check-left'])
    await waitUntil(() => processesOf(config, 'check-left').size >= 11, 20_000)
    worker.kill('SIGKILL')
    await waitUntil(() => processesOf(config, 'check-left').size === 0, 5000)
    const driver = createSandboxDriver(config)
    const isAlive = async () => true
    expect(await driver.sweep(isAlive)).toEqual(nothing)
    const longAgo = new Date(Date.now() - 61_000)
    utimesSync(join(config.directory, 'sandboxes', 'check-left'), longAgo, longAgo)
    expect(await driver.sweep(isAlive)).toEqual({ cleared: ['check-left'], left: [] })
    expect(readdirSync(join(config.directory, 'sandboxes'))).toEqual([])
  })

  test('what cannot be cleared away keeps nothing else from it, and broken notes of the runtime do not count', async () => {
    const config = configOf(kind)
    for (const id of ['left-a', 'left-b'])
      mkdirSync(join(config.directory, 'sandboxes', id), { recursive: true })
    const notes = join(config.directory, kind, brokenNotes[kind])
    mkdirSync(dirname(notes), { recursive: true })
    writeFileSync(notes, '')
    const isAlive = async (id: string) => {
      if (id === 'left-a') throw new Error('nobody knows')
      return false
    }
    const driver = createSandboxDriver(config)
    expect(await driver.sweep(isAlive)).toMatchObject({
      cleared: ['left-b'],
      left: [{ id: 'left-a', cause: { message: 'nobody knows' } }],
    })
    expect(existsSync(notes)).toBe(kind === 'bubblewrap')
    expect(await driver.sweep(async () => false)).toEqual({ cleared: ['left-a'], left: [] })
  })

  test('check says what to do when the program is missing', async () => {
    const worker = startWorker(configOf(kind), ['check'], { path: '/nonexistent' })
    expect(await say(worker)).toMatch(/could not be started; install it/)
  })

  test('what starting costs', { timeout: 60_000 }, async () => {
    const driver = createSandboxDriver(configOf(kind))
    const tookMs = { create: [] as number[], run: [] as number[], destroy: [] as number[] }
    const measure = async <T>(list: number[], work: () => Promise<T>) => {
      const startedMs = performance.now()
      const result = await work()
      list.push(performance.now() - startedMs)
      return result
    }
    for (let round = 0; round < costRounds; round++) {
      const spec = { id: `cost-${round}`, skillFiles: [], limits: smallLimits, env: {} }
      const sandbox = await measure(tookMs.create, () => driver.create(spec))
      await measure(tookMs.run, () => sandbox.run({ shell: 'true', timeoutMs: 5000, maxOutputBytes: 10 }))
      expect(await measure(tookMs.destroy, () => sandbox.destroy())).toBe(true)
    }
    const median = (list: number[]) => list.toSorted((a, b) => a - b)[costRounds >> 1]?.toFixed(1)
    const { create, run, destroy } = tookMs
    tell(`${kind}: create ${median(create)} ms, true ${median(run)} ms, destroy ${median(destroy)} ms`)
  })
})

describe('a worker that is not root', () => {
  const writable = (kind: SandboxConfig['kind']) => {
    const config = configOf(kind)
    // Its own folder, as an operator would give it.
    const directory = join(config.directory, 'own')
    mkdirSync(directory)
    chmodSync(directory, 0o777)
    return { ...config, directory }
  }

  test.each(kinds)('cannot limit, or not start, %s: check refuses', async (kind) => {
    const said = await say(startWorker(writable(kind), ['check'], { uid: nobody }))
    expect(said).toMatch(
      kind === 'bubblewrap' ? /cannot be limited: .*delegated cgroup/ : /needs a worker that runs as root/,
    )
  })

  test('runs without limits only when told so by name', async () => {
    const config = writable('bubblewrap-without-limits')
    expect(await say(startWorker(config, ['check'], { uid: nobody }))).toBe('protected')
  })
})
