import { expect, test } from 'vitest'
import { newVisitor, startPairing } from './support/actors.ts'
import { ownAddresses } from './support/client.ts'
import { letWindowsPass } from './support/rate-windows.ts'
import { expectRefusal } from './support/shapes.ts'
import { verifies } from './verifies.ts'

test('one address gets a code a second', async () => {
  verifies('limits:activation:create-one-per-second')
  const { client } = await startPairing()
  const served = performance.now()
  const tooSoon = await client.post('/activate', undefined, { impatient: true })
  expectRefusal(tooSoon, 429, 'RATE_LIMITED')
  expect(tooSoon.headers['retry-after']).toBe('1')
  if (ownAddresses) expect((await newVisitor().post('/activate')).status).toBe(200)
  await letWindowsPass(served + 1010 - performance.now())
  const later = await client.post('/activate', undefined, { impatient: true })
  expect(later.status).toBe(200)
})
