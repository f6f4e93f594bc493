import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Answer, type Caller, createCaller, type Person } from '../support/caller.ts'
import { patiently } from '../support/patience.ts'
import { tell } from '../support/proof.ts'
import { atSize, isProof } from '../support/sizes.ts'
import { deliveredFiles, newSkillArtifact, skillText } from '../support/skills.ts'
import { calmStack, type SharedStack } from './support/shared-stacks.ts'

interface Version {
  versionNumber: number
  contentChecksum: string
  prompt: string
  note: string | null
  active: boolean
}

const contents = 5
const writesAtOnce = atSize(60, 200)
const firstInstalls = atSize(20, 50)
const removalRounds = atSize(6, 20)
let stack: SharedStack
let processes: Caller[]
let person: Person
let database: pg.Client
let artifacts: { id: string; contentChecksum: string; marker: string }[]

beforeAll(async () => {
  stack = await calmStack()
  processes = stack.apiUrls.map(createCaller)
  database = new pg.Client({ connectionString: stack.databaseUrl })
  await database.connect()
})

beforeEach(async () => {
  person = await at(0).newPerson()
  artifacts = await Promise.all(
    Array.from({ length: contents }, async (_, index) => {
      const marker = `Do it in way ${index} for ${person.userId}.`
      const files = {
        'SKILL.md': skillText('raced', marker),
        'notes.md': `${marker}\n`,
        'same.md': 'Same.\n',
      }
      return { ...(await newSkillArtifact(at(index), person, files)), marker }
    }),
  )
})

afterAll(async () => {
  await database.end()
})

function at(index: number): Caller {
  const caller = processes[index % processes.length]
  if (!caller) throw new Error('no API process')
  return caller
}

let turnedAway = 0

const post = (index: number, path: string, body?: unknown): Promise<Answer> =>
  patiently(
    () =>
      at(index).call('POST', `/api/v1/skills/raced${path}`, {
        token: person.token,
        ...(body === undefined ? {} : { body }),
      }),
    () => turnedAway++,
  )
const get = (index: number, path: string) =>
  at(index).call('GET', `/api/v1/skills/raced${path}`, { token: person.token })

const artifact = (index: number) => artifacts[index % contents] ?? { id: '', contentChecksum: '', marker: '' }
const install = (index: number) => post(index, '/install', { artifactId: artifact(index).id })

