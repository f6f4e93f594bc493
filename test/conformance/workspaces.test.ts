import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  inWorkspace,
  type NewKeyRecord,
  newEmail,
  newKey,
  newPerson,
  newWorkspace,
  type Workspace,
} from './support/actors.ts'
import type { Caller } from './support/client.ts'
import { publishedRoutes } from './support/published.ts'
import { expectRefusal, isoPattern, uuidPattern } from './support/shapes.ts'
import { verifies } from './verifies.ts'

async function currentOf(caller: Caller): Promise<string | undefined> {
  return (await caller.get<Workspace[]>('/workspaces')).body.find(({ current }) => current)?.id
}

describe('the workspaces of a person', () => {
  test('are one from the first sign-in on, the personal one', async () => {
    verifies('workspaces:user:one-or-more')
    const person = await newPerson()
    expect(person.signedIn.workspaces).toMatchObject([{ kind: 'personal' }])
    expect((await person.get('/workspaces')).body).toMatchObject([{ kind: 'personal' }])
  })

  test('are listed bare, one of them current', async () => {
    verifies('workspaces:list:fields')
    const person = await newPerson()
    await newWorkspace(person, 'Cartographers')
    const { status, body } = await person.get<Workspace[]>('/workspaces')
    expect(status).toBe(200)
    expect(body).toHaveLength(2)
    for (const item of body) {
      expect(item).toMatchObject({
        id: expect.stringMatching(uuidPattern),
        kind: expect.stringMatching(/^(personal|team)$/),
        role: expect.stringMatching(/./),
        createdAt: expect.stringMatching(isoPattern),
        current: expect.any(Boolean),
      })
    }
    expect(body.map(({ name }) => name).sort()).toEqual(['Cartographers', null])
    expect(body.filter(({ current }) => current)).toHaveLength(1)
  })
})

describe('making a workspace', () => {
  test('answers it, and its maker may act there', async () => {
    verifies('workspaces:create:201')
    const person = await newPerson()
    const { status, body } = await person.post<Workspace>('/workspaces', { name: 'Cartographers' })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      id: expect.stringMatching(uuidPattern),
      name: 'Cartographers',
      kind: 'team',
    })
    const listed = await person.get<Workspace[]>('/workspaces', inWorkspace(body.id))
    expect(listed.status).toBe(200)
    expect(listed.body.find(({ current }) => current)?.id).toBe(body.id)
  })

  test('twice under one Idempotency-Key makes one', async () => {
    verifies('workspaces:create:idempotent')
    const person = await newPerson()
    const options = { headers: { 'idempotency-key': randomUUID() } }
    const first = await person.post<Workspace>('/workspaces', { name: 'Once' }, options)
    const repeat = await person.post<Workspace>('/workspaces', { name: 'Once' }, options)
    expect(first.status).toBe(201)
    expect([repeat.status, repeat.body]).toEqual([first.status, first.body])
    expectRefusal(await person.post('/workspaces', { name: 'Other' }, options), 409, 'CONFLICT')
    expect((await person.get<Workspace[]>('/workspaces')).body.map(({ name }) => name)).toEqual([
      null,
      'Once',
    ])
  })

  test('many times at once under one Idempotency-Key makes one', async () => {
    verifies('workspaces:create:idempotent')
    const person = await newPerson()
    const options = { headers: { 'idempotency-key': randomUUID() } }
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => person.post<Workspace>('/workspaces', { name: 'Once' }, options)),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect((await person.get<Workspace[]>('/workspaces')).body).toHaveLength(2)
  })
})

