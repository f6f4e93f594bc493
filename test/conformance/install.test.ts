import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeTarGz, makeZip } from '../support/archives.ts'
import { makeRepository, openCanary } from '../support/git-servers.ts'
import { must, newPerson } from './support/actors.ts'
import { type ErrorBody, expectRefusal } from './support/shapes.ts'
import { listSkills, type Skill, skillText } from './support/skills.ts'
import { stack, stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

interface Installed {
  kind: string
  slug: string
  source: unknown
  filesCount: number
  contentChecksum: string
  skill: Skill
}

const checksum = expect.stringMatching(/^[0-9a-f]{64}$/)

describe('a skill is fetched and installed', () => {
  stackOnly('from a git repository', async () => {
    verifies('install:source:git-r2', 'skills:record:catalog-only-fields')
    const { url, folder } = stack().remote
    const name = randomUUID()
    const prompt = skillText('From a repository.')
    const skill = { 'SKILL.md': prompt, scripts: { 'run.sh': '#!/bin/sh\necho run\n' } }
    const other = { 'SKILL.md': skillText('Another.') }
    const { commit } = makeRepository(folder, name, { skills: { tidy: skill, other } })
    const person = await newPerson()
    const source = { type: 'git', url: `${url}/${name}`, ref: 'main', path: 'skills/tidy' }
    const installed = must(await person.post<Installed>('/install', { source }), 201)
    expect(installed).toMatchObject({
      kind: 'skill',
      slug: 'tidy',
      source,
      filesCount: 2,
      contentChecksum: checksum,
      skill: { slug: 'tidy', prompt, fetchedFrom: { commitHash: commit }, versionNumber: 1 },
    })
    expect(await listSkills(person)).toMatchObject([
      { slug: 'tidy', prompt, contentChecksum: installed.contentChecksum },
    ])
    const again = { source: { ...source, ref: commit }, slug: 'tidier', name: 'Tidier', category: 'home' }
    const named = must(await person.post<Installed>('/install', again), 201)
    expect(named).toMatchObject({ slug: 'tidier', contentChecksum: installed.contentChecksum })
    expect(named.skill).toMatchObject({
      name: 'Tidier',
      category: 'home',
      fetchedFrom: { commitHash: commit },
    })
    for (const record of [installed.skill, ...(await listSkills(person))]) {
      expect(record).not.toHaveProperty('repository')
      expect(record).not.toHaveProperty('commitHash')
    }
    const { path, ...undecided } = source
    const refusal = expectRefusal(await person.post('/install', { source: undecided }), 400, 'INVALID_INPUT')
    expect(refusal.details?.['candidates']).toEqual(['skills/other', 'skills/tidy'])
    expect(await listSkills(person)).toHaveLength(2)
  })

  stackOnly('from the import folder of the workspace, and from no other', async () => {
    verifies('install:source:git-r2')
    const [person, other] = [await newPerson(), await newPerson()]
    const prompt = skillText('From an import.')
    const files = [
      { name: 'tidy/SKILL.md', content: prompt },
      { name: 'tidy/notes.md', content: 'Notes.\n' },
    ]
    const importFolder = join(stack().dir, 'blobs/imports', person.workspaceId)
    mkdirSync(join(importFolder, 'deep'), { recursive: true })
    const archive = makeZip(files)
    writeFileSync(join(importFolder, 'tidy.zip'), archive)
    writeFileSync(join(importFolder, 'deep/tidy.tar.gz'), await makeTarGz(files))
    const sha256 = createHash('sha256').update(archive).digest('hex')
    const post = (source: object) => person.post<Installed>('/install', { source: { type: 'r2', ...source } })
    const installed = must(await post({ key: 'tidy.zip', checksum: sha256 }), 201)
    expect(installed).toMatchObject({
      kind: 'skill',
      slug: 'tidy',
      source: { type: 'r2', key: 'tidy.zip', checksum: sha256 },
      filesCount: 2,
      contentChecksum: checksum,
      skill: { slug: 'tidy', prompt },
    })
    expect(installed.skill).not.toHaveProperty('repository')
    const { contentChecksum } = must(await post({ key: 'deep/tidy.tar.gz' }), 201)
    expect(contentChecksum).toBe(installed.contentChecksum)
    expect(await listSkills(person)).toMatchObject([{ slug: 'tidy', prompt, versionNumber: 2 }])

    expectRefusal(await post({ key: 'tidy.zip', checksum: '0'.repeat(64) }), 400, 'INVALID_INPUT')
    expectRefusal(await post({ key: 'absent.zip' }), 404, 'NOT_FOUND')
    const blob = `blobs/${contentChecksum.slice(0, 2)}/${contentChecksum}`
    for (const key of [
      'tidy.zip',
      `../${person.workspaceId}/tidy.zip`,
      `../../${blob}`,
      blob,
      '/etc/passwd',
    ]) {
      const answer = await other.post<ErrorBody>('/install', { source: { type: 'r2', key } })
      expect([400, 404], answer.text).toContain(answer.status)
      expect(['INVALID_INPUT', 'NOT_FOUND']).toContain(answer.body.error.code)
    }
    expect(await listSkills(other)).toEqual([])
  })
})

test('a source that is none is refused', async () => {
  verifies('install:source:bad-type')
  const person = await newPerson()
  for (const body of [
    {},
    { source: null },
    { source: 'https://git.example/skills' },
    { source: {} },
    { source: { type: 'ftp', url: 'ftp://files.example/skill.zip' } },
    { source: { type: 'git' } },
    { source: { type: 'r2', url: 'https://git.example/skills' } },
    { source: { url: 'https://git.example/skills' } },
  ]) {
    expectRefusal(await person.post('/install', body), 400, 'INVALID_INPUT')
  }
  expect(await listSkills(person)).toEqual([])
})

test('an address that is not public is refused without a word more, and nobody is asked', async () => {
  verifies('install:source:server-side-safe')
  const [here, there] = [await openCanary('127.0.0.1'), await openCanary('127.0.0.2')]
  try {
    const person = await newPerson()
    const [port, otherPort] = [here.port, there.port]
    const refusals = []
    for (const url of [
      `http://127.0.0.1:${port}/skills`,
      `https://127.0.0.1:${port}/skills`,
      `https://127.0.0.2:${otherPort}/skills`,
      `https://localhost:${port}/skills`,
      `https://2130706433:${port}/skills`,
      `https://0x7f000001:${port}/skills`,
      `https://[::1]:${port}/skills`,
      `https://[::ffff:127.0.0.1]:${port}/skills`,
      `https://0.0.0.0:${port}/skills`,
      'https://10.0.0.1/skills',
      'https://192.168.1.1/skills',
      'https://169.254.169.254/latest/meta-data',
      'file:///etc/passwd',
      `ssh://git@127.0.0.1:${port}/skills`,
      `git://127.0.0.1:${port}/skills`,
      `ext::sh -c nc% 127.0.0.1% ${port}`,
      `git@127.0.0.1:skills`,
      '/etc',
    ]) {
      const answer = await person.post('/install', { source: { type: 'git', url } })
      refusals.push(expectRefusal(answer, 400, 'INVALID_INPUT'))
    }
    for (const refusal of refusals) expect(refusal).toEqual(refusals[0])
    expect(refusals[0]?.message).not.toMatch(/127|private|loopback|address \d/i)
    expect([here.hits(), there.hits()]).toEqual([0, 0])
    expect(await listSkills(person)).toEqual([])
  } finally {
    await here.close()
    await there.close()
  }
})
