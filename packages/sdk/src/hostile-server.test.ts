import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGzip } from 'node:zlib'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ConnectionError } from './errors.ts'
import { pollPermission } from './generated/permissions.ts'
import { listWorkspaces } from './generated/workspaces.ts'
import { Guildhall } from './guildhall.ts'
import { StreamError } from './helper-errors.ts'
import { begin, finish, refresh } from './oauth.ts'
import { finishPairing } from './pairing.ts'
import { answers, fakeFetch } from './testing.ts'

/** A server that means harm, or is broken beyond that: whoever talks to it ends, soon, with an error, and alive. */

// Some read 64 MB first, on however busy a machine.
vi.setConfig({ testTimeout: 30_000 })

type Answer = (request: IncomingMessage, response: ServerResponse, address: string) => void
const opened: ReturnType<typeof createServer>[] = []

async function serve(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    response.on('error', () => {})
    answer(request, response, address)
  })
  opened.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return address
}

afterEach(() => {
  for (const server of opened.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

const json = { 'content-type': 'application/json' }
const apiKey = 'guild_live_secret'
const client = (baseUrl: string) => new Guildhall({ baseUrl, apiKey, maxRetries: 0 })

/** Writes as fast as it is read, without an end; gives how much went. */
function pour(response: NodeJS.WritableStream, piece: Buffer): () => number {
  let poured = 0
  const more = () => {
    while (response.writable) {
      poured += piece.length
      if (!response.write(piece)) return
    }
  }
  response.on('drain', more)
  more()
  return () => poured
}

const heapGrowth = async (work: () => Promise<unknown>): Promise<number> => {
  let most = 0
  const before = process.memoryUsage().rss
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss - before)
  }, 20)
  await work()
  clearInterval(timer)
  return most
}

