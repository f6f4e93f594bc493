import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { fetchGit } from '#library/sources/sources.ts'
import {
  makeRepository,
  openCanary,
  openGitServer,
  type Repository,
} from '../../../../../test/support/git-servers.ts'
import { never, type Outside, openOutside, refusalOf, resolveFrom, skillText } from './outside.ts'

let outside: Outside
let one: Repository
let many: Repository

beforeAll(async () => {
  outside = await openOutside()
  const script = { mode: '100755', hash: '#!/bin/sh\necho hello\n' }
  one = makeRepository(outside.root, 'one.git', { 'SKILL.md': skillText, scripts: { 'hello.sh': script } })
  const git = (...args: string[]) => execFileSync('git', args, { cwd: one.folder, stdio: 'pipe' })
  const who = ['-c', 'user.name=T', '-c', 'user.email=t@house.test']
  git(...who, 'tag', '-a', 'v1.0', '-m', 'first', one.commit)
  git('branch', 'feature/next', one.commit)
  many = makeRepository(outside.root, 'many.git', {
    'README.md': 'Two skills\n',
    skills: {
      first: { 'SKILL.md': skillText, 'a.txt': 'a' },
      second: { 'SKILL.md': skillText, 'b.txt': 'b', deep: { 'c.txt': 'c' } },
    },
    flows: { 'workflow.json': '{}' },
    link: { mode: '120000', hash: '/etc/passwd' },
  })
})

afterAll(() => outside.close())

const fetch = (path: string, more: Omit<Parameters<typeof fetchGit>[1], 'url'> = {}) =>
  fetchGit(outside, { url: `${outside.url}/${path}`, ...more }, never)

describe('a repository with one skill', () => {
  test.each([
    ['its default branch', undefined],
    ['a branch', 'main'],
    ['a branch with a slash', 'feature/next'],
    ['an annotated tag', 'v1.0'],
    ['a whole ref', 'refs/heads/main'],
  ])('%s', async (_name, ref) => {
    const fetched = await fetch('one.git', ref ? { ref } : {})
    expect(fetched).toMatchObject({ commitHash: one.commit, repository: `${outside.url}/one.git` })
    expect(fetched.files.map(({ path, executable }) => [path, executable])).toEqual([
      ['SKILL.md', false],
      ['scripts/hello.sh', true],
    ])
    expect(fetched.files[0]?.bytes.toString()).toBe(skillText)
    expect(fetched.files[1]?.bytes.toString()).toBe('#!/bin/sh\necho hello\n')
  })

  test('a commit that no branch has any more', async () => {
    const old = execFileSync('git', ['commit-tree', '-m', 'old', `${one.commit}^{tree}`], {
      cwd: one.folder,
      env: {
        ...process.env,
        GIT_AUTHOR_NAME: 'T',
        GIT_AUTHOR_EMAIL: 't',
        GIT_COMMITTER_NAME: 'T',
        GIT_COMMITTER_EMAIL: 't',
      },
    })
    const ref = old.toString().trim()
    expect((await fetch('one.git', { ref })).commitHash).toBe(ref)
  })
})

describe('a repository with several', () => {
  test('without a path the folders are named', async () => {
    const refused = await refusalOf(fetch('many.git'))
    expect(refused.code).toBe('INVALID_INPUT')
    expect(refused.details).toEqual({ candidates: ['skills/first', 'skills/second'] })
  })

  test('a path above them names them in full, a path beside them says what is missing', async () => {
    const above = await refusalOf(fetch('many.git', { path: 'skills/' }))
    expect(above.details).toEqual({ candidates: ['skills/first', 'skills/second'] })
    expect((await refusalOf(fetch('many.git', { path: 'flows' }))).details).toEqual({ missing: 'SKILL.md' })
    for (const path of ['nowhere', 'README.md', 'link']) {
      expect((await refusalOf(fetch('many.git', { path }))).code, path).toBe('INVALID_INPUT')
    }
  })

  test('a path takes that folder alone; a link elsewhere is nobody’s business', async () => {
    const fetched = await fetch('many.git', { path: 'skills/second' })
    expect(fetched.commitHash).toBe(many.commit)
    expect(fetched.files.map(({ path }) => path)).toEqual(['SKILL.md', 'b.txt', 'deep/c.txt'])
  })

  test('a workflow is found by its own file', async () => {
    const fetched = await fetch('many.git', { kind: 'workflow' })
    expect(fetched.files.map(({ path }) => path)).toEqual(['workflow.json'])
  })

  test('a skill around other skills is taken only by its name, which is a dot', async () => {
    const nested = { 'SKILL.md': skillText, examples: { small: { 'SKILL.md': skillText } } }
    makeRepository(outside.root, 'nested.git', nested)
    const refused = await refusalOf(fetch('nested.git'))
    expect(refused.details).toEqual({ candidates: ['.', 'examples/small'] })
    const whole = await fetch('nested.git', { path: '.' })
    expect(whole.files.map(({ path }) => path)).toEqual(['SKILL.md', 'examples/small/SKILL.md'])
  })

  test('no more than 50 are named', async () => {
    const folders = Array.from({ length: 120 }, (_, i) => [`s${i}`, { 'SKILL.md': skillText }])
    makeRepository(outside.root, 'crowd.git', Object.fromEntries(folders))
    const { details } = await refusalOf(fetch('crowd.git'))
    expect(details).toMatchObject({ truncated: true })
    expect(details?.['candidates']).toHaveLength(50)
  })
})

