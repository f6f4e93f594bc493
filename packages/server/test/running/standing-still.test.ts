import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sweepBlobs } from '#library/artifacts/artifacts.ts'
import { createModels } from '#machinery/models/models.ts'
import type { BlobStore } from '#platform/storage.ts'
import { createRunRecords } from '#running/runs/runs.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { withDatabase } from '../../../../test/support/database.ts'
import { until } from '../../../../test/support/processes.ts'
import { definitionOf, runsOf } from '../../../../test/support/workflows.ts'
import { storedAs } from '../support/blobs.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'
import { type Ingress, invocationId, openIngress, takes } from '../support/ingress.ts'
import { runParts } from '../support/runs.ts'

/** A process that stands still at the worst moment, or whose connection ends there. */
let databaseUrl: string
let ingress: Ingress
let house: House
let person: Person

beforeAll(async () => {
  databaseUrl = await createDatabase()
  ingress = await openIngress()
  house = await openHouse({ DATABASE_URL: databaseUrl, RESTATE_INGRESS_URL: ingress.url })
  person = await house.newPerson()
  await runsOf(house, person).install(
    'nap',
    definitionOf('nap', [{ type: 'sleep', id: 's', duration: 60_000 }]),
  )
})

afterAll(async () => {
  await house?.close()
  await ingress?.close()
})

const stop = (keyId: number) =>
  house.call('DELETE', `/api/v1/keys/${keyId}?stopRunning=true`, { token: person.token })
const rowsOf = (keyId: number) =>
  house.deps.database.db.selectFrom('workflow_runs').selectAll().where('api_key_id', '=', keyId).execute()
const launch = (key: string) =>
  house.call('POST', '/api/v1/workflows/nap/launch', { key, body: { inputs: {} } })

test('a key is revoked with what it runs while the engine is asked to take a run: that one is stopped too', async () => {
  const { id, secret } = await house.newKey(person)
  let goOn = () => {}
  const asked = new Promise<void>((resolve) => {
    ingress.behave(async (one, response) => {
      resolve()
      await new Promise<void>((free) => {
        goOn = free
      })
      takes(one, response)
    })
  })
  const launching = launch(secret)
  await asked
  expect((await stop(id)).body).toMatchObject({ success: true, stopped: 1, stoppedRuns: 1 })
  ingress.behave(takes)
  goOn()
  expect((await launching).status).toBe(201)
  expect((await rowsOf(id)).map(({ status, advancing }) => [status, advancing])).toEqual([
    ['canceled', false],
  ])
})

test('a launch that is committed after its key was revoked ends as it begins', async () => {
  ingress.behave(takes)
  const { id, secret } = await house.newKey(person)
  const { runId } = (await launch(secret)).body
  // As if the revocation had looked before the launch was committed.
  await house.call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
  const parts = { ...runParts(house), models: createModels(house.deps.config.models) }
  expect(await createRunRecords(parts).open(runId, invocationId)).toBeUndefined()
  const [row] = await rowsOf(id)
  expect(row).toMatchObject({ status: 'failed', advancing: false, error: { code: 'ACCESS_ENDED' } })
})

test('a row that is held for too long is 503 and not a mistake of ours', async () => {
  const { id } = await house.newKey(person)
  const answer = await withDatabase(databaseUrl, async (holder) => {
    await holder.query('begin')
    await holder.query('select from api_keys where id = $1 for update', [id])
    const answered = stop(id)
    // What the server does by itself after 15 s.
    const waiting = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until(async () => (await holder.query(waiting)).rows.length > 0, 5000)
    await holder.query(`select pg_cancel_backend(pid) from (${waiting}) w`)
    const done = await answered
    await holder.query('rollback')
    return done
  })
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
})

test('a transaction in which nothing happens is ended by the server, and the next one is as good as any', async () => {
  const { database } = house.deps
  const shown = await database.transaction((tx) =>
    tx
      .selectNoFrom((e) =>
        e.fn<string>('current_setting', [e.val('idle_in_transaction_session_timeout')]).as('ms'),
      )
      .execute(),
  )
  expect(shown).toEqual([{ ms: '10s' }])
  const standing = database.transaction(async (tx) => {
    await tx
      .selectNoFrom((e) =>
        e
          .fn('set_config', [e.val('idle_in_transaction_session_timeout'), e.val('50'), e.val(true)])
          .as('set'),
      )
      .execute()
    await new Promise((resolve) => setTimeout(resolve, 400))
    return tx.selectFrom('blobs').select('checksum').execute()
  })
  await expect(standing).rejects.toThrow()
  expect(await database.db.selectFrom('blobs').select('checksum').limit(0).execute()).toEqual([])
  expect((await house.newPerson()).token).toBeDefined()
})

/** Fifty files that nothing refers to any more, with what they are called in the store. */
async function unwanted(about: string) {
  const texts = Array.from({ length: 50 }, (_, n) => `${about}, ${n}`)
  const files = texts.map((content, n) => ({ path: `${n}.txt`, content }))
  const upload = async () => {
    const made = await house.call('POST', '/api/v1/artifacts', {
      token: person.token,
      body: { type: 'file', name: 'again', files },
    })
    expect(made.status, made.text).toBe(201)
    return made.body.id as string
  }
  const id = await upload()
  const checksums = texts.map((text) => createHash('sha256').update(text).digest('hex'))
  const names = await Promise.all(checksums.map((checksum) => storedAs(house, checksum)))
  await house.call('DELETE', `/api/v1/artifacts/${id}`, { token: person.token })
  await shiftClock(databaseUrl, 7200)
  return { files, names, upload }
}

test('content that is wanted again is there, however late a sweep has the store delete it', async () => {
  const { storage, database } = house.deps
  const { files, names, upload } = await unwanted('wanted again')
  let id: string | undefined
  /** The store as it is, and slow: before it deletes anything connections end and somebody uploads the same. */
  const slow: BlobStore = {
    ...storage,
    delete: async (these) => {
      await withDatabase(databaseUrl, (other) =>
        other.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and state = 'idle in transaction'`,
        ),
      )
      id ??= await upload()
      await storage.delete(these)
    },
  }
  await sweepBlobs({ database, storage: slow })
  await shiftClock(databaseUrl, 0)
  for (const { path, content } of files) {
    const address = `/api/v1/artifacts/${id}/content?path=${path}`
    const { status, text } = await house.call('GET', address, { token: person.token })
    expect([status, text]).toEqual([200, content])
  }
  for (const name of names) expect(await storage.has(name)).toBe(false)
})

test('what a sweep did not come to delete the next one deletes, also of a store that was away', async () => {
  const { storage, database } = house.deps
  const { names } = await unwanted('never again')
  const away: BlobStore = { ...storage, delete: () => Promise.reject(new Error('away')) }
  for (let tried = 0; tried < 2; tried++)
    await expect(sweepBlobs({ database, storage: away })).rejects.toThrow('away')
  for (const name of names) expect(await storage.has(name)).toBe(true)
  expect(await sweepBlobs({ database, storage })).toBe(names.length)
  await shiftClock(databaseUrl, 0)
  for (const name of names) expect(await storage.has(name)).toBe(false)
  expect(await database.db.selectFrom('blobs_gone').select('checksum').execute()).toEqual([])
})
