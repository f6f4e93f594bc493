import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { syncShippedCatalog } from '#library/catalog/catalog.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { openCanary } from '../../../../test/support/git-servers.ts'
import { tell } from '../../../../test/support/proof.ts'
import { deliveredFiles, newSkillArtifact, skillText } from '../../../../test/support/skills.ts'
import { storedAs } from '../support/blobs.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'

let databaseUrl: string
let house: House
let person: Person

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  person = await house.newPerson()
})

afterAll(() => house.close())

async function post(path: string, body?: unknown, at: House = house, who: Person = person) {
  return at.call('POST', `/api/v1/skills/${path}`, {
    token: who.token,
    ...(body === undefined ? {} : { body }),
  })
}

describe('another house as the registry', () => {
  let registry: House
  let library: House
  let reader: Person

  beforeAll(async () => {
    registry = await openHouse({ DATABASE_URL: await createDatabase() })
    await syncShippedCatalog(registry.deps)
    library = await openHouse({
      DATABASE_URL: await createDatabase(),
      FETCH_ALLOW: new URL(registry.url).host,
    })
    reader = await library.newPerson()
  })

  afterAll(async () => {
    await library.close()
    await registry.close()
  })

  test('every skill of its marketplace arrives unchanged, with its commit', async () => {
    const marketplace = '/api/v1/marketplace/skills'
    const { body: offered } = await registry.call('GET', marketplace)
    expect(offered.length).toBeGreaterThan(10)
    for (const { slug } of offered) {
      const { body: detail } = await registry.call('GET', `${marketplace}/${slug}`)
      const { status, body, text } = await post(
        `${slug}/install`,
        { registry: registry.url },
        library,
        reader,
      )
      expect(status, text).toBe(200)
      const { contentChecksum, commitHash, filesCount, prompt } = detail
      expect(body).toMatchObject({ slug, contentChecksum, commitHash, filesCount, prompt })
      expect(new URL(body.repository).host).toBe(new URL(registry.url).host)
    }
  })

  test('what it does not have is not found, and nothing is made of it', async () => {
    const answer = await post('never-was/install', { registry: registry.url }, library, reader)
    expect([answer.status, answer.body.error.code]).toEqual([404, 'NOT_FOUND'])
    expect((await library.call('GET', '/api/v1/skills/never-was', { token: reader.token })).status).toBe(404)
  })

  test('a house that may not fetch from it, or from anywhere near, asks nobody', async () => {
    const canary = await openCanary('127.0.0.1')
    const [{ slug }] = (await registry.call('GET', '/api/v1/marketplace/skills?limit=1')).body
    const refusals = []
    for (const url of [registry.url, `http://127.0.0.1:${canary.port}`, `https://localhost:${canary.port}`]) {
      const { status, body } = await post(`${slug}/install`, { registry: url })
      expect([status, body.error.code]).toEqual([400, 'INVALID_INPUT'])
      refusals.push(JSON.stringify(body))
    }
    expect(new Set(refusals).size).toBe(1)
    expect(canary.hits()).toBe(0)
    await canary.close()
  })

  test('names an artifact or a registry, not both', async () => {
    const both = { registry: registry.url, artifactId: 'artifact_x' }
    expect((await post('tidy/install', both, library, reader)).status).toBe(400)
  })
})

const remove = (artifactId: string) =>
  house.call('DELETE', `/api/v1/artifacts/${artifactId}`, { token: person.token })
const sweep = async () => house.sweeps.find(({ table }) => table === 'blobs')?.run()

async function hasBundle(checksum: string): Promise<boolean> {
  const row = await house.deps.database.db
    .selectFrom('bundles')
    .select('checksum')
    .where('checksum', '=', checksum)
    .executeTakeFirst()
  return row !== undefined
}

async function blobOf(artifactId: string, path: string): Promise<string> {
  const { body } = await house.call('GET', `/api/v1/artifacts/${artifactId}`, { token: person.token })
  return storedAs(house, body.files.find((file: { path: string }) => file.path === path).checksum)
}

describe('the sweep', () => {
  test('takes bundles and blobs that nothing refers to, after an hour, and leaves what versions need', async () => {
    const files = (name: string) => ({ 'SKILL.md': skillText('swept', name), 'same.md': 'In all of them.\n' })
    const [unwanted, live, older, removed] = await Promise.all(
      ['unwanted', 'live', 'older', 'removed'].map((name) => newSkillArtifact(house, person, files(name))),
    )
    if (!unwanted || !live || !older || !removed) throw new Error('four artifacts were made')
    await post('swept/install', { artifactId: older.id })
    await post('swept/install', { artifactId: live.id })
    await post('swept-too/install', { artifactId: removed.id })
    await post('swept-too/uninstall')
    const [gone, shared] = [await blobOf(unwanted.id, 'SKILL.md'), await blobOf(unwanted.id, 'same.md')]
    for (const { id } of [unwanted, live, older, removed]) await remove(id)

    await sweep()
    expect(await hasBundle(unwanted.contentChecksum)).toBe(true)
    await shiftClock(databaseUrl, 3601)
    try {
      await sweep()
      expect(await hasBundle(unwanted.contentChecksum)).toBe(false)
      expect(await house.deps.storage.has(gone)).toBe(false)
      expect(await house.deps.storage.has(shared)).toBe(true)
      for (const { contentChecksum } of [live, older, removed]) {
        expect(await hasBundle(contentChecksum)).toBe(true)
      }
      expect(await deliveredFiles(house.url, person, 'swept')).toEqual(files('live'))
      expect((await post('swept/versions/1/restore')).status).toBe(200)
      expect(await deliveredFiles(house.url, person, 'swept')).toEqual(files('older'))
    } finally {
      await shiftClock(databaseUrl, 0)
    }
  })

  test('at the same moment as an install of the same content leaves the skill whole, 40 rounds', async () => {
    let sweptFirst = 0
    try {
      for (let round = 0; round < 40; round++) {
        const files = { 'SKILL.md': skillText('wanted', `Round ${round}.`), 'notes.md': `Notes ${round}.\n` }
        await remove((await newSkillArtifact(house, person, files)).id)
        await shiftClock(databaseUrl, (round + 1) * 3601)
        const sweeping = sweep()
        // From well before the sweep has begun to after it has ended.
        if (round % 4 === 3) await sweeping
        else await sleep(round % 8)
        const { id } = await newSkillArtifact(house, person, files)
        const installed = await post('wanted/install', { artifactId: id })
        expect(installed.status, installed.text).toBe(200)
        if (await sweeping) sweptFirst++
        expect(await deliveredFiles(house.url, person, 'wanted')).toEqual(files)
        await sweep()
        expect(await deliveredFiles(house.url, person, 'wanted')).toEqual(files)
      }
    } finally {
      await shiftClock(databaseUrl, 0)
    }
    tell(`of 40 sweeps ${sweptFirst} took the content before it was wanted again`)
    expect(sweptFirst).toBeGreaterThanOrEqual(10)
  })
})