describe('the connection', () => {
  test('goes to the addresses that were checked, whatever the name stands for a moment later', async () => {
    const canary = await openCanary('127.0.0.2', outside.server.port)
    let asked = 0
    const resolve = async () => [asked++ === 0 ? '127.0.0.1' : '127.0.0.2']
    const rebinding = { outbound: { ...outside.outbound, resolve } }
    const fetched = await fetchGit(rebinding, { url: `${outside.url}/one.git` }, never)
    expect(fetched.commitHash).toBe(one.commit)
    expect(asked).toBe(1)
    expect(canary.hits()).toBe(0)
    await canary.close()
  })

  test('works over IPv6, by name, by address, and beside an IPv4 that does not answer', async () => {
    const server = await openGitServer({ root: outside.root, host: '::1' })
    for (const host of ['six.test', 'both.test', '[::1]']) {
      const outbound = {
        ...outside.outbound,
        allow: [`${host}:${server.port}`],
        resolve: resolveFrom({ 'six.test': ['::1'], 'both.test': ['127.0.0.3', '::1'] }),
      }
      const url = `http://${host}:${server.port}/one.git`
      expect((await fetchGit({ outbound }, { url }, never)).commitHash, host).toBe(one.commit)
    }
    await server.close()
  })

  test('asks no proxy and no settings of the environment', async () => {
    const canary = await openCanary('127.0.0.1')
    const proxy = `http://127.0.0.1:${canary.port}`
    const set = {
      http_proxy: proxy,
      https_proxy: proxy,
      ALL_PROXY: proxy,
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: `url.${proxy}/.insteadOf`,
      GIT_CONFIG_VALUE_0: outside.url,
    }
    Object.assign(process.env, set)
    try {
      expect((await fetch('one.git')).commitHash).toBe(one.commit)
    } finally {
      for (const name of Object.keys(set)) delete process.env[name]
    }
    expect(canary.hits()).toBe(0)
    await canary.close()
  })

  test('believes only certificates of the authority, and only for the name', async () => {
    const { port } = outside.server
    const { outbound } = outside
    const unsigned = { ...outbound, allowCaFile: undefined }
    const refused = await refusalOf(
      fetchGit({ outbound: unsigned }, { url: `${outside.url}/one.git` }, never),
    )
    expect(refused.code).toBe('SERVICE_UNAVAILABLE')
    expect(String(refused.cause)).toContain('certificate')
    const other = { ...outbound, allow: [`other.test:${port}`], resolve: async () => ['127.0.0.1'] }
    const renamed = fetchGit({ outbound: other }, { url: `https://other.test:${port}/one.git` }, never)
    expect((await refusalOf(renamed)).code).toBe('SERVICE_UNAVAILABLE')
  })
})

test('a git that would not keep to the checked addresses is not used, and no git at all is told as our fault', async () => {
  const folder = join(outside.root, 'programs')
  mkdirSync(folder)
  const path = process.env['PATH']
  const before = outside.server.requests.length
  try {
    process.env['PATH'] = folder
    symlinkSync('/bin/sh', join(folder, 'sh'))
    await expect(fetch('one.git')).rejects.toThrow('needs git 2.37 or newer; this is none')
    writeFileSync(join(folder, 'git'), '#!/bin/sh\necho git version 2.36.9\n', { mode: 0o755 })
    await expect(fetch('one.git')).rejects.toThrow('this is git version 2.36.9')
  } finally {
    process.env['PATH'] = path
  }
  expect(outside.server.requests.length).toBe(before)
})

test('nothing is left behind, whether it went well or not', async () => {
  // Its own, since other files fetch at the same time.
  const own = mkdtempSync(join(tmpdir(), 'guildhall-left-'))
  vi.stubEnv('TMPDIR', own)
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(own, { recursive: true })
  })
  await fetch('one.git')
  await refusalOf(fetch('many.git'))
  await refusalOf(fetch('absent.git'))
  expect(readdirSync(own)).toEqual([])
})
