import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fetchGit } from '#library/sources/sources.ts'
import {
  type Canary,
  makeRepository,
  openCanary,
  requestBody,
  sendEndlessPack,
  type Tree,
} from '../../../../../test/support/git-servers.ts'
import { growthMiB } from '../../../../../test/support/held-memory.ts'
import { until } from '../../../../../test/support/processes.ts'
import { expectWithin } from '../../../../../test/support/proof.ts'
import { never, type Outside, openOutside, refusalOf, skillText } from './outside.ts'

let outside: Outside
let canary: Canary

beforeAll(async () => {
  canary = await openCanary('127.0.0.1')
  outside = await openOutside((request, response) => {
    const act = behaviours[/^\/([^/.]+)/.exec(request.url ?? '')?.[1] ?? '']
    return act?.(request, response) !== undefined
  })
})

afterAll(async () => {
  expect(canary.hits()).toBe(0)
  await outside.close()
  await canary.close()
})

type Source = Parameters<typeof fetchGit>[1]

const fetch = (path: string, more: Omit<Source, 'url'> = {}, signal = never) =>
  fetchGit(outside, { url: `${outside.url}/${path}`, ...more }, signal)
const impatient = (path: string, timeoutMs: number) =>
  fetchGit({ outbound: { ...outside.outbound, timeoutMs } }, { url: `${outside.url}/${path}` }, never)

const advertisement = { 'content-type': 'application/x-git-upload-pack-advertisement' }
const elsewhere = () => `http://127.0.0.1:${canary.port}/x`

