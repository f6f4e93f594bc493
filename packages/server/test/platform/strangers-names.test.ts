import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { resolveStranger } from '#platform/outbound.ts'
import { expectWithin } from '../../../../test/support/proof.ts'

test('names that a silent server keeps waiting hold up no other name, and are given up at once', async () => {
  const silent = createSocket('udp4')
  silent.bind(0, '127.0.0.1')
  await once(silent, 'listening')
  const given = new AbortController()
  try {
    const servers = [`127.0.0.1:${silent.address().port}`]
    const waiting = Array.from({ length: 32 }, (_, n) =>
      resolveStranger(`n${n}.slow.example`, given.signal, servers).catch((error) => error.code as string),
    )
    await once(silent, 'message')
    const began = performance.now()
    expect((await lookup('localhost')).address).toMatch(/^(127\.0\.0\.1|::1)$/)
    given.abort()
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['ECANCELLED']))
    // Each would wait for two seconds twice.
    expectWithin(performance.now() - began, 1500)
  } finally {
    silent.close()
  }
})
