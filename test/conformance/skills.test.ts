import { randomUUID } from 'node:crypto'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeZip } from '../support/archives.ts'
import { must, newKey, newPerson } from './support/actors.ts'
import { registryCommit } from './support/remote.ts'
import { expectRefusal } from './support/shapes.ts'
import {
  install,
  installText,
  listSkills,
  newArtifact,
  type Skill,
  skillText,
  someCatalogSlug,
} from './support/skills.ts'
import { stack, stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

const text = expect.stringMatching(/./)

/** Something is where the store should be that is none. */
async function withoutStore<T>(work: () => Promise<T>): Promise<T> {
  const blobs = join(stack().dir, 'blobs')
  renameSync(blobs, `${blobs}.away`)
  writeFileSync(blobs, '')
  try {
    return await work()
  } finally {
    rmSync(blobs)
    renameSync(`${blobs}.away`, blobs)
  }
}

describe('a skill of the library', () => {
  test('has five texts, of which the prompt is its SKILL.md', async () => {
    verifies('skills:record:fields')
    const person = await newPerson()
    const content = skillText('Sort the shelves.')
    must(await install(person, 'tidy', { artifactId: await newArtifact(person, content) }), 200)
    must(await install(person, await someCatalogSlug()), 200)
    const skills = await listSkills(person)
    expect(skills).toHaveLength(2)
    for (const skill of skills) {
      expect(skill).toMatchObject({ slug: text, name: text, description: text, category: text, prompt: text })
    }
    expect(skills.find(({ slug }) => slug === 'tidy')?.prompt).toBe(content)
  })

  test('names repository and commit when it is from the catalog, and only then', async () => {
    verifies('skills:record:catalog-only-fields')
    const person = await newPerson()
    const slug = await someCatalogSlug()
    const fromCatalog = must(await install(person, slug), 200)
    const fromArtifact = await installText(person, 'tidy')
    const skills = await listSkills(person)
    for (const record of [fromCatalog, skills.find((skill) => skill.slug === slug)]) {
      expect(record).toMatchObject({ repository: text, commitHash: text })
    }
    for (const record of [fromArtifact, skills.find((skill) => skill.slug === 'tidy')]) {
      expect(record).not.toHaveProperty('repository')
      expect(record).not.toHaveProperty('commitHash')
    }
  })
})

interface Page {
  items: Skill[]
  total: number
  limit: number
  offset: number
  hasMore: boolean
}

describe('the list of skills', () => {
  const page = async (person: Awaited<ReturnType<typeof newPerson>>, query: string) =>
    must(await person.get<Page>(`/skills${query}`), 200)

  test('is a bare array without limit', async () => {
    verifies('skills:list:bare-without-limit')
    const person = await newPerson()
    expect(await listSkills(person)).toEqual([])
    await installText(person, 'tidy')
    expect(await listSkills(person)).toMatchObject([{ slug: 'tidy' }])
  })

  test('is an envelope with limit', async () => {
    verifies(
      'skills:list:envelope-with-limit',
      'skills:list:total-counts-all',
      'skills:list:offset-default-0',
      'skills:list:has-more',
    )
    const person = await newPerson()
    expect(await page(person, '?limit=1')).toEqual({
      items: [],
      total: 0,
      limit: 1,
      offset: 0,
      hasMore: false,
    })
    for (const slug of ['one', 'two']) await installText(person, slug)
    const all = await listSkills(person)
    expect(await page(person, '?limit=1')).toEqual({
      items: all.slice(0, 1),
      total: 2,
      limit: 1,
      offset: 0,
      hasMore: true,
    })
    expect(await page(person, '?limit=1&offset=1')).toEqual({
      items: all.slice(1),
      total: 2,
      limit: 1,
      offset: 1,
      hasMore: false,
    })
    await installText(person, 'three')
    expect((await page(person, '?limit=1')).total).toBe(3)
    expect((await page(person, '?limit=1&offset=1')).items).toEqual([(await listSkills(person))[1]])
    expect(await page(person, '?limit=5&offset=9')).toMatchObject({ items: [], total: 3, hasMore: false })
  })

  test('skips nothing when there is an offset and no limit', async () => {
    verifies('skills:list:offset-only-with-limit')
    const person = await newPerson()
    for (const slug of ['one', 'two']) await installText(person, slug)
    const { status, body } = await person.get('/skills?offset=1')
    expect(status).toBe(200)
    expect(body).toEqual(await listSkills(person))
    expect(body).toHaveLength(2)
  })

  test('shows the skills of one workspace', async () => {
    verifies('skills:list:workspace-scoped')
    const [person, other] = [await newPerson(), await newPerson()]
    await installText(person, 'mine')
    await installText(other, 'theirs')
    expect((await listSkills(person)).map(({ slug }) => slug)).toEqual(['mine'])
    expect((await listSkills(await newKey(other))).map(({ slug }) => slug)).toEqual(['theirs'])
    expectRefusal(await person.get('/skills/theirs'), 404, 'NOT_FOUND')
  })
})

describe('an install', () => {
  test('needs no body, and takes texts only', async () => {
    verifies('skills:install:body-optional')
    const slug = await someCatalogSlug()
    const person = await newPerson()
    expect((await person.send('POST', `/skills/${slug}/install`)).status).toBe(200)
    expect((await install(person, slug, {})).status).toBe(200)
    for (const field of ['artifactId', 'name', 'category', 'description', 'registry']) {
      expectRefusal(await install(person, slug, { [field]: 5 }), 400, 'INVALID_INPUT')
    }
    expect(await listSkills(person)).toMatchObject([{ slug, versionNumber: 2 }])
  })

  test('answers the skill itself', async () => {
    verifies('skills:install:flat-record')
    const person = await newPerson()
    const slug = await someCatalogSlug()
    const fields = {
      name: text,
      description: text,
      category: text,
      prompt: text,
      storagePath: text,
      bundleType: text,
      filesCount: expect.any(Number),
    }
    const installed = must(await install(person, slug), 200)
    expect(installed).toMatchObject({ slug, ...fields, repository: text, commitHash: text })
    expect(await installText(person, 'tidy')).toMatchObject({ slug: 'tidy', ...fields, filesCount: 1 })
  })

  test('may give other texts than the source has', async () => {
    verifies('skills:install:overrides')
    const person = await newPerson()
    const slug = await someCatalogSlug()
    const texts = { name: 'Another name', category: 'another', description: 'Another description' }
    const artifactId = await newArtifact(person)
    expect(must(await install(person, slug, texts), 200)).toMatchObject({ slug, ...texts })
    expect(must(await install(person, 'tidy', { artifactId, ...texts }), 200)).toMatchObject(texts)
    const skills = await listSkills(person)
    expect(skills).toHaveLength(2)
    for (const skill of skills) expect(skill).toMatchObject(texts)
  })

  test('is called as its path says, whatever the artifact is called', async () => {
    verifies('skills:install:slug-from-path')
    const person = await newPerson()
    expect(await installText(person, 'foo')).toMatchObject({ slug: 'foo', name: 'tidy' })
    expect((await listSkills(person)).map(({ slug }) => slug)).toEqual(['foo'])
  })

  test('of what the catalog does not have finds nothing', async () => {
    verifies('skills:install:unknown-catalog-slug-404')
    const person = await newPerson()
    expectRefusal(await install(person, `none-${randomUUID()}`), 404, 'NOT_FOUND')
    expect(await listSkills(person)).toEqual([])
  })

  test('of an artifact that never was, or of another workspace, finds nothing', async () => {
    verifies('skills:install:unknown-artifact-404')
    const [person, other] = [await newPerson(), await newPerson()]
    for (const artifactId of [`artifact_${randomUUID()}`, 'x', await newArtifact(other)]) {
      expectRefusal(await install(person, 'tidy', { artifactId }), 404, 'NOT_FOUND')
    }
    expect(await listSkills(person)).toEqual([])
  })

  stackOnly('from another registry takes what its bundle route gives', async () => {
    verifies('skills:install:registry')
    const { url, deadUrl, folder } = stack().remote
    const slug = `far-${randomUUID()}`
    const prompt = skillText('From far away.')
    const files = [
      { name: 'SKILL.md', content: prompt },
      { name: 'scripts/go.sh', content: '#!/bin/sh\necho gone\n' },
    ]
    writeFileSync(join(folder, `${slug}.zip`), makeZip(files))
    const person = await newPerson()
    const installed = must(await install(person, slug, { registry: url }), 200)
    expect(installed).toMatchObject({ slug, prompt, filesCount: 2, commitHash: registryCommit })
    expect(await listSkills(person)).toMatchObject([{ slug, prompt }])
    expectRefusal(await install(person, slug, { registry: deadUrl }), 500, 'INTERNAL_ERROR')
    expect(await listSkills(person)).toMatchObject([{ slug, prompt, versionNumber: 1 }])
  })

  stackOnly('that fails tells nothing of why, and leaves the library as it was', async () => {
    verifies('errors:internal:skill-install-failed')
    const { deadUrl } = stack().remote
    const person = await newPerson()
    await installText(person, 'tidy')
    const before = await listSkills(person)
    const answer = await install(person, 'tidy', { registry: deadUrl })
    expectRefusal(answer, 500, 'INTERNAL_ERROR')
    expect(answer.text).not.toMatch(/127\.0\.0\.1|:9\b|ECONN|\bat \S+:\d+|\.ts\b|node_modules/)
    expect(Object.keys(answer.body as object)).toEqual(['error'])
    expect(await listSkills(person)).toEqual(before)
    const artifactId = await newArtifact(person, skillText('Tidy up anew.'))
    const storeless = await withoutStore(() => install(person, 'tidy', { artifactId }))
    const { details } = expectRefusal(storeless, 500, 'INTERNAL_ERROR')
    expect(details).toEqual({ reason: 'STORAGE_UNAVAILABLE' })
    expect(storeless.text).not.toMatch(/ENOTDIR|EEXIST|blobs|\bat \S+:\d+|\.ts\b|node_modules/)
    expect(await listSkills(person)).toEqual(before)
    must(await install(person, 'tidy', { artifactId }), 200)
  })
})

describe('an uninstall', () => {
  test('takes the skill out of the library', async () => {
    verifies('skills:uninstall:success')
    const person = await newPerson()
    await installText(person, 'tidy')
    await installText(person, 'kept')
    const answer = await person.post('/skills/tidy/uninstall')
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ success: true })
    expect((await listSkills(person)).map(({ slug }) => slug)).toEqual(['kept'])
    expectRefusal(await person.get('/skills/tidy'), 404, 'NOT_FOUND')
  })

  test('of what is not in the library finds nothing', async () => {
    verifies('skills:uninstall:unknown-404')
    const [person, other] = [await newPerson(), await newPerson()]
    await installText(other, 'theirs')
    await installText(person, 'twice')
    must(await person.post('/skills/twice/uninstall'), 200)
    for (const slug of ['theirs', 'twice', await someCatalogSlug()]) {
      expectRefusal(await person.post(`/skills/${slug}/uninstall`), 404, 'NOT_FOUND')
    }
    expect(await listSkills(other)).toMatchObject([{ slug: 'theirs' }])
  })

  test('without its scope is refused alike for what is there and what is not', async () => {
    verifies('auth:scope:checked-before-lookup')
    const person = await newPerson()
    await installText(person, 'tidy')
    const key = await newKey(person, { scopes: ['agent:list'] })
    const refusals = []
    for (const slug of ['tidy', `none-${randomUUID()}`]) {
      refusals.push(expectRefusal(await key.post(`/skills/${slug}/uninstall`), 403, 'FORBIDDEN'))
    }
    expect(refusals[0]?.message).toContain('workspace:files:write')
    expect(refusals[1]).toEqual(refusals[0])
    expect(await listSkills(person)).toMatchObject([{ slug: 'tidy' }])
  })
})