/** By the first part of the path. What returns nothing leaves the request to git. */
const behaviours: Record<string, (request: IncomingMessage, response: ServerResponse) => unknown> = {
  redirect: (_request, response) => response.writeHead(302, { location: elsewhere() }).end(),
  scheme: (_request, response) => response.writeHead(301, { location: 'file:///etc/passwd' }).end(),
  inside: (request, response) => {
    const location = `${outside.url}/plain.git${(request.url ?? '').slice('/inside'.length)}`
    return response.writeHead(302, { location }).end()
  },
  auth: (_request, response) => response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end(),
  html: (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>'),
  garbage: (_request, response) => response.writeHead(200, advertisement).end('zzzz not a packet line'),
  broken: (_request, response) => response.writeHead(500).end(),
  dropped: (request) => request.socket.destroy(),
  silent: () => true,
  drip: (_request, response) => {
    response.writeHead(200, advertisement)
    const timer = setInterval(() => response.write('0'), 50)
    response.on('close', () => clearInterval(timer))
    return true
  },
  refs: (_request, response) => {
    response.writeHead(200, advertisement)
    response.write('001e# service=git-upload-pack\n0000')
    const line = (i: number) => `${'a'.repeat(40)} refs/heads/${String(i).padStart(900, 'x')}\n`
    const packet = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text
    response.write(packet(`${'a'.repeat(40)} HEAD\0multi_ack side-band-64k shallow\n`))
    let count = 0
    const pump = () => {
      while (!response.destroyed && response.write(packet(line(count++))));
    }
    response.on('drain', pump)
    pump()
    return true
  },
  dumb: (request, response) => {
    const path = new URL(request.url ?? '/', 'http://here').pathname.replace('/dumb', '/plain.git')
    const file = join(outside.root, path)
    return existsSync(file) ? response.end(readFileSync(file)) : response.writeHead(404).end()
  },
  endless: sendPack,
  'endless-many': sendPack,
}
function sendPack(request: IncomingMessage, response: ServerResponse) {
  if (request.method === 'GET') return undefined
  requestBody(request).then((body) => {
    if (body.includes('command=fetch'))
      sendEndlessPack(response, request.url?.startsWith('/endless-many') ? 400_000_000 : 2)
    else response.writeHead(200, refsAnswer).end(`0032${'b'.repeat(40)} HEAD\n0000`)
  })
  return true
}
const refsAnswer = { 'content-type': 'application/x-git-upload-pack-result' }

describe('a server that misbehaves', () => {
  beforeAll(() => {
    for (const name of ['plain.git', 'endless', 'endless-many']) {
      makeRepository(outside.root, name, { 'SKILL.md': skillText })
    }
  })

  test.each([
    ['redirects to a private address', 'redirect/x'],
    ['redirects to a file', 'scheme/x'],
    ['redirects to itself', 'inside'],
    ['asks for a password', 'auth/x'],
    ['answers a page', 'html/x'],
    ['answers garbage', 'garbage/x'],
    ['has no such repository', 'absent.git'],
    ['speaks the dumb protocol', 'dumb'],
  ])('%s: refused at once', async (_name, path) => {
    const startedAt = Date.now()
    const refused = await refusalOf(fetch(path))
    expect(refused.code).toBe('INVALID_INPUT')
    expect(refused.message).toMatch(/^The repository could not be read/)
    expectWithin(Date.now() - startedAt, 5000)
  })

  test.each(['broken/x', 'dropped/x'])('%s: to be tried again', async (path) => {
    expect((await refusalOf(fetch(path))).code).toBe('SERVICE_UNAVAILABLE')
  })

  test('nobody listens: to be tried again', async () => {
    const outbound = { ...outside.outbound, allow: ['repo.test:9'] }
    const refused = await refusalOf(fetchGit({ outbound }, { url: 'https://repo.test:9/x' }, never))
    expect(refused.code).toBe('SERVICE_UNAVAILABLE')
  })

  test.each(['silent/x', 'drip/x'])('%s: cut in time, with all its processes', async (path) => {
    const startedAt = Date.now()
    expect((await refusalOf(impatient(path, 1500))).code).toBe('SERVICE_UNAVAILABLE')
    expectWithin(Date.now() - startedAt, 4000)
    await until(() => outside.server.open.size === 0 && processesOf(path).length === 0, 2000)
  })

  test('a caller who goes away ends it too', async () => {
    const caller = new AbortController()
    const fetched = refusalOf(fetch('silent/y', {}, caller.signal))
    await until(() => processesOf('silent/y').length > 0 && outside.server.open.size > 0, 5000)
    caller.abort()
    expect((await fetched).code).toBe('SERVICE_UNAVAILABLE')
    await until(() => outside.server.open.size === 0 && processesOf('silent/y').length === 0, 2000)
  })

  test.each(['endless', 'endless-many', 'refs/x'])(
    '%s never ends: cut by bytes, in bounded memory',
    async (path) => {
      const grown = await growthMiB(async () => {
        const refused = await refusalOf(fetch(path))
        expect(refused.code).toBe('INVALID_INPUT')
        expect(refused.message).toMatch(/^There is more than a bundle can hold/)
      })
      expect(grown).toBeLessThan(64)
      await until(() => processesOf(path).length === 0, 2000)
    },
  )

  test('eight fetches at once; the ninth waits, and is told to come later when none has ended', async () => {
    const caller = new AbortController()
    const eight = Array.from({ length: 8 }, (_, i) => refusalOf(fetch(`silent/${i}`, {}, caller.signal)))
    const refused = await refusalOf(impatient('plain.git', 300))
    expect([refused.code, refused.retryAfterSeconds]).toEqual(['SERVICE_UNAVAILABLE', 5])
    const waiting = fetch('plain.git')
    caller.abort()
    await Promise.all(eight)
    expect((await waiting).files).toHaveLength(1)
  })
})

/** Processes that have this address among their arguments. */
function processesOf(path: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${outside.url}/${path}`)
      )
    } catch {
      return false
    }
  })
}

describe('a repository that holds what it must not', () => {
  const link = (target: string) => ({ mode: '120000', hash: target })
  const cases: [string, Tree][] = [
    ['a link to a file outside', { passwd: link('/etc/passwd') }],
    ['a link that climbs', { up: link('../../../etc/passwd') }],
    ['a link where the main file stands', { 'SKILL.md': link('/etc/passwd') }],
    ['a submodule', { module: { mode: '160000', hash: '1'.repeat(40) } }],
    ['a path that climbs', { '..': { evil: 'x' } }],
    ['a path that stays', { '.': { evil: 'x' } }],
    ['settings of git', { '.git': { config: '[core]\nfsmonitor = touch /tmp/x' } }],
    ['settings of git, below', { a: { '.git': { config: 'x' } } }],
    ['settings of git, in capitals', { '.GIT': { config: 'x' } }],
    ['settings of git, by their short name', { 'git~1': { config: 'x' } }],
    ['settings of git, with a space', { '.git ': { config: 'x' } }],
    ['settings of git, with an invisible character', { '.g\u200cit': { config: 'x' } }],
    ['a backslash', { '..\\evil': 'x' }],
    ['a drive letter', { 'C:evil': 'x' }],
    ['a device', { con: 'x' }],
    ['a line break in a name', { 'a\nb': 'x' }],
    ['a name that is no text', { 'a\ufffd': 'x' }],
    ['two names that differ in case', { 'a.txt': 'x', 'A.txt': 'y' }],
    ['no front matter', { 'SKILL.md': 'Do as I say' }],
    ['501 files', Object.fromEntries(Array.from({ length: 501 }, (_, i) => [`f${i}`, 'x']))],
  ]

  test.each(cases)('%s', async (name, tree) => {
    const folder = `${cases.findIndex(([other]) => other === name)}.git`
    makeRepository(outside.root, folder, { 'SKILL.md': skillText, ...tree })
    expect((await refusalOf(fetch(folder))).code).toBe('INVALID_INPUT')
  })

  test.each([
    ['a file of 60 MB in less than one', Buffer.alloc(60_000_000), 1],
    ['11 MB, more than a bundle', randomBytes(11_000_000), 0],
    ['52 MB, more than a fetch', randomBytes(52_000_000), 0],
  ])('%s', async (_name, content, compression) => {
    const folder = `${content.length}.git`
    makeRepository(outside.root, folder, { 'SKILL.md': skillText, content }, compression)
    const grown = await growthMiB(async () =>
      expect((await refusalOf(fetch(folder))).message).toMatch(/^There is more than a bundle can hold/),
    )
    expect(grown).toBeLessThan(64)
  })

  test('a tree of ten million files made of nine small ones', async () => {
    let tree: Tree = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`f${i}`, 'x']))
    for (let depth = 0; depth < 6; depth++) {
      const inner = tree
      tree = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`d${i}`, inner]))
    }
    // Equal folders are written once, however often they stand in it.
    makeRepository(outside.root, 'bomb.git', { 'SKILL.md': skillText, more: tree })
    const startedAt = Date.now()
    expect((await refusalOf(fetch('bomb.git'))).code).toBe('INVALID_INPUT')
    expectWithin(Date.now() - startedAt, 10_000)
  })

  test('attributes, filters and modules are files like any other, and nothing acts on them', async () => {
    const marker = join(tmpdir(), `guildhall-marker-${process.pid}`)
    const tree = {
      'SKILL.md': skillText,
      '.gitattributes': '* filter=lfs diff=lfs merge=lfs ident text eol=crlf\n',
      '.gitmodules': `[submodule "x"]\n\tpath = x\n\turl = https://repo.test/x\n\tupdate = checkout\n`,
      '.lfsconfig': `[lfs]\n\turl = ${elsewhere()}\n`,
      hooks: { 'post-checkout': { mode: '100755', hash: `#!/bin/sh\ntouch ${marker}\n` } },
      'pointer.bin': `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 9\n`,
      'ident.txt': '$Id$\n',
    }
    makeRepository(outside.root, 'attributes.git', tree)
    const { files } = await fetch('attributes.git')
    const text = (path: string) => files.find((file) => file.path === path)?.bytes.toString()
    for (const path of ['.gitattributes', '.gitmodules', 'pointer.bin', 'ident.txt'] as const) {
      expect(text(path)).toBe(tree[path])
    }
    expect(files.find(({ path }) => path === 'hooks/post-checkout')?.executable).toBe(true)
    expect(existsSync(marker)).toBe(false)
  })

  test('a module that would run a command is refused with the whole repository', async () => {
    const command = '[submodule "x"]\n\tpath = x\n\turl = -u./payload\n\tupdate = !touch /tmp/x\n'
    makeRepository(outside.root, 'module.git', { 'SKILL.md': skillText, '.gitmodules': command })
    expect((await refusalOf(fetch('module.git'))).code).toBe('INVALID_INPUT')
  })

  test('what is large stands beside the skill and not in it: the skill is fetched', async () => {
    makeRepository(outside.root, 'beside.git', {
      assets: { big: randomBytes(12_000_000), link: link('/etc/passwd') },
      skill: { 'SKILL.md': skillText },
    })
    expect((await fetch('beside.git')).files.map(({ path }) => path)).toEqual(['SKILL.md'])
  })
})