async function listVersions(): Promise<Version[]> {
  const answer = await get(0, '/versions')
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

/** Numbers from the highest to 1 without a gap, and the highest is live. */
function expectOneHistory(versions: readonly Version[], length: number): void {
  expect(versions.map(({ versionNumber }) => versionNumber)).toEqual(
    Array.from({ length }, (_, index) => length - index),
  )
  expect(versions.filter(({ active }) => active)).toEqual([versions[0]])
}

/** Every version's files are read from the store and compared with those of the first. */
async function expectReadable(versions: readonly Version[]): Promise<void> {
  const first = versions.at(-1)
  for (const [index, { versionNumber, contentChecksum }] of versions.entries()) {
    const { status, text, body } = await get(index, `/diff?from=1&to=${versionNumber}`)
    expect(status, text).toBe(200)
    const { marker } = artifacts.find((known) => known.contentChecksum === contentChecksum) ?? {}
    const changes = contentChecksum === first?.contentChecksum ? [] : ['SKILL.md', 'notes.md']
    expect(body.files.map(({ path }: { path: string }) => path)).toEqual(changes)
    for (const { diff } of body.files) expect(diff).toContain(`\n+${marker}`)
  }
}

/** Of writers that wait for each other in a circle PostgreSQL ends one; being tried again hides it, and costs a second. */
async function countDeadlocks(): Promise<number> {
  const { rows } = await database.query(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  )
  return rows[0].deadlocks
}

interface Write {
  answer: Answer
  begun: number
  ended: number
}

async function timed(run: () => Promise<Answer>): Promise<Write> {
  const begun = performance.now()
  const answer = await run()
  return { answer, begun, ended: performance.now() }
}

/** What had ended before another began has the smaller number. */
function expectRealOrder(installs: readonly Write[]): void {
  for (const earlier of installs) {
    const after = installs.filter(({ begun }) => begun > earlier.ended)
    for (const { answer } of after) {
      expect(answer.body.versionNumber).toBeGreaterThan(earlier.answer.body.versionNumber)
    }
  }
}

test(`${writesAtOnce} installs and restores of one skill at once over two processes: one history, and nothing is lost`, async () => {
  for (const index of [0, 1, 2]) expect((await install(index)).body.versionNumber).toBe(index + 1)
  const deadlocks = await countDeadlocks()
  const isInstall = (index: number) => index % 5 < 3
  const begun = performance.now()
  const writes = await Promise.all(
    Array.from({ length: writesAtOnce }, (_, index) =>
      timed(() => (isInstall(index) ? install(index) : post(index, `/versions/${(index % 3) + 1}/restore`))),
    ),
  )
  const tookMs = performance.now() - begun
  for (const { answer } of writes) expect(answer.status, answer.text).toBe(200)

  const versions = await listVersions()
  expectOneHistory(versions, writesAtOnce + 3)
  const installs = writes.filter((_, index) => isInstall(index))
  const numbers = installs.map(({ answer }) => answer.body.versionNumber)
  expect(new Set(numbers).size).toBe(installs.length)
  for (const { answer } of installs) {
    const { versionNumber, contentChecksum, prompt } = answer.body
    const kept = versions.find((version) => version.versionNumber === versionNumber)
    expect(kept).toMatchObject({ contentChecksum, prompt, note: null })
  }
  const restores = writes.filter((_, index) => !isInstall(index)).map(({ answer }) => answer.body)
  const restored = versions.filter(({ note }) => note !== null)
  for (const source of [1, 2, 3]) {
    const checksum = artifact(source - 1).contentChecksum
    const answered = restores.filter(({ restoredFrom }) => restoredFrom === source)
    expect(answered.length).toBeGreaterThan(writesAtOnce / 10)
    for (const { skill } of answered) expect(skill.contentChecksum).toBe(checksum)
    const kept = restored.filter(({ note }) => note === `Restored from version ${source}`)
    expect(kept).toHaveLength(answered.length)
    for (const { contentChecksum } of kept) expect(contentChecksum).toBe(checksum)
  }
  expectRealOrder(installs)
  await expectReadable(versions)
  const delivered = await deliveredFiles(stack.baseUrl, person, 'raced')
  expect(delivered).toMatchObject({ 'SKILL.md': versions[0]?.prompt, 'same.md': 'Same.\n' })
  tell(
    `${installs.length} installs and ${restored.length} restores in ${tookMs.toFixed(0)} ms, ${turnedAway} times told to come back`,
  )
  expect((await countDeadlocks()) - deadlocks).toBe(0)
})

test(`${firstInstalls} first installs of one skill at once make the versions 1 to ${firstInstalls} of one skill`, async () => {
  const answers = await Promise.all(Array.from({ length: firstInstalls }, (_, index) => install(index)))
  for (const { status, text } of answers) expect(status, text).toBe(200)
  expectOneHistory(await listVersions(), firstInstalls)
  const { body } = await at(0).call('GET', '/api/v1/skills', { token: person.token })
  expect(body).toHaveLength(1)
})

test('one idempotency key sent 20 times at once makes one version', async () => {
  const { id } = artifact(0)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      at(index).call('POST', '/api/v1/skills/raced/install', {
        token: person.token,
        body: { artifactId: id },
        headers: { 'idempotency-key': 'install-once' },
      }),
    ),
  )
  for (const { status, text } of answers) expect(status, text).toBe(200)
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expectOneHistory(await listVersions(), 1)
})

test('installs, restores and removals at once: whatever was answered is in the history', async () => {
  await install(0)
  const deadlocks = await countDeadlocks()
  let [written, removed] = [1, 0]
  for (let round = 0; round < removalRounds; round++) {
    const answers = await Promise.all([
      ...[0, 1, 2].map((index) => install(index + round)),
      ...[0, 1].map((index) => post(index + round, '/versions/1/restore')),
      ...[0, 1].map((index) => post(index + round, '/uninstall')),
    ])
    for (const { status, text } of answers.slice(0, 3)) expect(status, text).toBe(200)
    for (const { status, text } of answers.slice(3)) expect([200, 404], text).toContain(status)
    const done = answers.map(({ status }) => status === 200)
    written += done.slice(0, 5).filter(Boolean).length
    removed += done.slice(5).filter(Boolean).length
  }
  const last = await install(0)
  expect(last.body.versionNumber).toBe(written + 1)
  const versions = await listVersions()
  expectOneHistory(versions, written + 1)
  await expectReadable(versions)
  tell(`${written} versions and ${removed} removals`)
  if (isProof) expect(removed).toBeGreaterThan(10)
  expect((await countDeadlocks()) - deadlocks).toBe(0)
})