describe('which workspace a request acts in', () => {
  test('a session says with x-workspace-id, for that request', async () => {
    verifies('workspaces:header:selects-for-session')
    const person = await newPerson()
    const [first, second] = [await newWorkspace(person, 'First'), await newWorkspace(person, 'Second')]
    for (const { id } of [first, second]) {
      const { body } = await person.post<NewKeyRecord>('/keys', { label: 'There' }, inWorkspace(id))
      expect(body.workspace.id).toBe(id)
    }
    const { body } = await person.post<NewKeyRecord>('/keys', { label: 'Here' })
    expect(body.workspace.id).toBe(person.workspaceId)
  })

  test('a session sets for all later requests', async () => {
    verifies('workspaces:current:put-session')
    const person = await newPerson()
    const team = await newWorkspace(person, 'Cartographers')
    const answer = await person.put('/workspaces/current', { workspaceId: team.id })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ success: true, workspace: { id: team.id, name: 'Cartographers' } })
    expect(await currentOf(person)).toBe(team.id)
    expect((await newKey(person)).record.workspace.id).toBe(team.id)
  })

  test('a session cannot set to one it is not in', async () => {
    verifies('workspaces:current:put-session')
    const [person, other] = [await newPerson(), await newPerson()]
    for (const workspaceId of [other.workspaceId, randomUUID()]) {
      expectRefusal(await person.put('/workspaces/current', { workspaceId }), 403, 'FORBIDDEN')
    }
    expect(await currentOf(person)).toBe(person.workspaceId)
  })

  test('a key cannot change', async () => {
    verifies('workspaces:current:put-key')
    const person = await newPerson()
    const team = await newWorkspace(person)
    const key = await newKey(person)
    const own = await key.put('/workspaces/current', { workspaceId: person.workspaceId })
    expect(own.status).toBe(200)
    expect(own.body).toMatchObject({ success: true, workspace: { id: person.workspaceId, name: null } })
    for (const workspaceId of [team.id, randomUUID()]) {
      const refusal = expectRefusal(await key.put('/workspaces/current', { workspaceId }), 409, 'CONFLICT')
      expect(refusal.message).toBe('Key is bound to a workspace')
    }
    expect(await currentOf(key)).toBe(person.workspaceId)
  })

  test('never stands in a path', async () => {
    verifies('workspaces:path:never-in-path')
    const routes = await publishedRoutes()
    expect(routes.length).toBeGreaterThan(20)
    const named = routes.filter(({ pathParameters }) =>
      pathParameters.some((name) => /workspace/i.test(name)),
    )
    expect(named).toEqual([])
    const below = routes.filter(({ path }) => /\/workspaces\/\{/.test(path))
    expect(below).toEqual([])
    const person = await newPerson()
    for (const path of [`/workspaces/${person.workspaceId}`, `/workspaces/${person.workspaceId}/members`]) {
      expectRefusal(await person.get(path), 404, 'NOT_FOUND')
    }
  })
})

describe('an invitation', () => {
  interface Invitation {
    id: string
    email: string
  }
  const invite = (owner: Caller, workspaceId: string, email: string) =>
    owner.post<Invitation>('/workspaces/current/members', { email }, inWorkspace(workspaceId))
  const invitationsOf = async (person: Caller) =>
    (await person.get<{ items: Invitation[] }>('/invitations')).body.items

  test('is answered alike for an address that somebody has and one that nobody has', async () => {
    verifies('workspaces:invitations:answer-alike')
    const [owner, known] = [await newPerson(), await newPerson()]
    const { id } = await newWorkspace(owner)
    const answers = [await invite(owner, id, known.email), await invite(owner, id, newEmail())]
    expect(answers.map(({ status }) => status)).toEqual([202, 202])
    const [forKnown, forNobody] = answers.map(({ body }) => body)
    expect(Object.keys(forNobody ?? {})).toEqual(Object.keys(forKnown ?? {}))
    const members = await owner.get<{ items: object[] }>('/workspaces/current/members', inWorkspace(id))
    expect(members.body.items).toHaveLength(1)
    expectRefusal(await known.get('/skills', inWorkspace(id)), 403, 'FORBIDDEN')
  })

  test('is accepted or declined by whom it is for, once', async () => {
    verifies('workspaces:invitations:accept-decline')
    const [owner, joining, declining] = [await newPerson(), await newPerson(), await newPerson()]
    const { id: workspaceId } = await newWorkspace(owner)
    for (const [person, verb, status] of [
      [joining, 'accept', 200],
      [declining, 'decline', 403],
    ] as const) {
      const { id } = (await invite(owner, workspaceId, person.email)).body
      expect(await invitationsOf(person)).toMatchObject([{ id }])
      expectRefusal(await owner.post(`/invitations/${id}/${verb}`), 404, 'NOT_FOUND')
      expect((await person.post(`/invitations/${id}/${verb}`)).status).toBe(200)
      expectRefusal(await person.post(`/invitations/${id}/${verb}`), 404, 'NOT_FOUND')
      expect(await invitationsOf(person)).toEqual([])
      expect((await person.get('/skills', inWorkspace(workspaceId))).status).toBe(status)
    }
  })
})
