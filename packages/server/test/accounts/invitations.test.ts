import { randomUUID } from 'node:crypto'
import {
  invitationLifetimeSeconds,
  invitationsPerInviter,
  invitationsPerWorkspace,
} from '@guildhall/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { openSocket, socketUrl } from '../../../../test/support/sockets.ts'
import { createDatabase, type House, openHouse, shiftClock } from '../support/house.ts'

let databaseUrl: string
let house: House
let other: House
let owner: Person

beforeAll(async () => {
  databaseUrl = await createDatabase()
  house = await openHouse({ DATABASE_URL: databaseUrl })
  other = await openHouse({ DATABASE_URL: databaseUrl })
  owner = await house.newPerson()
})

afterAll(() => Promise.all([house.close(), other.close()]))

const members = '/api/v1/workspaces/current/members'
const nobody = () => `nobody-${randomUUID()}@example.test`
const within = (workspaceId: string) => ({ 'x-workspace-id': workspaceId })

function invite(team: string, email: string, role?: string, by = owner): Promise<Answer> {
  return house.call('POST', members, { token: by.token, headers: within(team), body: { email, role } })
}

async function mustInvite(team: string, email: string, role?: string): Promise<string> {
  const answer = await invite(team, email, role)
  expect(answer.status, answer.text).toBe(202)
  return answer.body.id
}

const invitationsOf = async ({ token }: Person) =>
  (await house.call('GET', '/api/v1/invitations', { token })).body.items
const answerTo = (id: string, verb: 'accept' | 'decline', { token }: Person, at = house) =>
  at.call('POST', `/api/v1/invitations/${id}/${verb}`, { token })
const pendingOf = (team: string, { token } = owner) =>
  house.call('GET', '/api/v1/workspaces/current/invitations', { token, headers: within(team) })
const withdraw = (team: string, id: string, { token } = owner, at = house) =>
  at.call('DELETE', `/api/v1/workspaces/current/invitations/${id}`, { token, headers: within(team) })
const rolesOf = async (team: string) => {
  const answer = await house.call('GET', members, { token: owner.token, headers: within(team) })
  return Object.fromEntries(
    answer.body.items.map(({ userId, role }: { userId: string; role: string }) => [userId, role]),
  )
}
const activityOf = async (team: string): Promise<{ type: string }[]> =>
  (await house.call('GET', '/api/v1/activity?limit=100', { token: owner.token, headers: within(team) })).body
    .items

test('the answer is the same for an address that somebody has and one that nobody has', async () => {
  const team = await house.newTeam(owner)
  const known = await house.newPerson()
  const shapes = []
  for (const email of [known.email, nobody()]) {
    const { status, body, headers } = await invite(team, email)
    expect(body.email).toBe(email)
    const names = [...headers.keys()].filter((name) => !/^(x-request-id|content-length|date)$/.test(name))
    shapes.push({
      status,
      fields: Object.keys(body),
      types: Object.values(body).map((value) => typeof value),
      names,
    })
  }
  expect(shapes[0]?.status).toBe(202)
  expect(shapes[1]).toEqual(shapes[0])
})

