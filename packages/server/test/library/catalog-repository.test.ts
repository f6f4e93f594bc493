import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readRepositoryInput } from '#library/catalog/repository.ts'
import {
  type GitServer,
  makeRepository,
  openGitServer,
  type Tree,
} from '../../../../test/support/git-servers.ts'
import { createDatabase, type House, nowhere, openHouse } from '../support/house.ts'
import { redisUrl } from '../support/redis.ts'

const operatorToken = randomBytes(32).toString('base64url')
const root = mkdtempSync(join(tmpdir(), 'guildhall-repositories-'))
let git: GitServer
let databaseUrl: string
let house: House
let repositories = 0

beforeAll(async () => {
  git = await openGitServer({ root })
  databaseUrl = await createDatabase()
  house = await openHouse({
    DATABASE_URL: databaseUrl,
    FETCH_ALLOW: `127.0.0.1:${git.port}`,
    OPERATOR_TOKEN: operatorToken,
  })
})
afterAll(async () => {
  await house.close()
  await git.close()
  rmSync(root, { recursive: true })
})

const skill = (name: string) => `---\nname: ${name}\ndescription: About ${name}.\n---\nDo it.\n`

function sync(body: object, token = operatorToken) {
  const headers = { authorization: `Bearer ${token}` }
  return house.call('POST', '/api/v1/operator/catalog/sync', { body, headers })
}

async function slugsOf(repository: string): Promise<string[]> {
  const { body } = await house.call('GET', '/api/v1/marketplace/skills')
  return body.flatMap((item: { slug: string; repository: string }) =>
    item.repository === repository ? [item.slug] : [],
  )
}

describe('the operator syncs a repository', () => {
  let name: string
  let url: string
  let commit: string
  const put = (tree: Tree) => {
    rmSync(join(root, name), { recursive: true, force: true })
    commit = makeRepository(root, name, tree).commit
  }

  beforeEach(() => {
    name = `skills-${++repositories}.git`
    url = `http://127.0.0.1:${git.port}/${name}`
  })

  test('with every skill in it at one commit, and hears what did not go in', async () => {
    const [one, two] = [`one-${repositories}`, `two-${repositories}`]
    put({
      'README.md': 'About',
      skills: {
        [one]: { 'SKILL.md': skill(one), scripts: { 'run.sh': 'echo 1' } },
        [two]: { 'SKILL.md': skill(two) },
        broken: { 'SKILL.md': 'no front matter' },
      },
    })
    const first = await sync({ repository: url })
    expect(first.status, first.text).toBe(200)
    expect(first.body).toMatchObject({
      repository: url,
      commitHash: commit,
      skills: 2,
      written: 2,
      removed: 0,
      skipped: [{ path: 'skills/broken', reason: expect.stringContaining('front matter') }],
    })
    expect(await slugsOf(url)).toEqual([one, two])
    const { body: detail } = await house.call('GET', `/api/v1/marketplace/skills/${one}`)
    expect(detail).toMatchObject({ repository: url, commitHash: commit, filesCount: 2 })

    const { body: again } = await sync({ repository: url })
    expect(again).toMatchObject({ written: 0, removed: 0, revision: first.body.revision })

    put({ skills: { [two]: { 'SKILL.md': skill(two) } } })
    const { body: later } = await sync({ repository: url, ref: 'main' })
    expect(later).toMatchObject({ commitHash: commit, skills: 1, written: 1, removed: 1, skipped: [] })
    expect(await slugsOf(url)).toEqual([two])
  })

  test('of one folder, without touching what came from another', async () => {
    const [one, two] = [`one-${repositories}`, `two-${repositories}`]
    put({ a: { [one]: { 'SKILL.md': skill(one) } }, b: { [two]: { 'SKILL.md': skill(two) } } })
    expect((await sync({ repository: url, path: `a/${one}` })).body).toMatchObject({ skills: 1, written: 1 })
    expect((await sync({ repository: url, path: `b/${two}` })).body).toMatchObject({ skills: 1, removed: 0 })
    expect(await slugsOf(url)).toEqual([one, two])
  })

  test('and one that cannot be read leaves the catalog as it was', async () => {
    const one = `one-${repositories}`
    put({ [one]: { 'SKILL.md': skill(one) } })
    await sync({ repository: url })
    put({ 'README.md': 'All gone' })
    for (const body of [
      { repository: url },
      { repository: url, ref: 'no-such-branch' },
      { repository: url, path: 'no/such/folder' },
      { repository: `${url}-absent` },
      { repository: 'http://169.254.169.254/skills' },
      { repository: 'file:///etc' },
    ]) {
      const answer = await sync(body)
      expect(answer.status, answer.text).toBe(400)
    }
    expect(await slugsOf(url)).toEqual([one])
  })
})