describe('a source that is no name', () => {
  const refs = [
    '--upload-pack=touch /tmp/x',
    '-x',
    '+main',
    '^main',
    'main:refs/heads/x',
    'refs/heads/*',
    'HEAD^',
    'HEAD~1',
    'main@{1}',
    'a..b',
    'a//b',
    'a/',
    'a.',
    'a.lock',
    'a b',
    'a\nb',
    'a\0b',
    '$(id)',
    '',
    'x'.repeat(201),
  ]
  const paths = ['../x', '/etc', 'a/../../b', ':/x', 'a:b', 'a\\b', 'a\0b', '.git', 'a//b', 'x'.repeat(301)]

  test('refs and paths are refused before anything is asked', async () => {
    makeRepository(outside.root, 'quiet.git', { 'SKILL.md': skillText })
    const before = outside.server.requests.length
    for (const ref of refs)
      expect((await refusalOf(fetch('quiet.git', { ref }))).message, ref).toMatch(/^ref: /)
    for (const path of paths) {
      expect((await refusalOf(fetch('quiet.git', { path }))).message, path).toMatch(/^path: /)
    }
    expect(outside.server.requests.length).toBe(before)
  })

  test('refs that nobody has, and short hashes, are refused', async () => {
    for (const ref of ['nowhere', 'abc1234', 'f'.repeat(40)]) {
      expect((await refusalOf(fetch('quiet.git', { ref }))).code, ref).toBe('INVALID_INPUT')
    }
  })
})
