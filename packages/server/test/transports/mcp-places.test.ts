import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/**
 * A page in a browser can make a name of its own point at this machine, and then call as if it were at home: what it
 * cannot do is say another Origin or another Host than its own.
 */
interface Place {
  readonly house: House
  readonly key: string
}

let local: Place
const [publicUrl, appUrl, listed] = [
  'https://guildhall.test',
  'https://app.guildhall.test:8443',
  'https://listed.test',
]

beforeAll(async () => {
  const settings = { PUBLIC_URL: publicUrl, APP_URL: appUrl, CORS_ORIGINS: listed, HOST: '127.0.0.1' }
  local = await openPlace(settings)
})
afterAll(() => local.house.close())

async function openPlace(settings: Record<string, string>): Promise<Place> {
  const house = await openHouse({ DATABASE_URL: await createDatabase(), ...settings })
  return { house, key: (await house.newKey(await house.newPerson())).secret }
}

/** As written: the usual clients of a test would set the host themselves. */
function say(
  headers: Record<string, string | string[]>,
  { method = 'POST', path = '/mcp/', at = local } = {},
): Promise<{ status: number; text: string }> {
  const { port } = new URL(at.house.url)
  const all = { 'content-type': 'application/json', 'x-api-key': at.key, ...headers }
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, path, method, headers: all, setHost: false, agent: false },
      async (answer) => {
        let text = ''
        for await (const part of answer) text += part
        resolve({ status: answer.statusCode ?? 0, text })
      },
    )
    sent.on('error', reject)
    sent.end(method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"ping"}' : undefined)
  })
}

const here = () => ({ host: new URL(local.house.url).host })

function expectRefused({ status, text }: { status: number; text: string }): void {
  expect([status, JSON.parse(text)], text).toEqual([
    403,
    { jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) } },
  ])
}

describe('an origin', () => {
  test.each([undefined, publicUrl, appUrl, listed])('%s may call', async (origin) => {
    expect((await say({ ...here(), ...(origin && { origin }) })).status).toBe(200)
  })

  test.each([
    'null',
    '',
    'https://evil.example',
    'http://guildhall.test',
    'https://guildhall.test:444',
    'https://guildhall.test.evil.example',
    'https://evil.guildhall.test',
    'https://guildhall.test@evil.example',
    'https://app.guildhall.test',
    'https://listed.test/',
    'https://guildhall.test https://evil.example',
    'https://guildhall.test, https://evil.example',
    'file://',
    'http://localhost',
    'http://127.0.0.1',
    'http://[::1]:3000',
    'chrome-extension://abcdefghijklmnop',
  ])('"%s" may not', async (origin) => {
    for (const method of ['POST', 'GET']) expectRefused(await say({ ...here(), origin }, { method }))
    expectRefused(await say({ ...here(), origin }, { path: '/mcp' }))
  })

  test('that is said twice may not', async () => {
    expectRefused(await say({ ...here(), origin: [publicUrl, 'https://evil.example'] }))
    expectRefused(await say({ ...here(), origin: ['https://evil.example', publicUrl] }))
  })
})

describe('a host, where this machine alone is listened to', () => {
  test.each([
    'localhost',
    'localhost:1',
    '127.0.0.1',
    '127.0.0.1:65535',
    '[::1]',
    '[::1]:80',
    'guildhall.test',
  ])('"%s" is one of ours', async (host) => {
    expect((await say({ host })).status).toBe(200)
  })

  test.each([
    'evil.example',
    'evil.example:80',
    'localhost.evil.example',
    'localhost.',
    'evil.localhost',
    '127.0.0.1.evil.example',
    '127.0.0.2',
    '0.0.0.0',
    '2130706433',
    '0x7f.1',
    '[::ffff:127.0.0.1]',
    'guildhall.test:444',
    'guildhall.test.evil.example',
    'evil.example, localhost',
    'evil.example#localhost',
    'user@localhost',
  ])('"%s" is none', async (host) => {
    for (const method of ['POST', 'GET']) expectRefused(await say({ host }, { method }))
    // What another proxy says that it was called is not believed either.
    expectRefused(await say({ host, 'x-forwarded-host': 'localhost' }))
  })
})

test('behind a balancer, which is called by any name, the origin is still looked at', async () => {
  const at = await openPlace({ PUBLIC_URL: publicUrl, HOST: '0.0.0.0' })
  try {
    expect((await say({ host: 'inner-name:8080' }, { at })).status).toBe(200)
    expectRefused(await say({ host: 'evil.example', origin: 'http://evil.example' }, { at }))
  } finally {
    await at.house.close()
  }
})
