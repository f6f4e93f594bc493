import { describe, expect, test } from 'vitest'
import { must, newPerson } from './support/actors.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import { installText, listSkills, listVersions, type Skill, someCatalogSlug } from './support/skills.ts'
import { verifies } from './verifies.ts'

const text = expect.stringMatching(/./)

interface Restored {
  success: boolean
  restoredFrom: number
  skill: { slug: string; contentChecksum: string }
}

/** Somebody with a skill of three versions, oldest first. */
async function withThree() {
  const person = await newPerson()
  const installed: Skill[] = []
  for (const way of ['first', 'second', 'third']) {
    installed.push(await installText(person, 'tidy', `Tidy up in the ${way} way.`))
  }
  const restore = (number: string | number) =>
    person.post<Restored>(`/skills/tidy/versions/${number}/restore`)
  return { person, installed, restore }
}

test('a version has all its fields', async () => {
  verifies('versions:record:fields')
  const { person, restore } = await withThree()
  must(await restore(1), 200)
  must(await person.post(`/skills/${await someCatalogSlug()}/install`), 200)
  const slugs = ['tidy', await someCatalogSlug()]
  const versions = (await Promise.all(slugs.map((slug) => listVersions(person, slug)))).flat()
  expect(versions).toHaveLength(5)
  for (const version of versions) {
    expect(version).toMatchObject({
      id: expect.any(Number),
      skillId: expect.any(Number),
      workspaceId: person.workspaceId,
      name: text,
      description: text,
      prompt: text,
      bundleType: text,
      storagePath: text,
      contentChecksum: text,
      createdBy: text,
      createdAt: expect.stringMatching(isoPattern),
      active: expect.any(Boolean),
    })
    expect(version.versionNumber).toBeGreaterThanOrEqual(1)
    expect(version.note === null || typeof version.note === 'string').toBe(true)
  }
  expect(versions.filter(({ note }) => note !== null)).toHaveLength(1)
})

test('one version is active, the one that the library shows', async () => {
  verifies('versions:active:exactly-one')
  const { person, restore } = await withThree()
  const expectOne = async (number: number) => {
    const active = (await listVersions(person, 'tidy')).filter((version) => version.active)
    expect(active).toMatchObject([{ versionNumber: number }])
    expect(await listSkills(person)).toMatchObject([{ slug: 'tidy', prompt: active[0]?.prompt }])
  }
  await expectOne(3)
  must(await restore(2), 200)
  await expectOne(4)
  await installText(person, 'tidy', 'Tidy up once more.')
  await expectOne(5)
})

describe('the versions', () => {
  test('are a bare array with falling numbers, from an increasing count', async () => {
    verifies('versions:list:bare-array-newest-first', 'versions:number:increasing')
    const { person, installed, restore } = await withThree()
    expect(installed.map(({ versionNumber }) => versionNumber)).toEqual([1, 2, 3])
    const numbers = async () => (await listVersions(person, 'tidy')).map(({ versionNumber }) => versionNumber)
    expect(await numbers()).toEqual([3, 2, 1])
    must(await restore(2), 200)
    expect(await numbers()).toEqual([4, 3, 2, 1])
  })

  test('of a skill that is not in the library are not found', async () => {
    verifies('versions:list:not-installed-404')
    const { person } = await withThree()
    const other = await newPerson()
    expectRefusal(await person.get('/skills/never-was/versions'), 404, 'NOT_FOUND')
    expectRefusal(await other.get('/skills/tidy/versions'), 404, 'NOT_FOUND')
    must(await person.post('/skills/tidy/uninstall'), 200)
    expectRefusal(await person.get('/skills/tidy/versions'), 404, 'NOT_FOUND')
  })
})

describe('a restore', () => {
  test('answers what it restored', async () => {
    verifies('versions:restore:answer')
    const { installed, restore } = await withThree()
    expect(must(await restore(1), 200)).toEqual({
      success: true,
      restoredFrom: 1,
      skill: { slug: 'tidy', contentChecksum: installed[0]?.contentChecksum },
    })
  })

  test('makes one more version with the old content, and keeps all others', async () => {
    verifies('versions:restore:creates-new-version', 'versions:restore:history-kept')
    const { person, installed, restore } = await withThree()
    const before = await listVersions(person, 'tidy')
    must(await restore(1), 200)
    const [newest, ...rest] = await listVersions(person, 'tidy')
    const { contentChecksum, prompt } = installed[0] ?? {}
    expect(newest).toMatchObject({ versionNumber: 4, active: true, contentChecksum, prompt })
    expect(rest).toEqual(before.map((version) => ({ ...version, active: false })))
  })

  test('takes positive integers', async () => {
    verifies('versions:restore:positive-integer')
    const { person, restore } = await withThree()
    for (const number of ['0', '-1', '1.5', 'abc']) {
      expectRefusal(await restore(number), 400, 'INVALID_INPUT')
    }
    expect(await listVersions(person, 'tidy')).toHaveLength(3)
  })

  test('of a version that never was makes none', async () => {
    verifies('versions:restore:unknown-version-404')
    const { person, restore } = await withThree()
    expectRefusal(await restore(9999), 404, 'NOT_FOUND')
    expect(await listVersions(person, 'tidy')).toHaveLength(3)
  })
})
