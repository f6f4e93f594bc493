import { describe, expect, test } from 'vitest'
import {
  addMember,
  confirm,
  deny,
  inWorkspace,
  lookup,
  must,
  newKey,
  newPerson,
  newWorkspace,
  type Person,
  startPairing,
} from './support/actors.ts'
import { credentialsForgotten, withClock } from './support/clock.ts'
import {
  approveRequest,
  denyConsent,
  denyRequest,
  mustConnect,
  mustRequest,
  type RequestedScope,
  request,
} from './support/consent.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import { stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

interface Approval {
  id: string
  kind: string
  status: string
  workspace: { id: string; name: string | null } | null
  scopes: RequestedScope[]
  reason: string | null
  action: unknown
  code: string | null
  history: { asked: number; allowed: number; denied: number }
}

interface Inbox {
  items: Approval[]
  nextCursor: string | null
}

async function inbox(person: Person, query = ''): Promise<Inbox> {
  return must(await person.get<Inbox>(`/approvals${query}`), 200)
}

const keyWith = (person: Person, options = {}) => newKey(person, { scopes: ['agent:list'] }, options)

describe('the inbox', () => {
  test('shows each question with all there is to decide on', async () => {
    verifies('approvals:list:shape')
    const person = await newPerson()
    const key = await newKey(person, { label: 'Editor', scopes: ['agent:list'] })
    const consent = await mustConnect(key, ['profile:read'])
    const asked = await mustRequest(key, 'billing:read', { mode: 'one_time', reason: 'To see the costs' })
    must(await denyRequest(person, asked.request_id, 'Not now'), 200)
    const common = {
      workspace: { id: person.workspaceId, name: null },
      key: {
        id: key.id,
        label: 'Editor',
        client_label: null,
        client_ua: null,
        client_ip: null,
        created_at: expect.stringMatching(isoPattern),
      },
      action: null,
      client: null,
      times: 1,
      approval_url: expect.stringMatching(/./),
      created_at: expect.stringMatching(isoPattern),
      expires_at: expect.stringMatching(isoPattern),
    }
    const scope = (id: string) => ({
      scope: id,
      group: id.split(':')[0],
      description: expect.stringMatching(/\S/),
      sensitive: false,
      default_mode: 'persistent',
      held: false,
    })
    expect(await inbox(person)).toEqual({
      items: [
        {
          ...common,
          id: asked.request_id,
          kind: 'permission',
          status: 'denied',
          scopes: [scope('billing:read')],
          mode: 'one_time',
          reason: 'To see the costs',
          code: null,
          deny_reason: 'Not now',
          history: { asked: 1, allowed: 0, denied: 1 },
          decided_at: expect.stringMatching(isoPattern),
          decided_by: expect.objectContaining({ you: true, passkey: null }),
        },
        {
          ...common,
          id: consent.consent_id,
          kind: 'consent',
          status: 'pending',
          scopes: [scope('profile:read')],
          mode: null,
          reason: null,
          code: consent.link_code,
          deny_reason: null,
          history: { asked: 1, allowed: 0, denied: 0 },
          decided_at: null,
          decided_by: null,
        },
      ],
      nextCursor: null,
    })
  })

  test('holds the pairing codes the person has dealt with', async () => {
    verifies('approvals:list:kinds')
    const person = await newPerson()
    const [seen, confirmed, denied, untouched] = [
      await startPairing({ 'x-client-label': 'Editor of Ada' }),
      await startPairing(),
      await startPairing(),
      await startPairing(),
    ]
    must(await lookup(person, seen.userCode), 200)
    must(await confirm(person, confirmed.userCode), 200)
    must(await deny(person, denied.userCode), 200)
    await mustConnect(await keyWith(person), ['profile:read'])
    const { items } = await inbox(person)
    const found = Object.fromEntries(items.map(({ code, kind, status }) => [code, [kind, status]]))
    expect(items).toHaveLength(4)
    expect(found).toMatchObject({
      [seen.userCode]: ['activation', 'pending'],
      [confirmed.userCode]: ['activation', 'granted'],
      [denied.userCode]: ['activation', 'denied'],
    })
    expect(found).not.toHaveProperty(untouched.userCode)
    expect(items.map(({ kind }) => kind)).toContain('consent')
  })

  test('is filtered by status and kind', async () => {
    verifies('approvals:list:filters')
    const person = await newPerson()
    const key = await keyWith(person)
    const [consent, refused] = [
      await mustConnect(key, ['profile:read']),
      await mustConnect(key, ['memory:read']),
    ]
    const [asked, granted] = [await mustRequest(key, 'profile:read'), await mustRequest(key, 'billing:read')]
    must(await denyConsent(person, refused.consent_id), 200)
    must(await approveRequest(person, granted.request_id), 200)
    const ids = async (query: string) => (await inbox(person, query)).items.map(({ id }) => id)
    expect(await ids('?status=pending')).toEqual([asked.request_id, consent.consent_id])
    expect(await ids('?status=denied')).toEqual([refused.consent_id])
    expect(await ids('?status=granted')).toEqual([granted.request_id])
    expect(await ids('?status=expired')).toEqual([])
    expect(await ids('?kind=consent')).toEqual([refused.consent_id, consent.consent_id])
    expect(await ids('?kind=permission&status=pending')).toEqual([asked.request_id])
    for (const kind of ['activation', 'workflow', 'budget']) expect(await ids(`?kind=${kind}`)).toEqual([])
    for (const query of ['?status=active', '?kind=other', '?limit=x']) {
      expectRefusal(await person.get(`/approvals${query}`), 400, 'INVALID_INPUT')
    }
  })

  test('comes in pages', async () => {
    verifies('approvals:list:pages')
    const person = await newPerson()
    const made: string[] = []
    const key = await keyWith(person)
    for (const scope of ['profile:read', 'profile:search', 'memory:read', 'billing:read', 'trace:write']) {
      made.unshift((await mustConnect(key, [scope])).consent_id)
    }
    const found: string[] = []
    const sizes: number[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Inbox = await inbox(person, `?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
      found.push(...page.items.map(({ id }) => id))
      sizes.push(page.items.length)
      cursor = page.nextCursor
    }
    expect(found).toEqual(made)
    expect(sizes).toEqual([2, 2, 1])
    expectRefusal(await person.get('/approvals?cursor=made-up'), 400, 'INVALID_INPUT')
  })

  test('is one for all workspaces of the person', async () => {
    verifies('approvals:list:all-workspaces')
    const person = await newPerson()
    const team = await newWorkspace(person, 'Team')
    const there = await mustConnect(await keyWith(person, inWorkspace(team.id)), ['profile:read'])
    const here = await mustConnect(await keyWith(person), ['profile:read'])
    for (const options of [{}, inWorkspace(team.id)]) {
      const { items } = must(await person.get<Inbox>('/approvals', options), 200)
      expect(items.map(({ id, workspace }) => [id, workspace])).toEqual([
        [here.consent_id, { id: person.workspaceId, name: null }],
        [there.consent_id, { id: team.id, name: 'Team' }],
      ])
    }
  })

  test('holds nothing that others have to decide', async () => {
    verifies('approvals:list:own-only')
    const [owner, colleague] = [await newPerson(), await newPerson()]
    const { id } = await newWorkspace(owner)
    await addMember(owner, id, colleague)
    const team = inWorkspace(id)
    const { consent_id } = await mustConnect(await keyWith(owner, team), ['profile:read'])
    expect((await inbox(owner)).items.map(({ id }) => id)).toEqual([consent_id])
    expect((await inbox(colleague)).items).toEqual([])
    expect(must(await colleague.get<Inbox>('/approvals', team), 200).items).toEqual([])
  })

  test('shows what the agent means to do exactly as it said', async () => {
    verifies('approvals:item:action-verbatim')
    const person = await newPerson()
    const key = await keyWith(person)
    const action = {
      summary: '  Read <b>all</b> of it \u202e ',
      tool: 'read_profile',
      args: { deep: [1, null, { 'a b': true }], text: '"\\' },
      diff: '- old\n+ new\n',
      target: 'the profile',
      estimatedCost: 12.5,
      request: { method: 'GET', path: '/api/v1/profile', bodySha256: 'a'.repeat(64) },
    }
    const { request_id } = await mustRequest(key, 'profile:read', {
      action,
      mode: 'one_time',
      reason: ' Why ',
    })
    const [item] = (await inbox(person)).items
    expect(item).toMatchObject({ id: request_id, mode: 'one_time', reason: ' Why ' })
    expect(item?.action).toEqual(action)
    for (const wrong of [{}, { summary: '' }, 'text', { summary: 'x', request: { method: 'GET' } }]) {
      expectRefusal(await request(key, 'profile:read', { action: wrong }), 400, 'INVALID_INPUT')
    }
  })
})

stackOnly('history tells what the same key asked before about the same scope, for thirty days', () => {
  verifies('approvals:item:history')
  return withClock(async (clock) => {
    const person = await newPerson()
    const [key, other] = [await keyWith(person), await keyWith(person)]
    const historyOf = async (id: string) =>
      (await inbox(person)).items.find((item) => item.id === id)?.history
    const first = await mustRequest(key, 'profile:read', { mode: 'one_time' })
    must(await approveRequest(person, first.request_id), 200)
    const second = await mustRequest(key, 'profile:read', { mode: 'one_time' })
    must(await denyRequest(person, second.request_id), 200)
    const third = await mustRequest(key, 'profile:read')
    const unlike = await mustRequest(key, 'billing:read')
    const foreign = await mustRequest(other, 'profile:read')
    expect(await historyOf(third.request_id)).toEqual({ asked: 3, allowed: 1, denied: 1 })
    for (const { request_id } of [unlike, foreign]) {
      expect(await historyOf(request_id)).toEqual({ asked: 1, allowed: 0, denied: 0 })
    }
    await clock.setAhead({ days: 29, hours: 23 })
    // The session is looked up anew, which prolongs it; else it is over with the next step of the clock.
    await credentialsForgotten()
    const later = await mustRequest(key, 'profile:read')
    expect(await historyOf(later.request_id)).toEqual({ asked: 4, allowed: 1, denied: 1 })
    await clock.setAhead({ days: 30, minutes: 1 })
    expect(await historyOf(later.request_id)).toEqual({ asked: 1, allowed: 0, denied: 0 })
  })
})
