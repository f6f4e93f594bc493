import { expect, test } from 'vitest'
import { newPerson, newVisitor } from './support/actors.ts'
import { publishedRoutes } from './support/published.ts'
import { verifies } from './verifies.ts'

/** What serves the operator and the reader of the contract is no part of the API. */
const besides = ['/healthz', '/readyz', '/metrics', '/openapi.json']

test('routes exist under /api/v1 only', async () => {
  verifies('versioning:path:api-v1')
  const person = await newPerson()
  expect((await person.get('/workspaces')).status).toBe(200)
  for (const path of ['/workspaces', '/v1/workspaces', '/api/workspaces', '/api/v2/workspaces', '/keys']) {
    expect([path, (await person.get(`root:${path}`)).status]).toEqual([path, 404])
  }
  const elsewhere = (await publishedRoutes())
    .map(({ path }) => path)
    .filter((path) => !/^\/(api\/v1|oauth|mcp)\//.test(path) && !path.startsWith('/.well-known/'))
  expect(elsewhere.filter((path) => !besides.includes(path))).toEqual([])
})

test('the service says what it is', async () => {
  verifies('versioning:meta:answer')
  const answer = await newVisitor().get('/meta')
  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    format: 'guildhall-workflow-v1',
    features: expect.arrayContaining([expect.any(String)]),
    deprecations: expect.any(Array),
  })
})

test('what serves the operator is there for whoever is let in, and as the document says', async () => {
  for (const path of besides) {
    const { status } = await newVisitor().get(`root:${path}`)
    // Metrics may be for those alone who have the token.
    expect([path, path === '/metrics' && status === 401 ? 200 : status]).toEqual([path, 200])
  }
})
