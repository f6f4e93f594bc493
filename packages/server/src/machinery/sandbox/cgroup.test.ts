import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createCgroups } from './cgroup.ts'

// Which files get which values, for a version that the machine need not have: a plain folder stands for the kernel's.
let tree: string

beforeEach(() => {
  tree = mkdtempSync(join(tmpdir(), 'guildhall-cgroup-'))
  mkdirSync(join(tree, 'guildhall'))
  writeFileSync(join(tree, 'cgroup.controllers'), 'cpuset cpu io memory pids\n')
  writeFileSync(join(tree, 'cgroup.subtree_control'), 'memory pids\n')
  writeFileSync(join(tree, 'guildhall/cgroup.subtree_control'), '\n')
})
afterEach(() => rmSync(tree, { recursive: true, force: true }))

const read = (name: string) => readFileSync(join(tree, 'guildhall', name), 'utf8')

test('version 2: limits, members and usage', async () => {
  const cgroups = createCgroups('/guildhall', async () => [{ path: tree, type: 'cgroup2', options: [] }])
  const group = cgroups.group('one')
  await group.create({ memoryBytes: 1000, pids: 5 })
  expect(readFileSync(join(tree, 'cgroup.subtree_control'), 'utf8')).toBe('memory pids\n')
  expect(read('cgroup.subtree_control')).toBe('+memory +pids')
  expect([read('one/memory.max'), read('one/memory.swap.max'), read('one/pids.max')]).toEqual([
    '1000',
    '0',
    '5',
  ])
  expect(await group.memberFiles()).toEqual([join(tree, 'guildhall/one/cgroup.procs')])
  writeFileSync(join(tree, 'guildhall/one/cpu.stat'), 'usage_usec 2500000\nuser_usec 1\n')
  writeFileSync(join(tree, 'guildhall/one/memory.events'), 'low 0\noom 4\noom_kill 3\n')
  expect(await group.usage()).toEqual({ cpuSeconds: 2.5, memoryKills: 3 })
  expect(cgroups.pathOf('one')).toBe('/guildhall/one')
})

test('version 1 is chosen when version 2 has no controllers, and a missing one is named', async () => {
  writeFileSync(join(tree, 'cgroup.controllers'), 'hugetlb\n')
  const unified = { path: tree, type: 'cgroup2', options: [] }
  const memory = { path: join(tree, 'memory'), type: 'cgroup', options: ['rw', 'memory'] }
  const cgroups = createCgroups('/guildhall', async () => [unified, memory])
  await expect(cgroups.group('one').create({ memoryBytes: 1, pids: 1 })).rejects.toThrow(
    /cannot be limited: no cgroup mount has the pids controller.*Run the worker as root/,
  )
})

test('a group that the kernel does not let go is not called gone', async () => {
  const cgroups = createCgroups('/guildhall', async () => [{ path: tree, type: 'cgroup2', options: [] }])
  mkdirSync(join(tree, 'guildhall/held/inner'), { recursive: true })
  expect(await cgroups.group('held').end(20)).toBe(false)
  expect(await cgroups.group('never-was').end(20)).toBe(true)
})
