import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openProxy } from '../../../test/support/cutting-proxy.ts'
import { bash, installErrand, script } from '../../../test/support/executions.ts'
import { expectWithin } from '../../../test/support/proof.ts'
import { app, baseUrl, databaseUrl } from './support/stack.ts'

let database: pg.Client

beforeAll(async () => {
  database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
})

afterAll(async () => {
  await database?.end()
})

async function newKey(): Promise<string> {
  const person = await app.newPerson()
  await installErrand(app, person)
  return (await app.newKey(person)).secret
}

async function logOf(executionId: string): Promise<unknown[]> {
  const { rows } = await database.query(
    `select e.sequence, e.type, e.payload from execution_events e join executions x on x.id = e.execution_id
     where x.execution_id = $1 order by e.sequence`,
    [executionId],
  )
  return rows.map(({ sequence, type, payload }) => ({ sequence: Number(sequence), type, payload }))
}

const isStream = (asked: string) => /^GET \S+\/stream\?/m.test(asked)

test('a connection that falls silent is left, and nothing keeps the program alive', async () => {
  let silent = 0
  const frozen = new WeakSet<object>()
  const proxy = await openProxy(baseUrl, (piece, line, exchange) => {
    if (frozen.has(exchange)) return
    if (isStream(exchange.asked) && silent < 2 && exchange.said.includes('"agent.')) {
      silent++
      frozen.add(exchange)
      return
    }
    line.pass(piece)
  })
  try {
    const input = script({ say: 'One', tools: [bash('sleep 1')] }, { say: 'Two' })
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('support/follow.ts', import.meta.url)), baseUrl, proxy.url, input],
      { env: { PATH: process.env['PATH'] ?? '', GUILD_API_KEY: await newKey() } },
    )
    let said = ''
    child.stdout.on('data', (text) => {
      said += text
    })
    child.stderr.on('data', (text) => {
      said += text
    })
    await once(child, 'close')
    expect(child.exitCode, said).toBe(0)
    const { executionId, sequences, endedAfterMs, longestMs } = JSON.parse(said)
    expect(sequences).toEqual((await logOf(executionId)).map((_, index) => index + 1))
    expect(silent).toBeGreaterThan(0)
    // The idle timeout of that program is 1500 ms.
    expectWithin(longestMs, 1500 + 5000)
    expectWithin(endedAfterMs, 1000)
  } finally {
    await proxy.close()
  }
})
