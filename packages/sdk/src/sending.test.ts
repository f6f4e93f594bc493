import { expect, test, vi } from 'vitest'
import { Client } from './client.ts'
import { deleteArtifact } from './generated/artifacts.ts'
import { createKey } from './generated/keys.ts'
import { storeProviderKey } from './generated/provider-keys.ts'
import { uninstallSkill } from './generated/skills.ts'
import { validateWorkflow } from './generated/workflows.ts'
import { createWorkspace, listWorkspaces } from './generated/workspaces.ts'
import { Guildhall } from './guildhall.ts'
import { download } from './signed-address.ts'

type Reply = () => Response | Promise<Response>
interface Sent {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
}

/** A client whose server answers these, one after the other. */
function clientOf(replies: readonly Reply[], options: object = {}) {
  const sent: Sent[] = []
  const fetch = async (url: string, init: RequestInit) => {
    const body = init.body === undefined ? '' : new TextDecoder().decode(init.body as Uint8Array)
    sent.push({ url, headers: init.headers as Record<string, string>, body })
    return (replies[sent.length - 1] ?? replies.at(-1) ?? json(200, {}))()
  }
  const client = new Client({
    baseUrl: 'https://guild.test',
    apiKey: 'guild_live_abc',
    fetch: fetch as typeof globalThis.fetch,
    ...options,
  })
  return { client, sent }
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  () =>
    new Response(JSON.stringify(body), { status, headers })
const refusal = (status: number, code: string, headers?: Record<string, string>, details = {}) =>
  json(status, { error: { code, message: 'No', details } }, { 'retry-after': '0', ...headers })
const fails =
  (code: string): Reply =>
  async () => {
    throw new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code }) })
  }
const ok = json(200, { success: true })

const operations = {
  get: (client: Client) => client.call(listWorkspaces, {}),
  put: (client: Client) =>
    client.call(storeProviderKey, { params: { provider: 'p' }, body: { key: 'k' } as never }),
  delete: (client: Client) => client.call(deleteArtifact, { params: { id: 'a' } }),
  safe: (client: Client) => client.call(validateWorkflow, { body: {} as never }),
  keyed: (client: Client) => client.call(createWorkspace, { body: { name: 'n' } }),
  other: (client: Client) => client.call(uninstallPlain, { params: { slug: 's' } }),
}
/** A POST that takes no key. */
const { creates: _keyed, ...uninstallPlain } = uninstallSkill

const always = ['get', 'put', 'delete', 'safe', 'keyed', 'other'] as const
const repeatable = ['get', 'put', 'delete', 'safe', 'keyed'] as const

/** Each cell of the table: which operations are sent again after it. */
const table: readonly (readonly [what: string, first: Reply, again: readonly string[]])[] = [
  ['refused connection', fails('ECONNREFUSED'), always],
  ['unknown host', fails('ENOTFOUND'), always],
  ['broken after sending', fails('ECONNRESET'), repeatable],
  ['429 RATE_LIMITED', refusal(429, 'RATE_LIMITED'), always],
  ['429 RATE_LIMITED for too long', refusal(429, 'RATE_LIMITED', { 'retry-after': '61' }), []],
  ['429 EXECUTION_RUNNING', refusal(429, 'EXECUTION_RUNNING'), []],
  ['402', refusal(402, 'INSUFFICIENT_CREDITS'), []],
  ['409', refusal(409, 'CONFLICT'), []],
  ['400', refusal(400, 'INVALID_INPUT'), []],
  ['401', refusal(401, 'UNAUTHORIZED'), []],
  ['403', refusal(403, 'FORBIDDEN'), []],
  ['500', refusal(500, 'INTERNAL_ERROR'), repeatable],
  [
    '502 of a proxy',
    () => new Response('<html>', { status: 502, headers: { 'retry-after': '0' } }),
    repeatable,
  ],
  ['503', refusal(503, 'SERVICE_UNAVAILABLE'), repeatable],
  ['504', refusal(504, 'SERVICE_UNAVAILABLE'), repeatable],
  ['501', refusal(501, 'INTERNAL_ERROR'), []],
  ['a redirect', () => new Response(null, { status: 302, headers: { location: 'https://evil.test' } }), []],
]

