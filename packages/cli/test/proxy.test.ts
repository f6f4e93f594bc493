import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openConnectProxy } from '../../../test/support/connect-proxy.ts'
import { installErrand, script } from '../../../test/support/executions.ts'
import { type Authority, makeAuthority } from '../../../test/support/git-servers.ts'
import { app, baseUrl, environmentOf, newUser, run, start, until } from './support/guild.ts'

/** A name that nobody knows but the proxy, and a certificate that nobody signed but an authority of the house. */
const house = 'https://guild.test'
let authority: Authority
let front: Server
let proxy: Awaited<ReturnType<typeof openConnectProxy>>
let user: Awaited<ReturnType<typeof newUser>>

beforeAll(async () => {
  authority = makeAuthority(mkdtempSync(join(tmpdir(), 'guild-authority-')), ['guild.test'])
  front = await openFront(authority)
  proxy = await openConnectProxy(() => `127.0.0.1:${(front.address() as AddressInfo).port}`)
  user = await newUser()
  await installErrand(app, user.person)
})

afterAll(async () => {
  await proxy?.close()
  front?.close()
  front?.closeAllConnections()
})

/** The stack under that name: what it says of its own address is said of this one. */
async function openFront({ key, cert }: Authority): Promise<Server> {
  const named = (said: string) =>
    said.replaceAll(baseUrl, house).replaceAll(baseUrl.replace('http', 'ws'), house.replace('http', 'ws'))
  const server = createServer({ key, cert }, async (request, response) => {
    const { host: _, connection: __, 'accept-encoding': ___, ...headers } = request.headers
    const sent = await buffer(request)
    const answer = await fetch(baseUrl + request.url, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      redirect: 'manual',
      ...(sent.length > 0 && { body: new Uint8Array(sent) }),
    })
    const type = answer.headers.get('content-type') ?? ''
    response.writeHead(answer.status, { 'content-type': type })
    if (type.startsWith('text/event-stream') && answer.body)
      Readable.fromWeb(answer.body as import('node:stream/web').ReadableStream).pipe(response)
    else response.end(named(await answer.text()))
  })
  server.on('upgrade', (request, client) => {
    const { hostname, port } = new URL(baseUrl)
    const backend = connect(Number(port), hostname, () => {
      const lines = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`)
      backend.write(`GET ${request.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
      backend.pipe(client).pipe(backend)
    })
    for (const socket of [backend, client])
      socket.on('error', () => {
        backend.destroy()
        client.destroy()
      })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const behind = () => ({
  ...user.env,
  GUILD_BASE_URL: house,
  HTTPS_PROXY: proxy.url,
  NODE_EXTRA_CA_CERTS: authority.caFile,
})

describe('behind a proxy', () => {
  test('guild sends everything through it, its stream and its socket too', async () => {
    const env = behind()
    expect(await run(user.home, ['whoami', '--json'], { env })).toMatchObject({ code: 0 })
    const asked = proxy.tunnels.length
    expect(asked).toBeGreaterThan(0)
    const ran = await run(user.home, ['run', 'errand', script({ say: 'Through.' }), '--json'], { env })
    expect(ran.code, ran.stderr).toBe(0)
    expect(ran.stdout).toContain('Through.')
    const listening = start(user.home, ['listen', '--json'], { env })
    await until(() => listening.stderr().includes('connected'))
    await run(user.home, ['run', 'errand', script({ say: 'Heard.' }), '--json'], { env })
    await until(() => listening.stdout().includes('execution-started'))
    listening.child.kill('SIGTERM')
    await listening.ended
    expect(proxy.tunnels.length).toBeGreaterThan(asked + 2)
    expect(new Set(proxy.tunnels)).toEqual(new Set(['guild.test:443']))
    expect(proxy.plain).toEqual([])
  })

  test('an authority that nobody named is not believed', async () => {
    const { NODE_EXTRA_CA_CERTS: _, ...env } = behind()
    expect(await run(user.home, ['whoami', '--json'], { env })).toMatchObject({ code: 11, stdout: '' })
  })

  test('NO_PROXY is honoured, and a proxy that is away is told', async () => {
    const env = { ...user.env, HTTP_PROXY: 'http://127.0.0.1:9' }
    expect(await run(user.home, ['whoami', '--json'], { env })).toMatchObject({ code: 11, stdout: '' })
    const direct = { ...env, NO_PROXY: '127.0.0.1,localhost' }
    expect(await run(user.home, ['whoami', '--json'], { env: direct })).toMatchObject({ code: 0 })
  })

  test('the library goes through it on Node where NODE_USE_ENV_PROXY says so', async () => {
    const code = `import { Guildhall } from '@guildhall/sdk'
      const run = await new Guildhall().skills.run('errand', { input: ${JSON.stringify(script({ say: 'Hi.' }))} })
      const { text } = await run.result()
      console.log(text)`
    const asked = proxy.tunnels.length
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      env: environmentOf(user.home, { ...behind(), NODE_USE_ENV_PROXY: '1' }),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    expect(await text(child.stdout)).toBe('Hi.\n')
    expect(proxy.tunnels.length).toBeGreaterThan(asked)
    expect(new Set(proxy.tunnels)).toEqual(new Set(['guild.test:443']))
  })
})
