import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HeardSocket, openSocket, socketUrl } from '../../../../test/support/sockets.ts'
import { createDatabase, type House, newTeamWith, openHouse } from '../support/house.ts'

let house: House

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase(), TRUSTED_PROXIES: '127.0.0.0/8' })
})

afterAll(() => house.close())

const lookUp = (token: string, code: string, headers = {}) =>
  house.call('GET', `/api/v1/activate/lookup?code=${code}`, { token, headers })
const decide = (token: string, verb: 'confirm' | 'deny', body: object) =>
  house.call('POST', `/api/v1/activate/${verb}`, { token, body })
const approvalsOf = ({ heard }: HeardSocket) => heard.filter(({ type }) => type.startsWith('approval-'))
const listed = async (token: string, headers = {}) =>
  (await house.call('GET', '/api/v1/approvals', { token, headers })).body.items

test("only the person's own sessions hear of a pairing, wherever they are, and each once", async () => {
  const [ann, bob] = [await house.newPerson(), await house.newPerson()]
  const team = await newTeamWith(house, ann, bob)
  const inTeam = { 'x-workspace-id': team }
  const key = await house.newKey(ann, { scopes: ['agent:list'] })
  const sockets = await Promise.all(
    [
      { token: ann.token },
      { token: ann.token, headers: inTeam },
      { token: bob.token },
      { token: bob.token, headers: inTeam },
      { key: key.secret },
    ].map(async (who) => openSocket(await socketUrl(house, who))),
  )
  const { userCode: code } = await house.newCode()
  const { approval_id: approvalId } = (await lookUp(ann.token, code, inTeam)).body
  // To look again is nothing new.
  await lookUp(ann.token, code)
  await decide(ann.token, 'confirm', { code, access: 'declared' })
  const words = [
    { type: 'approval-requested', approvalId, kind: 'activation' },
    { type: 'approval-resolved', approvalId, kind: 'activation', status: 'granted' },
  ]
  for (const own of sockets.slice(0, 2)) await expect.poll(() => approvalsOf(own)).toMatchObject(words)
  // Said last, so that whatever else was said has been heard.
  const other = (await house.newCode()).userCode
  await lookUp(bob.token, other)
  await decide(bob.token, 'deny', { code: other })
  for (const foreign of sockets.slice(2, 4)) {
    await expect
      .poll(() => approvalsOf(foreign))
      .toMatchObject([{ type: 'approval-requested' }, { type: 'approval-resolved', status: 'denied' }])
    expect(JSON.stringify(foreign.heard)).not.toContain(`"${approvalId}"`)
  }
  for (const own of sockets.slice(0, 2)) expect(approvalsOf(own)).toHaveLength(2)
  expect(sockets[4]?.heard).toEqual([])
  for (const { socket } of sockets) socket.close()
})

test('a wrong number is said to be a no', async () => {
  const person = await house.newPerson()
  const heard = await openSocket(await socketUrl(house, { token: person.token }))
  const started = await house.call('POST', '/api/v1/activate', { body: { number_match: true } })
  const { user_code: code, match } = started.body
  const { match_choices } = (await lookUp(person.token, code)).body
  const wrong = match_choices.find((choice: string) => choice !== match)
  expect((await decide(person.token, 'confirm', { code, access: 'declared', match: wrong })).status).toBe(403)
  await expect.poll(() => approvalsOf(heard)).toMatchObject([{}, { status: 'denied' }])
  heard.socket.close()
})

test('the inbox shows what a device says it is, and from where', async () => {
  const person = await house.newPerson()
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const started = await house.call('POST', '/api/v1/activate', {
    headers: { ...from('203.0.113.9'), 'x-client-label': 'bot on build-7', 'user-agent': 'bot/1.0' },
  })
  await lookUp(person.token, started.body.user_code)
  const client = { label: 'bot on build-7', ua: 'bot/1.0', ip: '203.0.113.9' }
  const [there] = await listed(person.token, from('203.0.113.9'))
  expect(there).toMatchObject({ kind: 'activation', times: 1, client: { ...client, same_network: true } })
  const [elsewhere] = await listed(person.token, from('198.51.100.1'))
  expect(elsewhere.client).toEqual({ ...client, same_network: false })
})

test('who comes second to a code is told who was first when it was themselves, and nothing of others', async () => {
  const [ann, bob] = [await house.newPerson(), await house.newPerson()]
  const { userCode: code } = await house.newCode()
  await lookUp(ann.token, code)
  const [first, second] = [
    await decide(ann.token, 'deny', { code }),
    await decide(ann.token, 'confirm', { code, access: 'declared' }),
  ]
  expect([first.status, second.status]).toEqual([200, 409])
  expect(second.body.error.details).toMatchObject({
    status: 'denied',
    decided_at: expect.any(String),
    decided_by: { user_id: ann.userId, you: true, device: { current: true } },
  })
  const [item] = await listed(ann.token)
  expect(item).toMatchObject({ status: 'denied', decided_by: second.body.error.details.decided_by })
  const foreign = await decide(bob.token, 'deny', { code })
  expect(foreign.body.error.details).toEqual({ status: 'denied', decided_at: null, decided_by: null })
  expect(await listed(bob.token)).toEqual([])
})
