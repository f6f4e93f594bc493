import { type Route, type Routes, routes } from '@guildhall/contract'
import type { Random } from './random.ts'
import { hostileText, hostileValue, numbers, type Schema, times, toText, valueFor } from './values.ts'
import type { World } from './world.ts'

export interface FuzzRequest {
  readonly name: string
  readonly route: Route
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | undefined
}

/** Left out: answers of the operator's port, and what would wait on purpose is asked not to. */
const names = Object.keys(routes).filter((name) => (routes as Routes)[name]?.limits.length !== 0)

export function makeRequest(random: Random, world: World): FuzzRequest {
  const name = random.pick(names)
  const route = (routes as Routes)[name] as Route
  const known = (field: string) => world.idFor(field, random)
  const { headers, body } = bodyOf(route, random, known)
  return {
    name,
    route,
    method: route.method,
    path: pathOf(route, random, known) + queryOf(route, random, known),
    headers: { ...oddHeaders(random, world), ...headers, ...world.credential(name, route.audience, random) },
    body,
  }
}

function pathOf(route: Route, random: Random, known: (name: string) => string): string {
  return route.path.replace(/:(\w+)/g, (_text, name: string) =>
    encode(random.chance(0.7) ? known(name) : hostileText(random).slice(0, 3000)),
  )
}

/** Also for what is no text at all: halves of pairs as their three bytes, which no decoder takes. */
function encode(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80'
}

function queryOf(route: Route, random: Random, known: (name: string) => string): string {
  const { properties = {} } = (route.query ?? {}) as Schema
  const pairs: string[] = []
  for (const [name, schema] of Object.entries(properties)) {
    if (random.chance(name === 'cursor' ? 0.3 : 0.5)) continue
    const value =
      name === 'wait'
        ? random.pick([0, 'x', -1, 1e9])
        : name === 'cursor'
          ? cursorOf(random)
          : random.chance(0.3)
            ? random.chance(0.5)
              ? random.pick(numbers)
              : hostileText(random).slice(0, 3000)
            : valueFor(schema, random, known, name)
    const text = encode(typeof value === 'object' ? '' : String(value).slice(0, 6000))
    pairs.push(`${name}=${text}`)
    if (random.chance(0.05)) pairs.push(`${name}=${text}`, `${name}[]=1`, `${name}[a]=1`)
  }
  if (random.chance(0.05)) pairs.push('%', 'a=%zz', '=', '&', '__proto__=1', 'constructor[prototype]=1')
  return pairs.length > 0 ? `?${pairs.join('&')}` : ''
}

function cursorOf(random: Random): string {
  const parts = [
    random.pick(times),
    String(random.pick(numbers)),
    hostileText(random).slice(0, 200),
    'artifact_x',
    '00000000-0000-0000-0000-000000000000',
    'permission_x',
    '1',
  ]
  const key = Array.from({ length: 1 + random.below(3) }, () => random.pick(parts))
  return random.chance(0.1)
    ? hostileText(random).slice(0, 1000)
    : Buffer.from(JSON.stringify(key)).toString('base64url')
}

function oddHeaders(random: Random, world: World): Record<string, string> {
  const plain = (text: string) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '').slice(0, 4000)
  const all: Record<string, () => string> = {
    'idempotency-key': () =>
      random.pick([`key-${random.below(50)}`, 'x'.repeat(255), plain(hostileText(random))]),
    'x-workspace-id': () => random.pick([...world.workspaceIds, plain(hostileText(random))]),
    'x-request-id': () => plain(hostileText(random)),
    'x-client-label': () => plain(hostileText(random)),
    'user-agent': () => plain(hostileText(random)),
    'last-event-id': () => plain(hostileText(random)),
    'x-forwarded-for': () => plain(hostileText(random)),
    accept: () => random.pick(['text/event-stream', 'text/html', '*/*', plain(hostileText(random))]),
    'accept-encoding': () => random.pick(['gzip', 'gzip;q=0', plain(hostileText(random))]),
    'if-none-match': () => plain(hostileText(random)),
    origin: () => plain(hostileText(random)),
    range: () => 'bytes=0-1,5-9',
    cookie: () => plain(hostileText(random)),
  }
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, make]) => (random.chance(0.08) ? [[name, make()]] : [])),
  )
}

const boundary = 'fuzzed'

function bodyOf(route: Route, random: Random, known: (name: string) => string) {
  const none = { headers: {}, body: undefined }
  if (route.method === 'GET') return none
  if (!route.body && random.chance(0.8)) return none
  const json = { 'content-type': 'application/json' }
  if (route.uploads && random.chance(0.4)) {
    return { headers: { 'content-type': `multipart/form-data; boundary=${boundary}` }, body: formOf(random) }
  }
  if (random.chance(0.2))
    return { headers: random.chance(0.6) ? json : { 'content-type': oddType(random) }, body: junkOf(random) }
  const value = random.chance(0.04)
    ? hostileValue(random)
    : valueFor((route.body ?? {}) as Schema, random, known)
  return { headers: json, body: toText(value) }
}

function oddType(random: Random): string {
  return random.pick([
    'application/json; charset=utf-16',
    'application/JSON',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    `multipart/form-data; boundary=${'x'.repeat(200)}`,
    'application/json, text/plain',
    '/',
    ';',
  ])
}

function junkOf(random: Random): string {
  return random.pick([
    '',
    ' ',
    '{',
    '[]',
    'null',
    '"x"',
    '0',
    '{"a":1,}',
    '['.repeat(100_000),
    `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
    '{"a":'.repeat(50_000),
    `[${'0,'.repeat(400_000)}0]`,
    `{"a":"${'\\'.repeat(100_000)}"}`,
    '"\\ud800"',
    '{"__proto__":{"a":1}}',
    '{"a":1e999}',
    'x'.repeat(1_100_000),
  ])
}

function formOf(random: Random): string {
  const part = () => {
    const name = random.pick(['files[]', 'bundle', 'type', 'slug', '', '__proto__'])
    const file = random.chance(0.6)
      ? `; filename="${random.pick(['SKILL.md', 'a/b.txt', '../x', '', '\u0000', 'x'.repeat(3000)])}"`
      : ''
    const content = random.pick([
      'skill',
      '---\nname: x\ndescription: y\n---\n',
      hostileText(random),
      'PK\u0003\u0004junk',
    ])
    return `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n${random.chance(0.1) ? 'x: y\r\n'.repeat(300) : ''}\r\n${content}\r\n`
  }
  const parts = Array.from({ length: random.pick([0, 1, 2, 5, 40]) }, part).join('')
  return random.chance(0.9) ? `${parts}--${boundary}--\r\n` : parts
}
