import { execFileSync } from 'node:child_process'
import { get, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { newTrace, said } from '../support/traces.ts'

/** Many pages of a megabyte, of which a few are read before their reader has anything. */
const turns = 6000
let house: House
let person: Person
let databaseUrl: string

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  person = await house.newPerson()
})

afterAll(() => house?.close())

const query = (text: string, values: unknown[]) =>
  withDatabase(databaseUrl, (database) => database.query(text, values))

async function longTrace(): Promise<string> {
  const id = await newTrace(house, person, [said('first')])
  await query(
    `insert into trace_turns (trace_id, seq, type, payload, user_id)
     select $1, 1 + g, 'agent.text', $2, gen_random_uuid() from generate_series(1, ${turns}) g`,
    [id, JSON.stringify(said('x'.repeat(1000)).payload)],
  )
  await query('update traces set last_seq = $2 where id = $1', [id, turns + 1])
  return id
}

const program = `import pg from 'pg'
const [url, text, values] = process.argv.slice(1)
const client = new pg.Client({ connectionString: url })
await client.connect()
await client.query(text, JSON.parse(values))
await client.end()`

/**
 * While this process stands still, and the server in it: how much sockets and streams would hold meanwhile is the machine's
 * affair. It takes longer than who was admitted is believed for.
 */
function meanwhile(text: string, values: unknown[]): void {
  const args = ['--input-type=module', '-e', program, databaseUrl, text, JSON.stringify(values)]
  execFileSync(process.execPath, args)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
}

/** Reads the beginning, lets something happen, and reads on. */
async function exportAround(id: string, key: string, happens: () => void) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const url = `${house.url}/api/v1/traces/${id}/export?format=jsonl`
    get(url, { agent: false, headers: { 'x-api-key': key } }, resolve).on('error', reject)
  })
  const ended = new Promise<'whole' | 'cut'>((resolve) => {
    response.on('error', () => {}).on('close', () => resolve(response.complete ? 'whole' : 'cut'))
  })
  let text = ''
  let lines = 0
  response.once('data', happens)
  response.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-200)
    lines += chunk.toString().split('\n').length - 1
  })
  return { ended: await ended, lines, text }
}

test('an export goes on while its reader may have it, and is cut when the key has ended', async () => {
  const id = await longTrace()
  const key = await house.newKey(person)
  const whole = await exportAround(id, key.secret, () => meanwhile('select 1', []))
  expect(whole).toMatchObject({ ended: 'whole', lines: turns + 3 })
  const cut = await exportAround(id, key.secret, () =>
    meanwhile('update api_keys set revoked_at = now() where id = $1', [key.id]),
  )
  expect(cut.ended).toBe('cut')
  expect(cut.lines).toBeLessThan(turns)
})

test('an export of a trace that goes away meanwhile does not look whole', async () => {
  const id = await longTrace()
  const { secret } = await house.newKey(person)
  const cut = await exportAround(id, secret, () => meanwhile('delete from traces where id = $1', [id]))
  expect(cut.ended).toBe('cut')
  expect(cut.text).not.toContain('redactions')
})
