import { Compile } from 'typebox/compile'
import { expect, test } from 'vitest'
import { changeKinds, type Route, type Routes, routes } from './index.ts'
import { openApiDocument } from './openapi/document.ts'
import { exampleOf } from './openapi/example.ts'
import { recordExamples } from './openapi/record-examples.ts'

const all = Object.entries<Routes[string]>(routes)
type Operation = { operationId?: string; requestBody?: object; responses?: Record<string, object> }
type Document = { paths: Record<string, Record<string, Operation>> }
const isJson = ({ answers }: Route) => answers === undefined || answers === 'json' || answers === 'either'

test('no two routes are called alike by clients', () => {
  const calls = all.map(([, { resource, verb }]) => `${resource}.${verb}`)
  expect(calls.filter((call, index) => calls.indexOf(call) !== index)).toEqual([])
  expect(calls.filter((call) => !/^[a-z][A-Za-z]+\.[a-z][A-Za-z]+$/.test(call))).toEqual([])
})

test('every route that answers a list says how it is cut', () => {
  const lists = all.filter(([name, { method }]) => method === 'GET' && /^list|^search/.test(name))
  expect(lists.length).toBeGreaterThan(20)
  expect(lists.filter(([, { page }]) => page === undefined).map(([name]) => name)).toEqual([])
  for (const [name, { page, query }] of all) {
    const parameter = page === 'offset' ? 'offset' : page === 'cursor' ? 'cursor' : undefined
    if (parameter && query?.properties['limit'])
      expect(Object.keys(query.properties), name).toContain(parameter)
  }
})

test('no key sends a body to read or to delete: the app says of a grant for such a request that it is bound', () => {
  const withBody = all.filter(
    ([, { method, audience, body }]) =>
      (method === 'GET' || method === 'DELETE') && audience !== 'session' && body !== undefined,
  )
  expect(withBody.map(([name]) => name)).toEqual([])
})

test('every description is a sentence or more, and says more than the summary', () => {
  const poor = all.filter(
    ([, { description, summary }]) => !/^[A-Z0-9`].+\.$/s.test(description) || description === summary,
  )
  expect(poor.map(([name]) => name)).toEqual([])
})

test.each(all)('%s has examples of its body and its answers, and they fit', (_name, route) => {
  if (route.body) expect(Compile(route.body).Errors(route.example?.body)).toEqual([])
  if (!isJson(route)) return
  for (const [status, schema] of Object.entries(route.responses)) {
    const example = route.example?.answers?.[Number(status)] ?? exampleOf(schema)
    expect(example, status).toBeDefined()
    expect(Compile(schema).Errors(example)).toEqual([])
  }
})

test('every example of a record fits, and belongs to one', () => {
  const { components } = openApiDocument(routes, '0') as { components: { schemas: Record<string, object> } }
  const unknown = Object.keys(recordExamples).filter((title) => !components.schemas[title])
  expect(unknown).toEqual([])
})

test('every route that is no read says what it changes, and all of that can be read', () => {
  const silent = all.filter(([, { method, changes }]) => (method === 'GET') !== (changes === undefined))
  expect(silent.map(([name]) => name)).toEqual([])
  const read = new Set(all.filter(([, { method }]) => method === 'GET').map(([, { resource }]) => resource))
  expect(Object.keys(changeKinds).filter((kind) => !read.has(kind))).toEqual([])
})

test('the document tells that a body may come too late, of every route that takes one', () => {
  const { paths } = openApiDocument(routes, '0') as unknown as Document
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const withBody = operations.filter(({ requestBody }) => requestBody)
  expect(withBody.length).toBeGreaterThan(50)
  const of = (asked: typeof operations) => asked.map(({ operationId }) => operationId)
  expect(of(operations.filter(({ responses }) => responses?.['408']))).toEqual(of(withBody))
})

test('keys in examples show the prefix and six characters, as real ones do', () => {
  const shown = JSON.stringify(openApiDocument(routes, '0')).match(/"(?:keyPrefix|prefix)":"[^"]*"/g) ?? []
  expect(shown.length).toBeGreaterThan(3)
  for (const prefix of shown) expect(prefix).toMatch(/:"guild_live_\w{6}"$/)
})
