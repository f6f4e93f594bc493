import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { createCaller, type Person } from '../support/caller.ts'
import { hostileBundles } from '../support/hostile-bundles.ts'
import { tell } from '../support/proof.ts'

let stack: SpawnedStack
let person: Person

beforeAll(async () => {
  stack = await spawnStack(['--limits', 'off'])
  person = await createCaller(stack.baseUrl).newPerson()
})

afterAll(() => stack.stop())

const megabytes = (name: 'VmRSS' | 'VmHWM') => {
  const status = readFileSync(`/proc/${stack.pids.api[0]}/status`, 'utf8')
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
}

async function send(bundle: Buffer): Promise<number> {
  const form = new FormData()
  form.set('type', 'file')
  form.set('bundle', new Blob([new Uint8Array(bundle)]), 'bundle')
  const response = await fetch(`${stack.baseUrl}/api/v1/artifacts`, {
    method: 'POST',
    headers: { 'x-auth-token': person.token },
    body: form,
  })
  await response.text()
  return response.status
}

test('hostile bundles, one after the other, cost the process less than 64 MiB at its peak', async () => {
  const corpus = await hostileBundles()
  // The code that reads archives is loaded and warm before the memory is read.
  for (const [, bundle] of corpus.slice(0, 3)) await send(bundle)
  const before = megabytes('VmRSS')
  for (const [what, bundle] of corpus) expect(await send(bundle), what).toBe(400)
  const peak = megabytes('VmHWM')
  tell(
    `${corpus.length} hostile bundles: ${before.toFixed(0)} MiB before, ${peak.toFixed(0)} MiB at the peak`,
  )
  expect(peak - before).toBeLessThan(64)
})
