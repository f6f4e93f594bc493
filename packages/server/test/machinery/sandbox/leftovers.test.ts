import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createWork } from '#work.ts'
import { createDatabase, openHouse } from '../../support/house.ts'
import { cgroupFolders, makeConfig, removeConfig } from './support.ts'

const config = makeConfig('runc')
const house = await openHouse({
  DATABASE_URL: await createDatabase(),
  SANDBOX: 'runc',
  SANDBOX_DIR: config.directory,
  SANDBOX_CGROUP: config.cgroupParent,
})
afterAll(async () => {
  await house.close()
  removeConfig(config)
})

test('what earlier workers left behind keeps none from starting, whatever has become of it', async () => {
  const work = createWork(house.deps)
  const [broken, busy] = ['exec-broken-1', 'exec-busy-1']
  const folderOf = (id: string) => join(config.directory, 'sandboxes', id)
  for (const id of [broken, busy]) mkdirSync(folderOf(id), { recursive: true })
  const notes = join(config.directory, 'runc', broken)
  mkdirSync(notes, { recursive: true })
  writeFileSync(join(notes, 'state.json'), '')
  await work.check()
  expect(existsSync(folderOf(broken))).toBe(true)

  // The trial has made the parent. A group below it keeps the kernel from letting this one go, as a process would.
  const [parent = ''] = cgroupFolders(config.cgroupParent)
  const kept = join(parent, busy, 'kept')
  mkdirSync(kept, { recursive: true })
  const left = async () => (await house.deps.metrics.leftSandboxes.get()).values[0]?.value
  await work.tidy()
  expect([existsSync(folderOf(broken)), existsSync(folderOf(busy)), await left()]).toEqual([false, true, 1])
  expect(house.log()).toMatch(/"sandbox":"exec-busy-1".*not cleared away yet/)
  rmdirSync(kept)
  await work.tidy()
  expect([existsSync(folderOf(busy)), await left()]).toEqual([false, 0])
})
