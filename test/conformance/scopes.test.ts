import { expect, test } from 'vitest'
import { newKey, newPerson } from './support/actors.ts'
import { byCode, mustConnect, type RequestedScope, request } from './support/consent.ts'
import { expectRefusal } from './support/shapes.ts'
import { verifies } from './verifies.ts'

const plain = [
  'profile:read',
  'profile:search',
  'memory:read',
  'workspace:files:read',
  'connector:github:read',
  'agent:list',
  'billing:read',
  'trace:write',
]
const sensitive = [
  'profile:write',
  'memory:write',
  'workspace:files:write',
  'connector:github:exec',
  'tool:execute',
  'agent:message',
  'trace:read',
]

async function askedFor(scopes: string[]): Promise<RequestedScope[]> {
  const person = await newPerson()
  const { link_code } = await mustConnect(await newKey(person, { access: 'declared' }), scopes)
  const { status, body } = await byCode(person, link_code)
  expect(status).toBe(200)
  return body.requested_scopes
}

test.each([
  'profile:read',
  'profile:search',
  'profile:write',
  'memory:read',
  'memory:write',
  'workspace:files:read',
  'workspace:files:write',
  'tool:execute',
  'agent:list',
  'agent:message',
  'billing:read',
])('%s can be asked for', async (scope) => {
  verifies('scopes:known:all-ids')
  const person = await newPerson()
  const [without, withFull] = [await newKey(person, { scopes: ['trace:write'] }), await newKey(person)]
  expect((await request(without, scope)).status).toBe(202)
  expect((await request(withFull, scope)).status).toBe(200)
})

test.each(['connector:github:read', 'connector:github:exec', 'connector:some-app_2:read'])(
  'so can %s',
  async (scope) => {
    verifies('scopes:known:connector')
    const key = await newKey(await newPerson(), { scopes: ['agent:list'] })
    expect((await request(key, scope)).status).toBe(202)
  },
)

test.each(['connector::read', 'connector:github:delete', 'connector:github', 'connector:git hub:read'])(
  '%s is no scope',
  async (scope) => {
    verifies('scopes:known:connector')
    const key = await newKey(await newPerson(), { scopes: ['agent:list'] })
    expectRefusal(await request(key, scope), 400, 'INVALID_INPUT')
  },
)

test.each(['root:everything', '*', 'profile', 'profile:*', 'PROFILE:READ', ' profile:read', 'tool:execute:'])(
  '"%s" is refused, also to a key with full access',
  async (scope) => {
    verifies('scopes:unknown:refused')
    const person = await newPerson()
    for (const key of [await newKey(person, { scopes: ['agent:list'] }), await newKey(person)]) {
      expectRefusal(await request(key, scope), 400, 'INVALID_INPUT')
    }
  },
)

test('what can do harm is marked as sensitive, and nothing else', async () => {
  verifies('scopes:sensitive:table')
  const described = await askedFor([...plain, ...sensitive])
  const marked = (mark: boolean) =>
    described.filter((scope) => scope.sensitive === mark).map(({ scope }) => scope)
  expect(marked(true).sort()).toEqual([...sensitive].sort())
  expect(marked(false).sort()).toEqual([...plain].sort())
})

test('the person is offered to keep what is harmless and to lend what is sensitive', async () => {
  verifies('scopes:mode:default-scope-aware')
  const described = await askedFor([...plain, ...sensitive])
  const modes = Object.fromEntries(described.map(({ scope, default_mode }) => [scope, default_mode]))
  expect(modes).toEqual({
    ...Object.fromEntries(plain.map((scope) => [scope, 'persistent'])),
    ...Object.fromEntries(sensitive.map((scope) => [scope, 'session'])),
  })
})
