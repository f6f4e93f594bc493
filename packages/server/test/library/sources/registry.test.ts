import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fetchRegistry } from '#library/sources/sources.ts'
import { makeZip } from '../../../../../test/support/archives.ts'
import { type Canary, openCanary } from '../../../../../test/support/git-servers.ts'
import { growthMiB } from '../../../../../test/support/held-memory.ts'
import { hostileBundles } from '../../../../../test/support/hostile-bundles.ts'
import { until } from '../../../../../test/support/processes.ts'
import { expectWithin } from '../../../../../test/support/proof.ts'
import { never, type Outside, openOutside, refusalOf, skillText } from './outside.ts'

const commit = 'c0ffee'.repeat(7).slice(0, 40)
const zip = makeZip([
  { name: 'greeter/SKILL.md', content: skillText },
  { name: 'greeter/scripts/hello.sh', content: '#!/bin/sh\necho hello\n', mode: 0o100755 },
])

let outside: Outside
let canary: Canary
let hostile: Buffer

const bundle = (response: ServerResponse, body = zip, headers: Record<string, string> = {}) =>
  response
    .writeHead(200, { 'content-type': 'application/zip', 'x-commit-hash': commit, ...headers })
    .end(body)
const move = (response: ServerResponse, location: string) => response.writeHead(302, { location }).end()

/** By the slug that is asked for. */
const behaviours: Record<string, (response: ServerResponse, request: IncomingMessage) => unknown> = {
  greeter: (response) => bundle(response),
  hostile: (response) => bundle(response, hostile),
  'no-hash': (response) => response.writeHead(200).end(zip),
  'odd-hash': (response) => bundle(response, zip, { 'x-commit-hash': '../../etc' }),
  'no-zip': (response) => bundle(response, Buffer.from('<h1>Hello</h1>')),
  'no-skill': (response) => bundle(response, makeZip([{ name: 'a.txt', content: 'a' }])),
  'git-inside': (response) =>
    bundle(
      response,
      makeZip([
        { name: 'SKILL.md', content: skillText },
        { name: 'a/.Git/config', content: 'x' },
      ]),
    ),
  absent: (response) => response.writeHead(404).end('nothing'),
  denied: (response) => response.writeHead(403).end('no'),
  broken: (response) => response.writeHead(502).end('no'),
  busy: (response) => response.writeHead(429).end('no'),
  'three-moves': (response) => move(response, '/moved/2'),
  'four-moves': (response) => move(response, '/moved/3'),
  'to-canary': (response) => move(response, `http://127.0.0.1:${canary.port}/x`),
  'to-canary-https': (response) => move(response, `https://127.0.0.1:${canary.port}/x`),
  'to-canary-bare': (response) => move(response, `//127.0.0.1:${canary.port}/x`),
  'to-name': (response) => move(response, 'https://inside.test/x'),
  'to-metadata': (response) => move(response, 'http://169.254.169.254/latest/meta-data/'),
  'to-file': (response) => move(response, 'file:///etc/passwd'),
  'to-data': (response) => move(response, 'data:application/zip,PK'),
  'to-password': (response) => move(response, `https://a:b@repo.test:${outside.server.port}/x`),
  'to-nowhere': (response) => response.writeHead(302).end(),
  'to-odd': (response) => move(response, 'https://[::1'),
  'to-itself': (response, request) => move(response, request.url ?? '/'),
  silent: () => {},
  drip: (response) => {
    response.writeHead(200, { 'x-commit-hash': commit })
    const timer = setInterval(() => response.write('P'), 50)
    response.on('close', () => clearInterval(timer))
  },
  'drip-head': (_response, request) => {
    const { socket } = request
    socket.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => socket.write('x: y\r\n'), 50)
    socket.on('close', () => clearInterval(timer))
  },
  'long-head': (response) => bundle(response, zip, { x: 'y'.repeat(100_000) }),
  endless: (response) => {
    response.writeHead(200, { 'x-commit-hash': commit })
    const piece = Buffer.alloc(65_536, 'PK')
    const pump = () => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', pump)
    pump()
  },
  short: (response, request) => {
    response.writeHead(200, { 'x-commit-hash': commit, 'content-length': String(zip.length + 1) }).write(zip)
    setImmediate(() => request.socket.destroy())
  },
}

beforeAll(async () => {
  canary = await openCanary('127.0.0.1')
  outside = await openOutside((request, response) => {
    const slug = /^\/api\/v1\/marketplace\/skills\/([\w-]+)\/bundle$/.exec(request.url ?? '')?.[1] ?? ''
    const hop = /^\/moved\/(\d)$/.exec(request.url ?? '')?.[1]
    if (hop)
      return (hop === '0' ? bundle(response) : move(response, `/moved/${Number(hop) - 1}`)) !== undefined
    behaviours[slug]?.(response, request)
    return true
  })
})

afterAll(async () => {
  expect(canary.hits()).toBe(0)
  await outside.close()
  await canary.close()
})

const fetch = (slug: string, timeoutMs = 10_000) =>
  fetchRegistry({ outbound: { ...outside.outbound, timeoutMs } }, { registry: outside.url, slug }, never)

