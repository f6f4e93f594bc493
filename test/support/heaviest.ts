import { type Route, weightOf } from '@guildhall/contract'
import type { Schema } from '../fuzz/values.ts'
import { isProof } from './sizes.ts'

/** A request that weighs as much as its route lets one weigh, in one of the ways that there are. */
export interface Heavy {
  readonly about: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** What is heavy is a field that the contract knows: the handler may get to see it. */
  readonly isKnown?: true
}

/** What is made heavier: a request that the route accepts. */
export interface Light {
  readonly params?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** What Node reads of a request before it refuses it, but for the line and the headers that any has. */
const headBytes = 14_000
/** Above that a text only gets longer: a proof sends all that is let in. */
const bodyBytes = isProof ? Number.POSITIVE_INFINITY : 1024 * 1024

/**
 * Everything a caller can make long, wide or deep, generated from what the contract says of the route. Of ways that are
 * much the same for all of them each route has its turn with one in the gate.
 */
export function* heaviestOf(route: Route, light: Light, turn: number): Generator<Heavy> {
  const { params = {} } = light
  const path = pathOf(route, params)
  const send = (body = light.body) => (body === undefined ? {} : { body: JSON.stringify(body) })
  if (route.method !== 'GET') {
    const most = mostOf(route)
    const base = typeof light.body === 'object' && light.body !== null ? light.body : {}
    for (const [about, body] of knownFields(route, base, most, turn))
      yield { about, path, headers: {}, ...send(body), isKnown: true }
    const unknown = [...unknownFields(most)].map(
      ([about, fields]) => [about, { ...fields, ...base }] as const,
    )
    for (const [about, body] of inTurn(unknown, turn)) yield { about, path, headers: {}, ...send(body) }
  }
  for (const [about, address] of inTurn([...heavyAddresses(route, params)], turn))
    yield { about, path: address, headers: {}, ...send() }
  for (const [about, headers] of inTurn([...heavyHeaders()], turn)) yield { about, path, headers, ...send() }
}

export function pathOf({ path }: Route, params: Readonly<Record<string, string>> = {}): string {
  return path.replace(/:(\w+)/g, (_text, name) => encodeURIComponent(params[name] ?? ''))
}

function inTurn<T>(ways: readonly T[], turn: number): T[] {
  return isProof ? [...ways] : ways.slice(turn % ways.length).slice(0, 1)
}

function* heavyAddresses(route: Route, params: NonNullable<Light['params']>): Generator<[string, string]> {
  const path = pathOf(route, params)
  for (const name of Object.keys(params)) {
    yield [`a long :${name}`, pathOf(route, { ...params, [name]: '\u00e9'.repeat(headBytes / 6) })]
    yield [`many parts in :${name}`, pathOf(route, { ...params, [name]: '/'.repeat(headBytes / 3) })]
  }
  yield ['many unknown names in the query', `${path}?${upTo(headBytes, (index) => `u${index}&`)}`]
  for (const name of Object.keys((route.query as Schema | undefined)?.properties ?? {})) {
    yield [`?${name} many times`, `${path}?${upTo(headBytes, () => `${name}=1&`)}`]
    for (const sign of [',', '1', '%20'])
      yield [`?${name} of ${sign}`, `${path}?${name}=${sign.repeat(headBytes / sign.length)}`]
  }
}

/** Of these some are lists. */
const headerNames = ['cookie', 'accept', 'accept-language', 'if-none-match', 'x-forwarded-for']
const furtherNames = ['idempotency-key', 'x-workspace-id', 'x-agent-slug', 'user-agent']

function* heavyHeaders(): Generator<[string, Readonly<Record<string, string>>]> {
  yield ['many headers', Object.fromEntries(Array.from({ length: 1900 }, (_, index) => [`x${index}`, '']))]
  for (const name of [...headerNames, ...furtherNames])
    yield [`a long ${name}`, { [name]: 'x'.repeat(headBytes) }]
  for (const name of headerNames)
    yield [`much in ${name}`, { [name]: upTo(headBytes, (index) => `a${index}=b;q=0.1, `) }]
}

interface Most {
  readonly bytes: number
  readonly values: number
}

/** Some of both is the request's own. */
function mostOf(route: Route): Most {
  const { bytes, values } = weightOf(route)
  return { bytes: Math.min(bytes, bodyBytes) - 2000, values: values - 100 }
}

function* unknownFields(most: Most): Generator<[string, object]> {
  const count = Math.min(most.values, Math.floor(most.bytes / 10))
  yield ['unknown fields', manyNames(count, () => 0)]
  yield ['an unknown list', { unknown: Array.from({ length: count }, () => 1) }]
  yield ['an unknown depth', { unknown: nested(900) }]
  yield ['a long unknown name', { ['\u00e9'.repeat(most.bytes / 4)]: 1 }]
}

function* knownFields(route: Route, base: object, most: Most, turn: number): Generator<[string, unknown]> {
  const places = [...placesIn((route.body ?? {}) as Schema)]
  const put = ([about, value]: [string, unknown], { path }: Place): [string, unknown] => [
    `${about} at ${path.join('.') || 'the top'}`,
    withAt(base, path, value),
  ]
  const ofText = places.filter(({ schema }) => isAny(schema) || typesOf(schema).includes('string'))
  for (const place of inTurn(ofText, turn))
    for (const value of longTexts(place.schema, most, turn)) yield put(value, place)
  for (const place of places) for (const value of wideValues(place.schema, most)) yield put(value, place)
}

interface Place {
  readonly path: readonly string[]
  readonly schema: Schema
}

/** Every place that the schema speaks of. In lists the first, in records any. */
function* placesIn(schema: Schema, path: readonly string[] = []): Generator<Place> {
  yield { path, schema }
  for (const branch of schema.anyOf ?? []) yield* placesIn(branch, path)
  if (schema.items) yield* placesIn(schema.items, [...path, '0'])
  for (const [name, inner] of Object.entries(schema.properties ?? {})) yield* placesIn(inner, [...path, name])
  for (const inner of Object.values(schema.patternProperties ?? {})) yield* placesIn(inner, [...path, 'any'])
}

/** What escapes, parts, opens and never closes, counts or means nothing. */
const signs = ['a', '\u00e9', '"', '\\', '/', '-', '=', '[', '{', '\n', '.', '1', ' ']

const typesOf = ({ type }: Schema) => [type ?? []].flat()
const isAny = (schema: Schema) =>
  typesOf(schema).length === 0 && !schema.anyOf && schema.const === undefined && !schema.enum

function* longTexts({ maxLength }: Schema, most: Most, turn: number): Generator<[string, string]> {
  for (const sign of inTurn(signs, turn)) {
    const each = Buffer.byteLength(JSON.stringify(sign)) - 2
    const length = Math.min(maxLength ?? Number.POSITIVE_INFINITY, Math.floor(most.bytes / each))
    yield [`a long text of ${JSON.stringify(sign)}`, sign.repeat(length)]
  }
}

function* wideValues(schema: Schema, most: Most): Generator<[string, unknown]> {
  const { items = {}, properties, maxItems } = schema
  if (isAny(schema) || typesOf(schema).includes('array')) {
    const length = Math.min(maxItems ?? Number.POSITIVE_INFINITY, roomFor(sampleOf(items, 10_000), most))
    yield ['a full list', Array.from({ length }, (_, index) => sampleOf(items, index))]
  }
  const [named] = Object.values(schema.patternProperties ?? {})
  const isOpen = isAny(schema) || (typesOf(schema).includes('object') && !properties && !named)
  if (named || isOpen) {
    const count = roomFor({ n10000: sampleOf(named ?? {}, 10_000) }, most)
    yield ['many names', manyNames(count, (index) => sampleOf(named ?? {}, index))]
  }
  if (isOpen) yield ['a depth', { deep: nested(900) }]
}

/** How many of something there can be in a body. */
function roomFor(value: unknown, { bytes, values }: Most): number {
  const text = JSON.stringify(value)
  return Math.floor(Math.min(bytes / (text.length + 1), values / (text.split(/[,{[]/).length + 1)))
}

/** What the schema accepts, unlike the one before it. */
function sampleOf(schema: Schema, index: number): unknown {
  if (schema.anyOf) return sampleOf(schema.anyOf[0] ?? {}, index)
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[index % schema.enum.length]
  const { type = 'integer', properties = {}, required = [], minimum = 0, maximum = index } = schema
  switch ([type].flat()[0]) {
    case 'object':
      return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] ?? {}, index)]))
    case 'array':
      return [sampleOf(schema.items ?? {}, index)]
    case 'integer':
    case 'number':
      return Math.min(minimum + index, maximum)
    case 'boolean':
      return true
    default:
      return `t${index}`.padEnd(schema.minLength ?? 0, 'x')
  }
}

function manyNames(count: number, valueAt: (index: number) => unknown) {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, valueAt(index)]))
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { a: value }
  return value
}

/** The body with something else in one place of it; lists and records on the way are made where there are none. */
function withAt(body: unknown, [name, ...path]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value
  if (name === '0') {
    const [first, ...others] = Array.isArray(body) ? body : []
    return [withAt(first, path, value), ...others]
  }
  const at = (body ?? {}) as Readonly<Record<string, unknown>>
  return { ...at, [name]: withAt(at[name], path, value) }
}

function upTo(bytes: number, part: (index: number) => string): string {
  let text = ''
  for (let index = 0; ; index++) {
    const next = part(index)
    if (text.length + next.length > bytes) return text
    text += next
  }
}
