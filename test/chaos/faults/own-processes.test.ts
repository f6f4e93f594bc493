import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { until } from '../../support/processes.ts'
import { childrenOf, signalOwn } from './own-processes.ts'

const stranger = { pid: 2 ** 30 }

test('a process of others is not signalled; one that is ending is taken for gone', async () => {
  // What follows the exec does not know the first child, and never asks how it ended.
  const parent = spawn('sh', ['-c', 'sleep 0.05 & exec sleep 60'], { stdio: 'ignore' })
  await once(parent, 'spawn')
  const pid = parent.pid ?? 0
  try {
    expect(() => signalOwn(stranger, pid, 'SIGCONT')).toThrow('does not belong')
    expect(signalOwn({ pid: process.pid }, pid, 'SIGCONT')).toBe(true)
    await until(() => childrenOf(pid).length === 1, 5000)
    const [child = 0] = childrenOf(pid)
    await until(() => {
      try {
        return !signalOwn(stranger, child, 'SIGCONT')
      } catch {
        return false
      }
    }, 5000)
    expect(childrenOf(pid)).toEqual([child])
  } finally {
    parent.kill('SIGKILL')
  }
})
