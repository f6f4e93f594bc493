import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { spawnStack } from '../../stack/client.ts'
import { createCaller } from '../support/caller.ts'
import { isAlive, pidsOf, until } from '../support/processes.ts'
import { tell } from '../support/proof.ts'
import { atSize, isProof } from '../support/sizes.ts'

const servers = ['account', 'container', 'object', 'proxy']

test('with --s3 the house uses Swift, whose servers are started again at the same address', async () => {
  const begun = performance.now()
  const stack = await spawnStack(['--s3'])
  tell(`ready after ${((performance.now() - begun) / 1000).toFixed(1)} s`)
  const app = createCaller(stack.baseUrl)
  const readiness = async () => (await app.call('GET', '/readyz')).body
  const pids = () => pidsOf(stack.dir).swift
  try {
    expect(await readiness()).toEqual({ status: 'ok', down: [] })
    expect(pids()).toHaveLength(servers.length)
    expect(readdirSync(join(stack.dir, 'logs'))).toEqual(
      expect.arrayContaining(servers.map((name) => `swift-${name}.log`)),
    )
    // All are started again by the same lines; each costs several seconds of a processor.
    for (const name of servers.slice(-atSize(1, servers.length))) {
      const index = servers.indexOf(name)
      const victim = pids()[index] ?? 0
      process.kill(victim, 'SIGKILL')
      const killed = performance.now()
      await until(() => ![null, victim].includes(pids()[index] ?? null), 5000)
      await until(async () => (await readiness()).status === 'ok', 15_000)
      tell(`swift-${name}: ready again after ${(performance.now() - killed).toFixed(0)} ms`)
    }
  } finally {
    const last = pids()
    expect(await stack.stop()).toBe(0)
    expect(last.filter(isAlive)).toEqual([])
  }
})

/** In the gate the server's tests take its store away. */
test.runIf(isProof)('without Swift the house is degraded and says why', async () => {
  const stack = await spawnStack(['--s3', '--no-restart'])
  try {
    const app = createCaller(stack.baseUrl)
    process.kill(pidsOf(stack.dir).swift[3] ?? 0, 'SIGKILL')
    await until(async () => (await app.call('GET', '/readyz')).body.down.includes('storage'), 5000)
    const answer = await app.call('GET', '/readyz')
    expect(answer).toMatchObject({ status: 200, body: { status: 'degraded', down: ['storage'] } })
    await app.newPerson()
  } finally {
    await stack.stop()
  }
})