describe('an answer', () => {
  test('without an end is left', async () => {
    let poured = () => 0
    const address = await serve((_, response) => {
      response.writeHead(200, json)
      poured = pour(response, Buffer.alloc(1 << 20, ' '))
    })
    await expect(client(address).workspaces.list()).rejects.toMatchObject({ name: 'ConnectionError' })
    expect(poured()).toBeLessThan(200e6)
  })

  test('that unpacks to more than memory holds is left', async () => {
    const address = await serve((_, response) => {
      response.writeHead(200, { ...json, 'content-encoding': 'gzip' })
      const gzip = createGzip({ level: 1 })
      gzip.pipe(response)
      gzip.on('error', () => {})
      pour(gzip, Buffer.alloc(1 << 20, ' '))
    })
    const grown = await heapGrowth(() =>
      expect(client(address).workspaces.list()).rejects.toMatchObject({ name: 'ConnectionError' }),
    )
    expect(grown).toBeLessThan(1e9)
  })

  test('without an end that refuses something is left too', async () => {
    const address = await serve((_, response) => {
      response.writeHead(403, json)
      pour(response, Buffer.alloc(1 << 20, ' '))
    })
    await expect(client(address).workspaces.list()).rejects.toMatchObject({ name: 'ConnectionError' })
  })

  test.each([
    ['more than it has', '100', '[]'],
    ['less than it has', '1', '[]'],
  ])('that promises %s is none', async (_, length, body) => {
    const address = await serve((request, response) => {
      request.socket.end(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`,
      )
      response.destroy()
    })
    await expect(client(address).workspaces.list()).rejects.toThrow()
  })

  test.each([301, 302, 303, 307, 308])('of %i leads a credential nowhere', async (status) => {
    const heard: unknown[] = []
    const elsewhere = await serve(({ headers }, response) => {
      heard.push(headers)
      response.writeHead(200, json).end('[]')
    })
    const address = await serve((_, response) => {
      response.writeHead(status, { location: `${elsewhere}/api/v1/workspaces` }).end()
    })
    await expect(client(address).workspaces.list()).rejects.toMatchObject({ status })
    expect(heard).toEqual([])
  })

  test('that names a file elsewhere is asked for it without the credential', async () => {
    const heard: IncomingMessage['headers'][] = []
    const elsewhere = await serve(({ headers }, response) => {
      heard.push(headers)
      response.end('file')
    })
    const address = await serve((_, response, own) => {
      const url = `${elsewhere}/x?from=${own}`
      const outputBlocks = [{ type: 'file', name: 'a', mimeType: 'text/plain', sizeBytes: 4, url }]
      response.writeHead(200, json).end(JSON.stringify({ outputBlocks }))
    })
    const [file] = await client(address).executions.handle('exec_1').files()
    await file?.download()
    expect(heard).toHaveLength(1)
    expect(JSON.stringify(heard)).not.toContain(apiKey)
  })
})

/** A service whose stream says this. */
const streaming = (says: (response: ServerResponse, openings: number) => void) => {
  let openings = 0
  return serve((request, response, address) => {
    if (request.url?.includes('stream-token')) {
      const body = { sseUrl: `${address}/stream?t=1` }
      response.writeHead(200, json).end(JSON.stringify(body))
    } else if (request.url?.startsWith('/stream')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      says(response, ++openings)
    } else response.writeHead(200, json).end(JSON.stringify({ status: 'working' }))
  })
}

async function readAll(address: string, signal?: AbortSignal): Promise<unknown[]> {
  const seen: unknown[] = []
  for await (const event of client(address).executions.events('exec_1', { signal })) seen.push(event)
  return seen
}

describe('a stream', () => {
  test.each([
    ['that never ends a line', 'data: ', Buffer.alloc(1 << 20, 'x')],
    ['that never ends an event', '', Buffer.from(`data: ${'x'.repeat(4096)}\n`.repeat(256))],
    ['of beats and nothing else', '', Buffer.from(`: ${'beat'.repeat(1024)}\n\n`.repeat(256))],
  ])('%s is left', async (_, first, piece) => {
    const address = await streaming((response) => {
      response.write(first)
      pour(response, piece)
    })
    const error = await readAll(address).catch((thrown: unknown) => thrown)
    expect(StreamError.is(error)).toBe(true)
  })

  test.each([
    '',
    'null',
    '{',
    '5',
    '"x"',
    '[]',
    '{"sequence":{}}',
    '{"type":5,"sequence":"x"}',
    '{"sequence":9e99}',
  ])('that says %j ends with an error of ours, or goes on', async (data) => {
    const address = await streaming((response, openings) => {
      const end = '{"type":"session.status_idle","sequence":1,"payload":{}}'
      response.end(`data: ${openings === 1 ? data : end}\n\n`)
    })
    const stop = AbortSignal.timeout(20_000)
    const error = await readAll(address, stop).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error === undefined || StreamError.is(error), String(error)).toBe(true)
  })

  test.each([
    ['retry: 99999999999', 200, {}],
    ['', 503, { 'retry-after': '99999999' }],
  ])(
    'that asks to be waited for a century (%s, %i) is not asked without a break',
    async (said, status, headers) => {
      let openings = 0
      const address = await serve((request, response, own) => {
        if (request.url?.includes('stream-token'))
          return response.writeHead(200, json).end(JSON.stringify({ sseUrl: `${own}/stream?t=1` }))
        if (!request.url?.startsWith('/stream'))
          return response.writeHead(200, json).end(JSON.stringify({ status: 'working' }))
        openings++
        return response
          .writeHead(status, { 'content-type': 'text/event-stream', ...headers })
          .end(`${said}\n\n`)
      })
      await readAll(address, AbortSignal.timeout(700)).catch(() => {})
      expect(openings).toBe(1)
    },
  )
})

test('a socket that says what is no JSON does not end the program', async () => {
  let sockets = 0
  class Socket extends EventTarget {
    constructor() {
      super()
      sockets++
      const data = sockets === 1 ? '{' : '{"type":"execution-started"}'
      setTimeout(() => {
        this.dispatchEvent(new Event('open'))
        this.dispatchEvent(Object.assign(new Event('message'), { data }))
      })
    }
    close() {}
  }
  const address = await serve((_, response) => {
    response.writeHead(200, json).end(JSON.stringify({ url: 'ws://127.0.0.1:9' }))
  })
  const guild = client(address)
  const seen: string[] = []
  for await (const { type } of guild.events.subscribe({ WebSocket: Socket as never })) {
    seen.push(type)
    if (type === 'execution-started') break
  }
  expect(seen).toEqual(['connected', 'connected', 'execution-started'])
})

test('who reads live events too slowly is told to look again, and holds no more than it can', async () => {
  let say = (_: number) => {}
  class Socket extends EventTarget {
    constructor() {
      super()
      say = (times) => {
        for (let sent = 0; sent < times; sent++)
          this.dispatchEvent(Object.assign(new Event('message'), { data: '{"type":"execution-started"}' }))
      }
      setTimeout(() => this.dispatchEvent(new Event('open')))
    }
    close() {}
  }
  const address = await serve((_, response) => {
    response.writeHead(200, json).end(JSON.stringify({ url: 'ws://127.0.0.1:9' }))
  })
  const types: string[] = []
  for await (const { type } of client(address).events.subscribe({ WebSocket: Socket as never })) {
    types.push(type)
    if (types.length === 1) say(50_000)
    if (types.filter((one) => one === 'connected').length === 2) break
  }
  expect(types.length).toBeLessThan(12_000)
})

test('a server that holds no poll open is not asked without a break', async () => {
  let polls = 0
  const fetch = fakeFetch(
    answers(pollPermission, () => {
      polls++
      return { status: 'pending' } as never
    }),
  )
  const guild = new Guildhall({ baseUrl: 'https://guild.test', apiKey, fetch })
  await expect(guild.permissions.wait('req_1', { waitMs: 1500 })).rejects.toMatchObject({
    name: 'PermissionTimeoutError',
  })
  expect(polls).toBeLessThanOrEqual(3)
})

test('a pairing with an odd interval polls neither at once nor never', async () => {
  const pollsFor = async (intervalMs: number): Promise<number> => {
    let polls = 0
    const address = await serve((_, response) => {
      polls++
      response.writeHead(200, json).end(JSON.stringify({ status: 'pending' }))
    })
    const state = {
      ...{
        baseUrl: address,
        deviceCode: 'd',
        userCode: 'u',
        verificationUrl: '',
        verificationUrlComplete: '',
      },
      ...{ expiresAt: new Date(Date.now() + 60_000), intervalMs },
    }
    await finishPairing(state, { signal: AbortSignal.timeout(1600) }).catch(() => {})
    return polls
  }
  const [century = 0, ...soon] = await Promise.all([1e12, 0, -5, Number.NaN].map(pollsFor))
  expect(century).toBe(1)
  expect(Math.min(...soon)).toBeGreaterThanOrEqual(1)
  expect(Math.max(...soon)).toBeLessThanOrEqual(2)
})

describe('an authorization server', () => {
  const app = (baseUrl: string) => ({ baseUrl, clientId: 'c', clientSecret: 'client-secret-of-ours' })
  const metadata = (own: string, other: object = {}) => ({
    ...{ issuer: own, authorization_endpoint: `${own}/authorize`, token_endpoint: `${own}/token` },
    ...other,
  })

  test.each([301, 302, 307, 308])(
    'whose token endpoint answers %i gets no secret sent on',
    async (status) => {
      const heard: string[] = []
      const elsewhere = await serve((request, response) => {
        heard.push(request.headers.authorization ?? '')
        response.writeHead(200, json).end(JSON.stringify({ access_token: 'a' }))
      })
      const address = await serve((request, response, own) => {
        if (request.url?.startsWith('/.well-known'))
          return response.writeHead(200, json).end(JSON.stringify(metadata(own)))
        return response.writeHead(status, { location: `${elsewhere}/token` }).end()
      })
      await expect(refresh(app(address), 'r')).rejects.toMatchObject({ status })
      expect(heard).toEqual([])
    },
  )

  test('that names a token endpoint elsewhere is not believed', async () => {
    const address = await serve((_, response, own) => {
      response
        .writeHead(200, json)
        .end(JSON.stringify(metadata(own, { token_endpoint: 'https://evil.test/token' })))
    })
    await expect(refresh(app(address), 'r')).rejects.toMatchObject({ name: 'ConfigurationError' })
  })

  test('that gives itself out for another gets nothing that the other has granted', async () => {
    let tokens = 0
    const honest = 'https://honest.test'
    const address = await serve((request, response) => {
      if (request.url?.startsWith('/token')) tokens++
      const said = metadata(honest, { token_endpoint: `http://${request.headers.host}/token` })
      response.writeHead(200, json).end(JSON.stringify(said))
    })
    const asked = { ...app(address), redirectUri: 'http://127.0.0.1:1/callback' }
    await expect(begin({ ...asked, scope: 'read' })).rejects.toMatchObject({ name: 'ConfigurationError' })
    const callbackUrl = `http://127.0.0.1:1/callback?code=granted&state=s&iss=${honest}`
    await expect(finish({ ...asked, callbackUrl, state: 's', verifier: 'v' })).rejects.toMatchObject({
      name: 'ConfigurationError',
    })
    expect(tokens).toBe(0)
  })

  test('whose tokens have no end is left', async () => {
    const address = await serve((request, response, own) => {
      if (request.url?.startsWith('/.well-known'))
        return void response.writeHead(200, json).end(JSON.stringify(metadata(own)))
      response.writeHead(200, json)
      pour(response, Buffer.alloc(1 << 20, ' '))
    })
    const error = await refresh(app(address), 'r').catch((thrown: unknown) => thrown)
    expect(ConnectionError.is(error)).toBe(true)
  })
})

test('nothing that such a server says in an error holds the credential', async () => {
  const address = await serve(({ headers }, response) => {
    response
      .writeHead(418, json)
      .end(JSON.stringify({ error: { code: 'X', message: JSON.stringify(headers) } }))
  })
  const error = await client(address)
    .call(listWorkspaces, {})
    .catch((thrown: Error) => thrown)
  expect(JSON.stringify(error) + String(error)).not.toContain(apiKey)
})