test('only the operator’s token opens the route', async () => {
  const body = { repository: 'https://git.test/skills' }
  for (const token of ['', 'x', `${operatorToken}x`]) {
    const answer = await sync(body, token)
    expect(answer.status).toBe(401)
    expect(answer.text).not.toContain(operatorToken)
  }
  expect((await house.call('POST', '/api/v1/operator/catalog/sync', { body })).status).toBe(401)
  const closed = await openHouse({ DATABASE_URL: databaseUrl })
  try {
    const headers = { authorization: `Bearer ${operatorToken}` }
    const answer = await closed.call('POST', '/api/v1/operator/catalog/sync', { body, headers })
    expect(answer.status).toBe(404)
  } finally {
    await closed.close()
  }
})

test.each([
  ['https://git.test/a', { url: 'https://git.test/a' }],
  ['https://git.test/a#main', { url: 'https://git.test/a', ref: 'main' }],
  ['https://git.test/a#v1:skills/x', { url: 'https://git.test/a', ref: 'v1', path: 'skills/x' }],
  ['https://git.test/a#:skills', { url: 'https://git.test/a', path: 'skills' }],
])('%s names a repository', (text, input) => {
  expect(readRepositoryInput(text)).toEqual(input)
})

describe('the program', () => {
  const keyRing = `1:${randomBytes(32).toString('base64url')}`
  const runProgram = (args: string[], env: Record<string, string> = {}) =>
    new Promise<{ code: number; output: string }>((resolve) => {
      const { storage } = house.deps.config
      const settings = {
        PATH: process.env['PATH'] ?? '',
        PUBLIC_URL: 'http://house.test',
        DATABASE_URL: databaseUrl,
        REDIS_URL: redisUrl(),
        RESTATE_INGRESS_URL: `http://${nowhere}`,
        RESTATE_ADMIN_URL: `http://${nowhere}`,
        RESTATE_IDENTITY_KEY: 'publickeyv1_none',
        KEY_PEPPERS: keyRing,
        SIGNING_KEYS: keyRing,
        ENCRYPTION_KEYS: keyRing,
        RECEIPT_KEYS: keyRing,
        STORAGE: storage.kind === 'directory' ? `directory:${storage.path}` : 's3',
        FETCH_ALLOW: `127.0.0.1:${git.port}`,
        ...env,
      }
      const program = join(import.meta.dirname, '../../src/sync-catalog.ts')
      execFile(process.execPath, [program, ...args], { env: settings }, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr })
      })
    })

  test('syncs the shipped skills and what the settings list', async () => {
    const name = `listed-${++repositories}`
    makeRepository(root, `${name}.git`, { [name]: { 'SKILL.md': skill(name) } })
    const url = `http://127.0.0.1:${git.port}/${name}.git`
    const { code, output } = await runProgram([], { CATALOG_SOURCES: `${url}#main` })
    expect(code, output).toBe(0)
    expect(await slugsOf(url)).toEqual([name])
    expect(await slugsOf('guildhall/catalog')).toHaveLength(12)
  })

  test('syncs what it is told, and says by its exit code that one of them failed', async () => {
    const name = `named-${++repositories}`
    makeRepository(root, `${name}.git`, { [name]: { 'SKILL.md': skill(name) } })
    const url = `http://127.0.0.1:${git.port}/${name}.git`
    const { code, output } = await runProgram([`${url}-absent`, url])
    expect(code, output).toBe(1)
    expect(await slugsOf(url)).toEqual([name])
  })
})