describe('a registry that means well', () => {
  test.each(['greeter', 'three-moves'])('%s', async (slug) => {
    const fetched = await fetch(slug)
    expect(fetched).toMatchObject({ commitHash: commit, repository: `${outside.url}/` })
    expect(fetched.files.map(({ path, executable }) => [path, executable])).toEqual([
      ['SKILL.md', false],
      ['scripts/hello.sh', true],
    ])
  })

  test('may stand below a path', async () => {
    const source = { registry: `${outside.url}/below/`, slug: 'greeter' }
    await refusalOf(fetchRegistry({ outbound: { ...outside.outbound, timeoutMs: 300 } }, source, never))
    expect(outside.server.requests.at(-1)).toBe('GET /below/api/v1/marketplace/skills/greeter/bundle')
  })

  test('is reached at the address that was checked, whatever its name stands for a moment later', async () => {
    const other = await openCanary('127.0.0.2', outside.server.port)
    let asked = 0
    const resolve = async () => [asked++ === 0 ? '127.0.0.1' : '127.0.0.2']
    const outbound = { ...outside.outbound, resolve }
    const fetched = await fetchRegistry({ outbound }, { registry: outside.url, slug: 'greeter' }, never)
    expect(fetched.files).toHaveLength(2)
    expect(asked).toBe(1)
    expect(other.hits()).toBe(0)
    await other.close()
  })

  test('shows a certificate of the authority', async () => {
    const outbound = { ...outside.outbound, allowCaFile: undefined }
    const fetched = fetchRegistry({ outbound }, { registry: outside.url, slug: 'greeter' }, never)
    expect((await refusalOf(fetched)).code).toBe('SERVICE_UNAVAILABLE')
  })
})

test.each([
  ['no-hash', 'INVALID_INPUT'],
  ['odd-hash', 'INVALID_INPUT'],
  ['no-zip', 'INVALID_INPUT'],
  ['no-skill', 'INVALID_INPUT'],
  ['git-inside', 'INVALID_INPUT'],
  ['denied', 'INVALID_INPUT'],
  ['absent', 'NOT_FOUND'],
  ['broken', 'SERVICE_UNAVAILABLE'],
  ['busy', 'SERVICE_UNAVAILABLE'],
  ['short', 'SERVICE_UNAVAILABLE'],
  ['long-head', 'SERVICE_UNAVAILABLE'],
])('an answer that is none: %s is %s', async (slug, code) => {
  expect((await refusalOf(fetch(slug))).code).toBe(code)
})

test.each(Object.keys(behaviours).filter((slug) => slug.startsWith('to-') || slug === 'four-moves'))(
  'a redirect that is not followed: %s',
  async (slug) => {
    const before = outside.server.requests.length
    const refused = await refusalOf(fetch(slug))
    expect(refused.code).toBe('INVALID_INPUT')
    expect(refused.message).toMatch(/^This source is refused/)
    expect(outside.server.requests.length - before).toBeLessThanOrEqual(4)
  },
)

test('a server that says nothing gives its place up long before a fetch has to end', async () => {
  const outbound = { ...outside.outbound, timeoutMs: 600_000, answerWithinMs: 300 }
  const ask = (slug: string) =>
    fetchRegistry({ outbound, userId: 'somebody' }, { registry: outside.url, slug }, never)
  const silent = ['silent', 'drip-head'].map((slug) => refusalOf(ask(slug)))
  expect((await ask('greeter')).files).toHaveLength(2)
  expect((await Promise.all(silent)).map(({ code }) => code)).toEqual(Array(2).fill('SERVICE_UNAVAILABLE'))
})

test.each(['silent', 'drip', 'drip-head'])('%s: cut in time', async (slug) => {
  const startedAt = Date.now()
  expect((await refusalOf(fetch(slug, 1000))).code).toBe('SERVICE_UNAVAILABLE')
  expectWithin(Date.now() - startedAt, 3000)
  await until(() => outside.server.open.size === 0, 2000)
})

test('a body that never ends: cut by bytes, in bounded memory', async () => {
  const grown = await growthMiB(async () => {
    const refused = await refusalOf(fetch('endless'))
    expect(refused).toMatchObject({ code: 'INVALID_INPUT', details: { limit: 10_000_000 } })
  })
  expect(grown).toBeLessThan(64)
  await until(() => outside.server.open.size === 0, 2000)
})

test('bundles that mean harm are refused here too', async () => {
  for (const [name, bytes] of await hostileBundles()) {
    hostile = bytes
    expect((await refusalOf(fetch('hostile'))).code, name).toBe('INVALID_INPUT')
  }
})

test('a slug is a slug', async () => {
  const before = outside.server.requests.length
  for (const slug of ['', '../x', 'a/b', 'a?b', 'A', 'a b', '-a', 'a'.repeat(65), 'a\n']) {
    expect((await refusalOf(fetch(slug))).message, slug).toMatch(/^slug: /)
  }
  expect(outside.server.requests.length).toBe(before)
})
