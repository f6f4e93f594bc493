import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { createSandboxDriver, type SandboxConfig } from '#machinery/sandbox/sandbox.ts'
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
  waitUntil,
} from './support.ts'

/** A start of the first takes some 20 ms, of the others ten times that. */
const rounds = { bubblewrap: atSize(20, 400), runc: atSize(3, 40), runsc: atSize(2, 20) }
const startMs = { bubblewrap: 30, runc: 200, runsc: 400 }

const ownPath = process.env['PATH']
const configs: SandboxConfig[] = []
afterEach(() => {
  process.env['PATH'] = ownPath
})
afterAll(() => {
  for (const config of configs) removeConfig(config)
})

function configOf(kind: SandboxConfig['kind']): SandboxConfig {
  const config = makeConfig(kind)
  configs.push(config)
  return config
}

const specOf = (id: string) => ({ id, skillFiles: [], limits: smallLimits, env: {} })

/**
 * A program that stands still while it puts up walls, with a child that nothing but its group tells of: so bubblewrap's
 * waits when bubblewrap is ended between making it and letting it go on. `path` leads to it; `pids` waits for both.
 */
function standStill(config: SandboxConfig, child: string) {
  const bin = join(config.directory, 'bin')
  mkdirSync(bin)
  const started = join(config.directory, 'started')
  writeFileSync(started, '')
  chmodSync(started, 0o666)
  const program = join(bin, config.kind.replace(/bubblewrap.*/, 'bwrap'))
  const lines = [
    '#!/bin/bash',
    'case "$*" in *delete*|*--version*) exit;; esac',
    `${child} &`,
    `echo $! $$ > ${started}`,
    'exec sleep 1000',
  ]
  writeFileSync(program, `${lines.join('\n')}\n`)
  chmodSync(program, 0o755)
  const said = () => readFileSync(started, 'utf8')
  return {
    path: `${bin}:${ownPath}`,
    pids: async () => {
      await waitUntil(() => said().endsWith('\n'), 10_000)
      return said().trim().split(' ')
    },
  }
}

/** Those that were started with the sandbox's folder among their words, wherever they have gone. */
function processesNaming(folder: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder)
    } catch {
      return false
    }
  })
}

describe.each([...kinds, 'bubblewrap-without-limits'] as const)('%s', (kind) => {
  test('a start that comes to no end is ended when its caller has enough', async () => {
    const config = configOf(kind)
    const { path, pids } = standStill(config, kind === 'bubblewrap' ? 'setsid sleep 1000' : 'sleep 1000')
    process.env['PATH'] = path
    const stop = new AbortController()
    const refused = expect(
      createSandboxDriver(config).create(specOf(`slow-${kind}`), stop.signal),
    ).rejects.toThrow('enough')
    const running = await pids()
    stop.abort(new Error('enough'))
    await refused
    await waitUntil(() => !running.some(isRunning), 5000)
    expect(readdirSync(join(config.directory, 'sandboxes'))).toEqual([])
  })
})

test('what a start had made when its worker was killed is found by the next one', async () => {
  const config = configOf('bubblewrap')
  const { path, pids } = standStill(config, 'setsid sleep 1000')
  const worker = startWorker(config, ['hold', 'held'], { path })
  const running = await pids()
  worker.kill('SIGKILL')
  await waitUntil(() => worker.signalCode !== null, 5000)
  expect(processesOf(config, 'held')).toEqual(new Set(running))
  const driver = createSandboxDriver(config)
  expect(await driver.sweep(async () => false)).toEqual({ cleared: ['held'], left: [] })
  expect(running.filter(isRunning)).toEqual([])
})

test.each(kinds)(
  '%s: a start that is broken off at any moment leaves nothing',
  {
    timeout: 300_000,
  },
  async (kind) => {
    const config = configOf(kind)
    const driver = createSandboxDriver(config)
    for (let round = 0; round < rounds[kind]; round++) {
      const id = `broken-${round}`
      const stop = new AbortController()
      const starting = driver.create(specOf(id), stop.signal).then(
        (sandbox) => sandbox.destroy(),
        (error: Error) => error.message,
      )
      await delay((startMs[kind] * round) / rounds[kind])
      stop.abort(new Error('enough'))
      expect([true, 'enough']).toContain(await starting)
      expect(cgroupFolders(join(config.cgroupParent, id))).toEqual([])
    }
    expect(readdirSync(join(config.directory, 'sandboxes'))).toEqual([])
    await waitUntil(() => processesNaming(config.directory).length === 0, 5000)
  },
)