test('nothing of a workspace reaches whoever has not accepted', async () => {
  const team = await house.newTeam(owner, 'Lure')
  const invited = await house.newPerson()
  const socket = await openSocket(await socketUrl(house, { token: invited.token }))
  const id = await mustInvite(team, invited.email)
  house.bus.publish({ type: 'approval-requested', workspaceId: team, kind: 'workflow' })
  const { token } = invited
  for (const path of ['/workspaces', '/approvals', '/activity', '/workflows/runs', '/executions']) {
    const { text, status } = await house.call('GET', `/api/v1${path}`, { token })
    expect(status).toBe(200)
    expect(text).not.toContain(team)
    expect(text).not.toContain('Lure')
  }
  expect((await house.call('GET', '/api/v1/skills', { token, headers: within(team) })).status).toBe(403)
  // Of theirs they are told, as of where they listen.
  const told = { type: 'cache-invalidate', keys: ['invitations'], workspaceId: invited.workspaceId }
  expect(socket.heard).toEqual([expect.objectContaining(told)])
  socket.socket.close()
  const accepted = await answerTo(id, 'accept', invited)
  expect(accepted.body).toEqual({ success: true, workspace: { id: team, name: 'Lure' } })
  expect((await house.call('GET', '/api/v1/skills', { token, headers: within(team) })).status).toBe(200)
  expect(await rolesOf(team)).toMatchObject({ [invited.userId]: 'member' })
  expect(await invitationsOf(invited)).toEqual([])
  expect((await activityOf(team)).map(({ type }) => type).slice(0, 3)).toEqual([
    'member.added',
    'invitation.accepted',
    'invitation.created',
  ])
  expect(JSON.stringify(await activityOf(team))).not.toContain(invited.email)
})

test('what the invited person is shown is printable and bounded, whatever the inviter is called', async () => {
  const team = await house.newTeam(owner)
  // As one could be called before names were looked at.
  const name = `\u202eevil\u0007\u200b${'x'.repeat(110)}`
  await house.deps.database.db.updateTable('workspaces').set({ name }).where('id', '=', team).execute()
  const invited = await house.newPerson()
  await mustInvite(team, ` ${invited.email.toUpperCase()} `, 'owner')
  const [shown] = await invitationsOf(invited)
  expect(Object.keys(shown).sort()).toEqual([
    'createdAt',
    'expiresAt',
    'id',
    'invitedBy',
    'role',
    'workspace',
  ])
  expect(shown).toMatchObject({ role: 'owner', invitedBy: { email: owner.email } })
  expect(shown.workspace.name).toMatch(/^evil x+$/)
  expect(shown.workspace.name.length).toBeLessThanOrEqual(120)
})

test('is for the person with that verified address and for nobody else', async () => {
  const team = await house.newTeam(owner)
  const [invited, stranger] = [await house.newPerson(), await house.newPerson()]
  const id = await mustInvite(team, invited.email)
  expect(await invitationsOf(stranger)).toEqual([])
  for (const verb of ['accept', 'decline'] as const) {
    const foreign = await answerTo(id, verb, stranger)
    const unknown = await answerTo(randomUUID(), verb, stranger)
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
  }
  const { db } = house.deps.database
  const setVerified = (email_verified: boolean) =>
    db.updateTable('users').set({ email_verified }).where('id', '=', invited.userId).execute()
  await setVerified(false)
  expect(await invitationsOf(invited)).toEqual([])
  expect((await answerTo(id, 'accept', invited)).status).toBe(404)
  await setVerified(true)
  const key = await house.newKey(invited)
  for (const path of ['/api/v1/invitations', '/api/v1/workspaces/current/invitations']) {
    expect((await house.call('GET', path, { key: key.secret })).status).toBe(403)
  }
  expect((await answerTo(id, 'accept', invited)).status).toBe(200)
})

test('only owners invite, see whom they have invited, and withdraw', async () => {
  const team = await house.newTeam(owner)
  const [member, invited] = [await house.newPerson(), await house.newPerson()]
  await house.addMember(owner, team, member)
  const id = await mustInvite(team, invited.email)
  expect((await pendingOf(team)).body.items).toMatchObject([{ id, email: invited.email, role: 'member' }])
  for (const answer of [
    await pendingOf(team, member),
    await withdraw(team, id, member),
    await invite(team, nobody(), 'member', member),
  ]) {
    expect(answer.status, answer.text).toBe(403)
  }
  const elsewhere = await house.newTeam(owner)
  expect((await withdraw(elsewhere, id)).status).toBe(404)
  expect((await withdraw(team, id)).status).toBe(200)
  expect((await withdraw(team, id)).status).toBe(404)
  expect((await answerTo(id, 'accept', invited)).status).toBe(404)
  expect((await pendingOf(team)).body.items).toEqual([])
  expect((await invite(owner.workspaceId, nobody())).status).toBe(409)
  for (const email of ['nobody', 'two @example.test', 'a@b@c']) {
    expect((await invite(team, email)).status).toBe(400)
  }
})

