import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fetchGit, fetchRegistry } from '#library/sources/sources.ts'
import { checkDestination, type Outbound } from '#platform/outbound.ts'
import { type Canary, openCanary } from '../../../../../test/support/git-servers.ts'
import { growthMiB } from '../../../../../test/support/held-memory.ts'
import { never, refusalOf, resolveFrom } from './outside.ts'

/** Names that mean well and names that do not. Nothing here may be dialled, so that a test that fails dials loopback. */
const names = {
  'inside.test': ['10.1.2.3'],
  'loop.test': ['127.0.0.1'],
  'loop6.test': ['::1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'zero.test': ['0.0.0.0'],
  'metadata.test': ['169.254.169.254'],
  'nat64.test': ['64:ff9b::7f00:1'],
  '6to4.test': ['2002:7f00:1::1'],
  'unique.test': ['fd00::1'],
  'half.test': ['127.0.0.1', '93.184.215.14'],
  'other-half.test': ['2606:4700:4700::1111', '::1'],
  'nothing.test': [],
  localhost: ['127.0.0.1'],
  'localhost.': ['127.0.0.1'],
  metadata: ['169.254.169.254'],
}

const asked = new Set<string>()
const outbound: Outbound = {
  allow: [],
  allowCaFile: undefined,
  timeoutMs: 5000,
  answerWithinMs: 5000,
  resolve: (host, ...more) => {
    asked.add(host)
    return resolveFrom(names)(host, ...more)
  },
}

const canaries: Canary[] = []

/** On the port that addresses have without saying so, where the machine lets us, and on one of their own. */
beforeAll(async () => {
  for (const host of ['127.0.0.1', '::1']) {
    canaries.push(await openCanary(host))
    const usual = await openCanary(host, 443).catch(() => undefined)
    if (usual) canaries.push(usual)
  }
})

afterAll(() => Promise.all(canaries.map((canary) => canary.close())))

const hits = () => canaries.reduce((sum, canary) => sum + canary.hits(), 0)

function corpus(): string[] {
  const port = canaries[0]?.port
  const port6 = canaries.at(-1)?.port
  const hosts = [
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '017700000001',
    '0177.0.0.1',
    '0x7f.0.0.1',
    '0x7f000001',
    '127.0.0.1.',
    '%31%32%37.0.0.1',
    '0',
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '169.254.169.254',
    '0xa9fea9fe',
    '172.16.0.1',
    '172.31.255.254',
    '192.168.0.1',
    '192.0.0.192',
    '198.18.0.1',
    '203.0.113.1',
    '224.0.0.1',
    '255.255.255.255',
    '[::]',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    '[2001:db8::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '[fe80::1%25lo]',
    '[ff02::1]',
    ...Object.keys(names),
    'unknown.test',
    'xn--unknown-.test',
  ]
  return [
    ...hosts.map((host) => `https://${host}/x.git`),
    ...hosts.map((host) => `https://${host}:${port}/x.git`),
    `https://[::1]:${port6}/x.git`,
    `http://127.0.0.1:${port}/x.git`,
    `http://loop.test/x.git`,
    `http://example.com/x.git`,
    `https://example.com:22/x.git`,
    `https://example.com:8443/x.git`,
    `https://example.com:0/x.git`,
    `https://example.com:65536/x.git`,
    'file:///etc/passwd',
    '/etc/passwd',
    '../../etc',
    `ext::sh -c "curl http://127.0.0.1:${port}"`,
    `ssh://127.0.0.1:${port}/x.git`,
    `git@127.0.0.1:x.git`,
    `git://127.0.0.1:${port}/x.git`,
    `git+ssh://127.0.0.1/x.git`,
    `ftp://127.0.0.1:${port}/x.git`,
    `ftps://127.0.0.1:${port}/x.git`,
    `gopher://127.0.0.1:${port}/_x`,
    `dict://127.0.0.1:${port}/x`,
    `https::http://127.0.0.1:${port}/x.git`,
    'data:text/plain,hello',
    'javascript:alert(1)',
    'blob:https://example.com/x',
    `ws://127.0.0.1:${port}/`,
    '',
    ' ',
    'https://',
    'https:///x',
    `https://example.com@127.0.0.1:${port}/x.git`,
    `https://name:word@example.com/x.git`,
    `https://name@example.com/x.git`,
    `https://example.com#@127.0.0.1:${port}/x.git`,
    `https://example.com?@127.0.0.1:${port}/x.git`,
    `https://127.0.0.1:${port}\\@example.com/x.git`,
    `https:\\\\127.0.0.1:${port}\\x.git`,
    `https://127.0.0.1:${port}\r\nHost: example.com/x.git`,
    `https://127.0.0.1%0d%0a:${port}/x.git`,
    `https://example.com/x.git\r\nX: y`,
    'https://example.com/x\0.git',
    'https://example.com/x y.git',
    '\thttps://example.com/x.git',
    '--upload-pack=touch /tmp/x',
    '-u./x',
    `https://１２７.０.０.１/x.git`,
    `https://127。0。0。1/x.git`,
    `https://ⓛⓞⓞⓟ.test/x.git`,
    `https://ex\u202eample.com/x.git`,
    `https://ex\u200bample.com/x.git`,
    `https://gíthub.example/x.git`,
    `https://example.com/${'x'.repeat(3000)}`,
    `https://${'x.'.repeat(100_000)}com/`,
    `https://example.com/${'%41'.repeat(300_000)}`,
  ]
}

test('none of a corpus of hostile addresses is dialled, and all are refused in the same words', async () => {
  const addresses = corpus()
  expect(addresses.length).toBeGreaterThan(100)
  const answers = new Set<string>()
  const grown = await growthMiB(async () => {
    for (const address of addresses) {
      for (const fetched of [
        fetchGit({ outbound }, { url: address }, never),
        fetchRegistry({ outbound }, { registry: address, slug: 'greeter' }, never),
      ]) {
        const { code, message, details } = await refusalOf(fetched).catch((error) => {
          throw new Error(`${address.slice(0, 100)} was not refused`, { cause: error })
        })
        expect(code, address.slice(0, 100)).toBe('INVALID_INPUT')
        answers.add(JSON.stringify({ message, details }))
      }
    }
  })
  expect([...answers]).toHaveLength(1)
  expect(hits()).toBe(0)
  // What names this host is wrong in itself, and is refused before anybody is asked about it.
  expect(asked).not.toContain('example.com')
  expect(asked).toContain('loop.test')
  expect(grown).toBeLessThan(64)
})

test('the canaries do notice who comes', async () => {
  const canary = await openCanary('127.0.0.1')
  await new Promise((resolve) =>
    connect(canary.port, '127.0.0.1')
      .on('close', resolve)
      .on('error', () => {}),
  )
  expect(canary.hits()).toBe(1)
  await canary.close()
})

describe('names', () => {
  const check = (resolve: Outbound['resolve']) =>
    checkDestination({ ...outbound, resolve }, 'https://git.example/x.git', never)

  test('one that rebinds is judged anew each time, and only what was judged is dialled', async () => {
    const answers = [['93.184.215.14'], ['127.0.0.1'], ['93.184.215.14', '10.0.0.1']]
    const resolve = async () => answers.shift() ?? []
    expect((await check(resolve)).addresses).toEqual(['93.184.215.14'])
    for (let i = 0; i < 3; i++) await expect(check(resolve)).rejects.toMatchObject({ kind: 'refused' })
  })

  test('one person who fetches from slow places leaves places for others', async () => {
    let giveUp = () => {}
    const stuck = new Promise<string[]>((_resolve, reject) => {
      giveUp = () => reject(Object.assign(new Error('try again'), { code: 'EAI_AGAIN' }))
    })
    const slow = { ...outbound, timeoutMs: 60_000, resolve: () => stuck }
    const source = { url: 'https://git.example/x' }
    const fetchFor = (userId: string, from: Outbound) => fetchGit({ outbound: from, userId }, source, never)
    let ended = 0
    const greedy = Array.from({ length: 20 }, () =>
      refusalOf(fetchFor('greedy', slow)).finally(() => ended++),
    )
    const refusing = { ...outbound, resolve: async () => ['10.0.0.1'] }
    // Its own refusal, and not that there was no place; and it waited for none of them.
    expect((await refusalOf(fetchFor('other', refusing))).code).toBe('INVALID_INPUT')
    expect(ended).toBe(0)
    giveUp()
    for (const refused of await Promise.all(greedy)) expect(refused.code).toBe('SERVICE_UNAVAILABLE')
    // All have been given back.
    expect((await refusalOf(fetchFor('greedy', refusing))).code).toBe('INVALID_INPUT')
  })

  test('a resolver that fails or hangs is worth another try', async () => {
    const failing = async () => {
      throw Object.assign(new Error('try again'), { code: 'EAI_AGAIN' })
    }
    await expect(check(failing)).rejects.toMatchObject({ kind: 'unreachable' })
    const hanging = { ...outbound, timeoutMs: 200, resolve: () => new Promise<string[]>(() => {}) }
    const refused = await refusalOf(fetchGit({ outbound: hanging }, { url: 'https://git.example/x' }, never))
    expect(refused.code).toBe('SERVICE_UNAVAILABLE')
  })
})
