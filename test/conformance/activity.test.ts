import { describe, expect, test } from 'vitest'
import { inWorkspace, must, newKey, newPerson, newWorkspace, type Person, pair } from './support/actors.ts'
import type { Caller, SendOptions } from './support/client.ts'
import {
  approveConsent,
  connectAndApprove,
  denyRequest,
  mustConnect,
  mustRequest,
  removeScope,
} from './support/consent.ts'
import { newHolder } from './support/passkeys.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import { verifies } from './verifies.ts'

interface Entry {
  id: string
  type: string
  at: string
  actor: { kind: string; userId: string | null; apiKeyId: number | null }
  workspace: { id: string; name: string | null } | null
  details: Record<string, unknown>
}

interface Log {
  items: Entry[]
  nextCursor: string | null
}

async function log(caller: Caller, query = '', options?: SendOptions): Promise<Log> {
  return must(await caller.get<Log>(`/activity${query}`, options), 200)
}

const types = async (caller: Caller, query = '') => (await log(caller, query)).items.map(({ type }) => type)

/** Four lines about one key, made, granted, denied, one scope removed, after that of the person's sign-in. */
async function eventful(person: Person) {
  const key = await newKey(person, { access: 'declared' })
  await connectAndApprove(person, key, ['agent:list'])
  const { request_id } = await mustRequest(key, 'profile:read')
  must(await denyRequest(person, request_id), 200)
  must(await removeScope(person, key.id, 'agent:list'), 200)
  return key
}

const allLines = ['scope.removed', 'permission.denied', 'consent.granted', 'key.created', 'session.signed_in']

describe('the log', () => {
  test('tells who did what, newest first', async () => {
    verifies('activity:list:shape', 'activity:list:decisions')
    const person = await newPerson()
    await eventful(person)
    const { items, nextCursor } = await log(person)
    expect(nextCursor).toBeNull()
    expect(items.map(({ type }) => type)).toEqual(allLines)
    for (const item of items) {
      expect(item).toEqual({
        id: expect.stringMatching(/./),
        type: expect.stringMatching(/./),
        at: expect.stringMatching(isoPattern),
        actor: { kind: 'session', userId: person.userId, apiKeyId: null },
        workspace: { id: person.workspaceId, name: null },
        details: expect.any(Object),
      })
    }
    const times = items.map(({ at }) => Date.parse(at))
    expect(times).toEqual([...times].sort((a, b) => b - a))
  })

  test('has one line of a passkey, and none of a decision that was refused', async () => {
    verifies('activity:list:decisions')
    const holder = await newHolder()
    const key = await newKey(holder, { access: 'declared' })
    const { consent_id } = await mustConnect(key, ['tool:execute'])
    expect((await approveConsent(holder, consent_id, ['tool:execute'])).status).toBe(403)
    expect(await types(holder)).toEqual(['key.created', 'passkey.added', 'session.signed_in'])
  })

  test('can be read by a key, by one that may not do everything as far as it is its own', async () => {
    verifies('activity:list:shape', 'activity:list:narrow-key')
    const person = await newPerson()
    const [full, narrow] = [await newKey(person), await newKey(person, { scopes: ['workspace:files:write'] })]
    for (const key of [full, narrow]) must(await key.post('/agents', { slug: `made-by-${key.id}` }), 201)
    expect(await log(full)).toEqual(await log(person))
    const own = await log(person, `?apiKey=${narrow.id}`)
    expect(own.items).toMatchObject([{ type: 'agent.created', actor: { kind: 'key', apiKeyId: narrow.id } }])
    expect(await log(narrow)).toEqual(own)
    expect(await types(narrow, `?apiKey=${narrow.id}`)).toEqual(['agent.created'])
    expect(await types(narrow, `?apiKey=${full.id}`)).toEqual([])
    expect(await types(narrow, '?type=key.created')).toEqual([])
  })

  test('is filtered and comes in pages', async () => {
    verifies('activity:list:filters')
    const person = await newPerson()
    await eventful(person)
    expect(await types(person, '?type=consent.granted')).toEqual(['consent.granted'])
    expect(await types(person, '?type=no.such')).toEqual([])
    expect(await types(person, `?actor=${person.userId}`)).toEqual(allLines)
    expect(await types(person, `?actor=${crypto.randomUUID()}`)).toEqual([])
    expect(await types(person, '?apiKey=1')).toEqual([])
    const { items } = await log(person)
    const third = encodeURIComponent(items[2]?.at ?? '')
    expect(await types(person, `?since=${third}`)).toEqual(allLines.slice(0, 3))
    expect(await types(person, `?until=${third}`)).toEqual(allLines.slice(3))
    const first = await log(person, '?limit=3')
    expect(first.items).toEqual(items.slice(0, 3))
    const second = await log(person, `?limit=3&cursor=${encodeURIComponent(first.nextCursor ?? '')}`)
    expect(second).toEqual({ items: items.slice(3), nextCursor: null })
    for (const query of ['since=soon', 'until=7', 'limit=x', 'cursor=made-up', 'apiKey=x']) {
      expectRefusal(await person.get(`/activity?${query}`), 400, 'INVALID_INPUT')
    }
  })

  test('is that of one workspace', async () => {
    verifies('activity:list:own-workspace')
    const [person, stranger] = [await newPerson(), await newPerson()]
    const team = await newWorkspace(person, 'Team')
    await newKey(person, { label: 'Here' })
    const there = await newKey(person, { label: 'There' }, inWorkspace(team.id))
    await newKey(stranger, { label: 'Elsewhere' })
    const here = await log(person)
    expect(new Set(here.items.map(({ workspace }) => workspace?.id))).toEqual(new Set([person.workspaceId]))
    expect(JSON.stringify(here)).not.toMatch(/There|Elsewhere/)
    const inTeam = await log(person, '', inWorkspace(team.id))
    expect(inTeam).toEqual(await log(there))
    expect(JSON.stringify(inTeam)).toContain(team.id)
    expect(JSON.stringify(inTeam)).not.toMatch(new RegExp(`${person.workspaceId}|Elsewhere`))
  })

  test('only grows', async () => {
    verifies('activity:log:append-only')
    const person = await newPerson()
    const key = await eventful(person)
    const before = (await log(person)).items
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      for (const path of ['/activity', `/activity/${before[0]?.id}`]) {
        expectRefusal(await person.send(method, path), 404, 'NOT_FOUND')
      }
    }
    must(await person.delete(`/keys/${key.id}`), 200)
    const after = (await log(person)).items
    expect(after.length).toBeGreaterThan(before.length)
    expect(after.slice(-before.length)).toEqual(before)
  })

  test('holds no secret', async () => {
    verifies('activity:log:no-secrets')
    const person = await newPerson()
    const key = await eventful(person)
    const { claim, pairing } = await pair(person)
    must(await person.post(`/keys/${key.id}/rotate`), 200)
    const text = JSON.stringify(await log(person))
    expect(text.length).toBeGreaterThan(500)
    for (const secret of [key.secret, claim.api_key, person.token, pairing.deviceCode, 'guild_live_']) {
      expect(text).not.toContain(secret)
    }
  })
})
