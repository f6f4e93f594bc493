import { randomBytes, randomInt } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SpawnedStack, spawnStack } from '../../stack/client.ts'
import { makeZip } from '../support/archives.ts'
import { type Caller, createCaller, type Person } from '../support/caller.ts'
import { patiently } from '../support/patience.ts'
import { pidsOf, until } from '../support/processes.ts'
import { tell } from '../support/proof.ts'
import { atSize, isProof } from '../support/sizes.ts'
import { deliveredFiles, skillText } from '../support/skills.ts'
import { roughStack, type SharedStack } from './support/shared-stacks.ts'

const kills = atSize(2, 50)
// While some of them start again, which takes most of the time, the next one is killed.
const processes = atSize(2, 4)
const filesEach = 12
const clients = 4
const longestWaitMs = 300
let stack: SharedStack
/** For more processes than the stack has that files share. */
let own: SpawnedStack | undefined
let person: Person
let database: pg.Client

beforeAll(async () => {
  if (isProof) own = await spawnStack(['--api', String(processes), '--limits', 'off'])
  stack = own ?? (await roughStack())
  person = await createCaller(stack.baseUrl).newPerson()
  database = new pg.Client({ connectionString: stack.databaseUrl })
  await database.connect()
  mkdirSync(join(stack.dir, 'blobs/imports', person.workspaceId), { recursive: true })
})

afterAll(async () => {
  await database.end()
  if (own) expect(await own.stop()).toBe(0)
})

interface Outcome {
  slug: string
  files: Record<string, string>
  /** Undefined when the process was gone before it answered. */
  checksum?: string
}

/**
 * One request that reads an archive of content never seen before, writes its blobs and makes the version: there is a
 * lot to be cut in the middle of.
 */
async function install(at: Caller, slug: string): Promise<Outcome> {
  const files: Record<string, string> = { 'SKILL.md': skillText('cut', `Do ${slug}.`) }
  for (let index = 1; index < filesEach; index++) files[`${index}.txt`] = randomBytes(1000).toString('hex')
  const zip = makeZip(Object.entries(files).map(([name, content]) => ({ name, content })))
  writeFileSync(join(stack.dir, 'blobs/imports', person.workspaceId, `${slug}.zip`), zip)
  const body = { source: { type: 'r2', key: `${slug}.zip` }, slug }
  try {
    const answer = await patiently(() => at.call('POST', '/api/v1/install', { token: person.token, body }))
    expect(answer.status, answer.text).toBe(201)
    return { slug, files, checksum: answer.body.contentChecksum }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return { slug, files }
  }
}

const read = (at: Caller, path: string) =>
  patiently(() => at.call('GET', `/api/v1/skills${path}`, { token: person.token }))

/** A skill is there with everything that belongs to it, or there is no trace of it. */
async function isWhole(
  at: Caller,
  url: string,
  { slug, files, checksum }: Outcome,
  listed: Map<string, object>,
) {
  const detail = await read(at, `/${slug}`)
  if (detail.status === 404) {
    expect(checksum, `${slug} was answered 201`).toBeUndefined()
    expect(listed.has(slug)).toBe(false)
    for (const path of ['versions', 'bundle', 'diff']) {
      expect((await read(at, `/${slug}/${path}`)).status).toBe(404)
    }
    return false
  }
  expect(detail.status, detail.text).toBe(200)
  expect(detail.body).toEqual(listed.get(slug))
  const { contentChecksum, versionNumber, filesCount } = detail.body
  if (checksum) expect(contentChecksum).toBe(checksum)
  expect([versionNumber, filesCount]).toEqual([1, filesEach])
  const versions = (await read(at, `/${slug}/versions`)).body
  expect(versions).toMatchObject([{ versionNumber: 1, contentChecksum, active: true }])
  expect(await deliveredFiles(url, person, slug)).toEqual(files)
  return true
}

async function list(at: Caller): Promise<Map<string, object>> {
  const { status, body } = await read(at, '')
  expect(status).toBe(200)
  return new Map(body.map((skill: { slug: string }) => [skill.slug, skill]))
}

const isUp = async (url: string) => (await fetch(`${url}/healthz`).catch(() => undefined))?.ok === true

/** A commit that was sent by a process now dead may still be carried out; until then nothing can be said. */
async function nothingUnderWay(): Promise<boolean> {
  const { rows } = await database.query(
    `select from pg_stat_activity where xact_start is not null and backend_type = 'client backend'
       and pid <> pg_backend_pid()`,
  )
  return rows.length === 0
}

/** Clients that install one skill after the other until their process is gone, killed once it does real work. */
async function cutInstalls(round: number, url: string, kill: () => void): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const at = createCaller(url)
  let installed = () => {}
  const warm = new Promise<void>((resolve) => {
    installed = resolve
  })
  const running = Array.from({ length: clients }, async (_, client) => {
    for (let index = 0; ; index++) {
      const slug = `cut-${round}-${client}-${index}`
      const outcome = await install(at, slug)
      outcomes.push(outcome)
      installed()
      if (!outcome.checksum) return
    }
  })
  await warm
  await sleep(randomInt(longestWaitMs))
  kill()
  await Promise.all(running)
  return outcomes
}

test(`kill -9 of an API process in the middle of installs, ${kills} times: a skill is there whole or not at all`, {
  timeout: 600_000,
}, async () => {
  const begun = performance.now()
  const [counts, gone] = [{ answered: 0, cut: 0, cutYetThere: 0 }, [] as string[]]
  for (let round = 0; round < kills; round++) {
    const victim = round % processes
    const [url = '', otherUrl = ''] = [stack.apiUrls[victim], stack.apiUrls[(round + 1) % processes]]
    await until(() => isUp(url), 30_000)
    const pid = pidsOf(stack.dir).api[victim]
    if (!pid) throw new Error('an API process that is up has an id')
    const outcomes = await cutInstalls(round, url, () => process.kill(pid, 'SIGKILL'))
    await until(nothingUnderWay, 10_000)
    await until(() => isUp(otherUrl), 30_000)
    const at = createCaller(otherUrl)
    const listed = await list(at)
    for (const outcome of outcomes) {
      const isThere = await isWhole(at, otherUrl, outcome, listed)
      if (outcome.checksum) counts.answered++
      else counts.cut++
      if (isThere && !outcome.checksum) counts.cutYetThere++
      if (!isThere) gone.push(outcome.slug)
    }
    await until(() => pidsOf(stack.dir).api[victim] !== pid, 5000)
  }
  const tookSeconds = Math.round((performance.now() - begun) / 1000)
  tell(`${kills} kills in ${tookSeconds} s; installs ${JSON.stringify(counts)}`)
  expect(counts.cut).toBe(kills * clients)
  if (isProof) expect(gone.length).toBeGreaterThan(kills)

  const [url = ''] = stack.apiUrls
  await until(() => isUp(url), 30_000)
  const at = createCaller(url)
  expect((await list(at)).size).toBe(counts.answered + counts.cutYetThere)
  for (const slug of gone.slice(0, 10)) {
    const again = await install(at, slug)
    expect(again.checksum).toBeDefined()
    expect(await isWhole(at, url, again, await list(at))).toBe(true)
  }
})