test('equal ones share a row, and they are bounded', async () => {
  const team = await house.newTeam(owner)
  const invited = await house.newPerson()
  const ids = await Promise.all(Array.from({ length: 8 }, () => mustInvite(team, invited.email)))
  expect(new Set(ids).size).toBe(1)
  expect(await mustInvite(team, invited.email, 'owner')).toBe(ids[0])
  expect(await invitationsOf(invited)).toMatchObject([{ role: 'owner' }])
  const teams = await Promise.all(Array.from({ length: invitationsPerInviter }, () => house.newTeam(owner)))
  const answers = await Promise.all(teams.map((one) => invite(one, invited.email)))
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(1)
  expect(await invitationsOf(invited)).toHaveLength(invitationsPerInviter)
  const full = await house.newTeam(owner)
  await house.deps.database.db
    .insertInto('invitations')
    .values(
      Array.from({ length: invitationsPerWorkspace }, () => ({
        workspace_id: full,
        email: nobody(),
        role: 'member' as const,
        invited_by: owner.userId,
        expires_at: new Date(Date.now() + 60_000),
      })),
    )
    .execute()
  const refused = await invite(full, nobody())
  expect([refused.status, refused.body.error.details]).toEqual([409, { limit: invitationsPerWorkspace }])
})

test('ends with its time, and with the rights of whoever made it', async () => {
  const team = await house.newTeam(owner)
  const [second, invited, late] = [await house.newPerson(), await house.newPerson(), await house.newPerson()]
  expect((await answerTo(await mustInvite(team, second.email, 'owner'), 'accept', second)).status).toBe(200)
  const id = (await invite(team, invited.email, 'owner', second)).body.id
  await house.call('DELETE', `${members}/${second.userId}`, { token: owner.token, headers: within(team) })
  expect(await invitationsOf(invited)).toEqual([])
  expect((await answerTo(id, 'accept', invited)).status).toBe(404)
  const lateId = await mustInvite(team, late.email)
  try {
    await shiftClock(databaseUrl, invitationLifetimeSeconds + 1)
    expect(await invitationsOf(late)).toEqual([])
    expect((await answerTo(lateId, 'accept', late)).status).toBe(404)
    expect((await pendingOf(team)).body.items).toEqual([])
    const sweep = house.sweeps.find(({ table }) => table === 'invitations')
    expect(await sweep?.run()).toBeGreaterThan(0)
  } finally {
    await shiftClock(databaseUrl, 0)
  }
})

test('of accepting, declining and withdrawing at once one takes effect', async () => {
  const team = await house.newTeam(owner)
  const wins: Record<string, number> = {}
  for (let round = 0; round < 30; round++) {
    const invited = await house.newPerson()
    const id = await mustInvite(team, invited.email)
    const [first, second] = round % 2 === 0 ? [house, other] : [other, house]
    const answers = await Promise.all([
      answerTo(id, 'accept', invited, first),
      answerTo(id, 'accept', invited, second),
      answerTo(id, 'decline', invited, second),
      withdraw(team, id, owner, first),
    ])
    const winners = answers.flatMap(({ status }, index) => (status === 200 ? [index] : []))
    expect(winners, answers.map(({ text }) => text).join()).toHaveLength(1)
    const accepted = (winners[0] ?? 9) < 2
    expect(invited.userId in (await rolesOf(team))).toBe(accepted)
    wins[accepted ? 'accepted' : 'ended'] = (wins[accepted ? 'accepted' : 'ended'] ?? 0) + 1
  }
  const lines = (await activityOf(team)).filter(({ type }) => type === 'invitation.accepted')
  expect(lines).toHaveLength(wins['accepted'] ?? 0)
}, 60_000)