test.each(table.flatMap(([what, first, again]) => always.map((name) => [what, name, first, again] as const)))(
  'after %s, %s is sent again only where that is safe',
  async (_what, name, first, again) => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { client, sent } = clientOf([first, ok])
    const outcome = await operations[name](client).then(
      () => 'answered',
      () => 'threw',
    )
    vi.restoreAllMocks()
    const isAgain = again.includes(name)
    expect([sent.length, outcome]).toEqual(isAgain ? [2, 'answered'] : [1, 'threw'])
  },
)

test('every attempt sends the same bytes under the same key', async () => {
  const { client, sent } = clientOf([
    refusal(503, 'SERVICE_UNAVAILABLE'),
    refusal(503, 'SERVICE_UNAVAILABLE'),
    ok,
  ])
  await client.call(createWorkspace, { body: { name: 'n' } })
  expect(sent).toHaveLength(3)
  expect(new Set(sent.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
  expect(new Set(sent.map(({ body }) => body))).toEqual(new Set(['{"name":"n"}']))
  await client.call(createWorkspace, { body: { name: 'n' } })
  expect(sent[3]?.headers['idempotency-key']).not.toBe(sent[0]?.headers['idempotency-key'])
})

test('it gives up after two repeats, or as many as were allowed', async () => {
  for (const maxRetries of [0, 2, 4]) {
    const { client, sent } = clientOf([refusal(503, 'SERVICE_UNAVAILABLE')], { maxRetries })
    await expect(client.call(listWorkspaces, {})).rejects.toMatchObject({ name: 'ServerError' })
    expect(sent).toHaveLength(maxRetries + 1)
  }
})

test('404 to the repeat of a deletion is success; to the first it is none', async () => {
  const gone = refusal(404, 'NOT_FOUND')
  const repeated = clientOf([refusal(500, 'INTERNAL_ERROR'), gone])
  await expect(operations.delete(repeated.client)).resolves.toEqual({ success: true })
  await expect(operations.delete(clientOf([gone]).client)).rejects.toMatchObject({ name: 'NotFoundError' })
})

test('404 to a deletion that cannot have happened before is none', async () => {
  const gone = refusal(404, 'NOT_FOUND')
  for (const first of [refusal(429, 'RATE_LIMITED'), fails('ECONNREFUSED')]) {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    await expect(operations.delete(clientOf([first, gone]).client)).rejects.toMatchObject({
      name: 'NotFoundError',
    })
  }
  vi.restoreAllMocks()
})

test('a network that went away after sending leaves open what happened', async () => {
  vi.stubGlobal('navigator', { onLine: false })
  const { client, sent } = clientOf([fails('ECONNRESET'), ok])
  await expect(operations.other(client)).rejects.toMatchObject({ outcome: 'unknown' })
  expect(sent).toHaveLength(1)
  vi.unstubAllGlobals()
})

test('what was made with a secret that got lost is named', async () => {
  const made = refusal(409, 'CONFLICT', {}, { id: 7 })
  const call = (client: Client) => client.call(createKey, { body: { label: 'l' } as never })
  await expect(call(clientOf([fails('ECONNRESET'), made]).client)).rejects.toMatchObject({
    name: 'SecretLostError',
    id: 7,
  })
  await expect(call(clientOf([made]).client)).rejects.toMatchObject({ name: 'ConflictError' })
})

test('of a broken connection it is told whether anything can have happened', async () => {
  const outcome = (reply: Reply) =>
    operations.other(clientOf([reply], { maxRetries: 0 }).client).catch((error) => error.outcome)
  expect(await outcome(fails('ECONNREFUSED'))).toBe('unsent')
  expect(await outcome(fails('ECONNRESET'))).toBe('unknown')
})

test('a redirect is not followed, and what is elsewhere gets no credential', async () => {
  const seen: [string, unknown][] = []
  const fetch = (async (url: string, init: RequestInit) => {
    seen.push([url, { ...(init.headers as object) }])
    expect(init.redirect).toBe('manual')
    return url.startsWith('https://guild.test') && url.includes('/r')
      ? new Response(null, { status: 307, headers: { location: 'https://evil.test/' } })
      : new Response('file')
  }) as typeof globalThis.fetch
  const client = new Guildhall({ baseUrl: 'https://guild.test/', apiKey: 'guild_live_abc', fetch })
  await expect(client.request('GET', '/r')).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER', status: 307 })
  await download(client, 'https://files.test/a')
  await download(client, '/api/v1/artifacts/x/content?path=a%3Ab')
  await download(client, 'https://guild.test.evil.test/a')
  expect(seen.map(([url, headers]) => [url, 'x-api-key' in (headers as object)])).toEqual([
    ['https://guild.test/r', true],
    ['https://files.test/a', false],
    ['https://guild.test/api/v1/artifacts/x/content?path=a%3Ab', true],
    ['https://guild.test.evil.test/a', false],
  ])
})

test('a parameter never becomes a part of the path', async () => {
  const { client, sent } = clientOf([ok])
  await client.call(uninstallPlain, { params: { slug: 'a/../../keys?x=1#y' } })
  expect(sent[0]?.url).toBe('https://guild.test/api/v1/skills/a%2F..%2F..%2Fkeys%3Fx%3D1%23y/uninstall')
  for (const slug of ['', '.', '..']) {
    await expect(client.call(uninstallPlain, { params: { slug } })).rejects.toThrow(TypeError)
  }
})

test('a signal ends sending and waiting alike, with its own reason', async () => {
  const { client } = clientOf([refusal(503, 'SERVICE_UNAVAILABLE', { 'retry-after': '30' })])
  const stop = new AbortController()
  const call = client.call(listWorkspaces, {}, { signal: stop.signal })
  setTimeout(() => stop.abort('enough'), 20)
  await expect(call).rejects.toBe('enough')
})

test('an answer that does not come is a timeout', async () => {
  const fetch = ((_: string, { signal }: RequestInit) =>
    new Promise((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(signal.reason)),
    )) as typeof globalThis.fetch
  const client = new Client({
    baseUrl: 'https://guild.test',
    apiKey: 'k',
    fetch,
    maxRetries: 0,
    timeoutMs: 20,
  })
  await expect(client.call(listWorkspaces, {})).rejects.toMatchObject({
    name: 'TimeoutError',
    outcome: 'unknown',
  })
})

test('a window that is used up is waited for', async () => {
  const spent = { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '0.2' }
  const { client } = clientOf([json(200, [], spent), json(200, [])])
  await client.call(listWorkspaces, {})
  const begun = performance.now()
  await client.call(listWorkspaces, {})
  expect(performance.now() - begun).toBeGreaterThan(150)
})

test('a key of another workspace writes nothing', async () => {
  const { client, sent } = clientOf([json(200, { workspace: { id: 'w1' } })], { workspaceId: 'w2' })
  await expect(operations.keyed(client)).rejects.toMatchObject({ name: 'ConfigurationError' })
  expect(sent.map(({ url }) => url)).toEqual(['https://guild.test/api/v1/agents/me'])
})

test.each([
  [{ baseUrl: 'http://guild.test' }],
  [{ baseUrl: 'ftp://localhost' }],
  [{ baseUrl: 'https://u:p@guild.test' }],
  [{ baseUrl: 'https://guild.test?x=1' }],
  [{ baseUrl: '' }],
  [{ baseUrl: 'https://guild.test', apiKey: 'a', authToken: 'b' }],
])('%o cannot be meant', (options) => {
  expect(() => new Client(options)).toThrow(expect.objectContaining({ name: 'ConfigurationError' }))
})
