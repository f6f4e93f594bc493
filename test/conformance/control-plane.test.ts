import { describe, expect, test } from 'vitest'
import { patienceFor } from '../support/sizes.ts'
import { type HeardSocket, openSocket, tryUpgrade } from '../support/sockets.ts'
import {
  inWorkspace,
  must,
  newKey,
  newPerson,
  newVisitor,
  newWorkspace,
  type Person,
} from './support/actors.ts'
import { type Caller, freshAddress, ownAddresses, pause, type SendOptions } from './support/client.ts'
import { withProcessClock } from './support/clock.ts'
import { approveConsent, denyRequest, mustConnect, mustRequest } from './support/consent.ts'
import { errand, installSkill, mustRun, quick } from './support/executions.ts'
import { expectRefusal, isoPattern } from './support/shapes.ts'
import { installText } from './support/skills.ts'
import { stackOnly } from './support/stack-only.ts'
import { verifies } from './verifies.ts'

async function subscribeUrl(caller: Caller, options?: SendOptions): Promise<string> {
  return must(await caller.get<{ url: string }>('/events/subscribe-url', options), 200).url
}

async function withSocket<T>(url: string, work: (heard: HeardSocket) => Promise<T>): Promise<T> {
  const opened = await openSocket(url)
  try {
    return await work(opened)
  } finally {
    opened.socket.close()
  }
}

/** Something happens in the person's workspace; gives the id by which its event can be told. */
async function makeEvent(person: Person, options?: SendOptions): Promise<string> {
  const key = await newKey(person, { access: 'declared' }, options)
  return (await mustConnect(key)).consent_id
}

async function hears({ heard }: HeardSocket, approvalId: string): Promise<void> {
  await expect
    .poll(() => heard.map((event) => event.approvalId), { timeout: patienceFor(3000), interval: 20 })
    .toContain(approvalId)
}

/** Refusals are counted by address; callers who have but one wait for a window. */
async function upgrade(url: string): ReturnType<typeof tryUpgrade> {
  for (;;) {
    const answer = await tryUpgrade(url, freshAddress())
    if (ownAddresses || answer.status !== 429) return answer
    await pause(Number(answer.retryAfter) * 1000)
  }
}

const changed = (text: string, place: number) =>
  text.slice(0, place) + (text[place] === 'A' ? 'B' : 'A') + text.slice(place + 1)

describe('the address of the event socket', () => {
  test('is answered to a key and to a session', async () => {
    verifies('control-plane:url:answer', 'control-plane:url:expires-300000')
    const person = await newPerson()
    for (const caller of [person, await newKey(person, { scopes: ['agent:list'] })]) {
      const { status, body } = await caller.get('/events/subscribe-url')
      expect(status).toBe(200)
      expect(body).toEqual({ url: expect.stringMatching(/^wss?:\/\/\S+$/), expiresInMs: 300_000 })
    }
    expectRefusal(await newVisitor().get('/events/subscribe-url'), 401, 'UNAUTHORIZED')
  })

  test('opens for a plain client, and stays open', async () => {
    verifies('control-plane:socket:open')
    const person = await newPerson()
    expect((await upgrade(await subscribeUrl(person))).status).toBe(101)
    await withSocket(await subscribeUrl(person), async (opened) => {
      await pause(1500)
      expect(opened.socket.readyState).toBe(WebSocket.OPEN)
      await hears(opened, await makeEvent(person))
    })
  })

  test('opens nothing when any character of what it proves is changed', async () => {
    verifies('control-plane:signature:tampered')
    const url = await subscribeUrl(await newPerson())
    const start = url.indexOf('=', url.indexOf('?')) + 1
    expect(url.length - start).toBeGreaterThan(60)
    for (let place = start; place < url.length; place++) {
      const { status } = await upgrade(changed(url, place))
      expect([place, status]).toEqual([place, 401])
    }
    expect((await upgrade(url)).status).toBe(101)
  })

  stackOnly('can be opened for five minutes', () => {
    verifies('control-plane:signature:five-minutes')
    return withProcessClock(async (setAhead) => {
      const person = await newPerson()
      const [inTime, late] = [await subscribeUrl(person), await subscribeUrl(person)]
      await setAhead(299)
      expect((await upgrade(inTime)).status).toBe(101)
      await setAhead(301)
      expect((await upgrade(late)).status).toBe(401)
      expect((await upgrade(await subscribeUrl(person))).status).toBe(101)
    })
  })

  stackOnly('may run out while the socket is open', () => {
    verifies('control-plane:signature:checked-only-at-upgrade')
    return withProcessClock(async (setAhead) => {
      const person = await newPerson()
      const url = await subscribeUrl(person)
      await withSocket(url, async (opened) => {
        await setAhead(330)
        await pause(1000)
        await hears(opened, await makeEvent(person))
        expect(opened.socket.readyState).toBe(WebSocket.OPEN)
        expect((await upgrade(url)).status).toBe(401)
      })
    })
  })
})

describe('the event socket', () => {
  test('says bare JSON objects', async () => {
    verifies('control-plane:event:bare-json', 'control-plane:event:approvals')
    const person = await newPerson()
    const key = await newKey(person, { scopes: ['agent:list'] })
    const socket = new WebSocket(await subscribeUrl(person))
    const said: unknown[] = []
    socket.addEventListener('message', ({ data }) => said.push(data))
    await new Promise((resolve) => socket.addEventListener('open', resolve))
    const consent = await mustConnect(key, ['profile:read'])
    must(await approveConsent(person, consent.consent_id, ['profile:read']), 200)
    const asked = await mustRequest(key, 'billing:read')
    must(await denyRequest(person, asked.request_id), 200)
    const ofApprovals = () =>
      said.map((text) => JSON.parse(String(text))).filter(({ type }) => type !== 'cache-invalidate')
    await expect.poll(() => ofApprovals().length, { timeout: patienceFor(3000), interval: 20 }).toBe(4)
    socket.close()
    expect(said.every((text) => typeof text === 'string')).toBe(true)
    const event = (type: string, approvalId: string, more: object) => ({
      type,
      id: expect.stringMatching(/./),
      workspaceId: person.workspaceId,
      at: expect.stringMatching(isoPattern),
      approvalId,
      ...more,
    })
    const [forConsent, forRequest] = [{ kind: 'consent' }, { kind: 'permission' }]
    expect(ofApprovals()).toEqual([
      event('approval-requested', consent.consent_id, forConsent),
      event('approval-resolved', consent.consent_id, { ...forConsent, status: 'granted' }),
      event('approval-requested', asked.request_id, forRequest),
      event('approval-resolved', asked.request_id, { ...forRequest, status: 'denied' }),
    ])
    expect(new Set(said.map((text) => JSON.parse(String(text)).id)).size).toBe(said.length)
  })

  test('hears that the library changed', async () => {
    verifies('control-plane:event:cache-invalidate')
    const person = await newPerson()
    await withSocket(await subscribeUrl(await newKey(person)), async ({ heard }) => {
      const event = {
        type: 'cache-invalidate',
        id: expect.stringMatching(/./),
        workspaceId: person.workspaceId,
        at: expect.stringMatching(isoPattern),
        keys: expect.arrayContaining(['skills']),
      }
      const ofSkills = () => heard.filter(({ keys }) => keys?.includes('skills'))
      await installText(person, 'tidy')
      await expect.poll(ofSkills, { timeout: patienceFor(2000), interval: 20 }).toMatchObject([event])
      must(await person.post('/skills/tidy/versions/1/restore'), 200)
      must(await person.post('/skills/tidy/uninstall'), 200)
      await expect
        .poll(ofSkills, { timeout: patienceFor(2000), interval: 20 })
        .toMatchObject([event, event, event])
    })
  })

  test('hears of all else that a person sees, and a stranger of none of it', async () => {
    verifies('control-plane:event:cache-invalidate')
    const [owner, invited, stranger] = [await newPerson(), await newPerson(), await newPerson()]
    const team = inWorkspace((await newWorkspace(owner)).id)
    const [inTeam, ofInvited, ofStranger] = [
      await openSocket(await subscribeUrl(owner, team)),
      await openSocket(await subscribeUrl(invited)),
      await openSocket(await subscribeUrl(stranger)),
    ]
    const hearsOf = (kind: string, { heard }: HeardSocket) =>
      expect
        .poll(() => heard.filter(({ type }) => type === 'cache-invalidate').flatMap(({ keys }) => keys), {
          timeout: patienceFor(2000),
          interval: 20,
        })
        .toContain(kind)
    const files = [{ path: 'a.txt', content: 'a' }]
    must(await owner.post('/artifacts', { type: 'file', files }, team), 201)
    await hearsOf('artifacts', inTeam)
    const key = await newKey(owner, { access: 'declared' }, team)
    await hearsOf('keys', inTeam)
    await mustConnect(key)
    await hearsOf('approvals', inTeam)
    const asked = { email: invited.email, role: 'member' }
    const { id } = must(await owner.post<{ id: string }>('/workspaces/current/members', asked, team), 202)
    await hearsOf('members', inTeam)
    await hearsOf('invitations', ofInvited)
    inTeam.heard.length = 0
    must(await invited.post(`/invitations/${id}/accept`), 200)
    await hearsOf('members', inTeam)
    await hearsOf('workspaces', ofInvited)
    expect(inTeam.heard.map(({ workspaceId }) => `x-workspace-id ${workspaceId}`)).toEqual(
      inTeam.heard.map(() => `x-workspace-id ${team.headers?.['x-workspace-id']}`),
    )
    await installSkill(owner, errand, team)
    inTeam.heard.length = 0
    await mustRun(owner, quick, {}, team)
    for (const kind of ['executions', 'billing']) await hearsOf(kind, inTeam)
    await makeEvent(stranger)
    await expect.poll(() => ofStranger.heard.length, { timeout: patienceFor(2000) }).toBeGreaterThan(0)
    const elsewhere = ofStranger.heard.filter(({ workspaceId }) => workspaceId !== stranger.workspaceId)
    expect(elsewhere).toEqual([])
    for (const { socket } of [inTeam, ofInvited, ofStranger]) socket.close()
  })

  test('hears what its credential may hear, whatever its address says besides', async () => {
    verifies('control-plane:channel:from-credential')
    const [person, other] = [await newPerson(), await newPerson()]
    const values = [other.workspaceId, `workspace:${other.workspaceId}`]
    for (const name of ['workspaceId', 'workspace', 'x-workspace-id', 'channel']) {
      for (const value of values) {
        const url = `${await subscribeUrl(person)}&${name}=${encodeURIComponent(value)}`
        await withSocket(url, async (opened) => {
          await makeEvent(other)
          await hears(opened, await makeEvent(person))
          const workspaces = new Set(opened.heard.map((event) => event.workspaceId))
          expect(workspaces).toEqual(new Set([person.workspaceId]))
        })
      }
    }
  })

  test('of a session hears of approvals in all workspaces of the person, that of a key does not', async () => {
    verifies('control-plane:approvals:follow-the-person')
    const person = await newPerson()
    const team = inWorkspace((await newWorkspace(person)).id)
    const ofSession = await openSocket(await subscribeUrl(person))
    const ofKey = await openSocket(await subscribeUrl(await newKey(person)))
    const there = await makeEvent(person, team)
    const here = await makeEvent(person)
    for (const opened of [ofSession, ofKey]) await hears(opened, here)
    const ids = ({ heard }: HeardSocket) => heard.flatMap((event) => event.approvalId ?? [])
    expect(ids(ofSession)).toEqual([there, here])
    expect(ids(ofKey)).toEqual([here])
    for (const { socket } of [ofSession, ofKey]) socket.close()
  })

  test('ends with its credential', async () => {
    verifies('control-plane:revocation:closes')
    const person = await newPerson()
    const [key, other] = [await newKey(person), await newKey(person)]
    const url = await subscribeUrl(key)
    const [opened, untouched] = [
      await openSocket(await subscribeUrl(key)),
      await openSocket(await subscribeUrl(other)),
    ]
    must(await person.delete(`/keys/${key.id}`), 200)
    const end = await Promise.race([opened.closed, pause(patienceFor(3000))])
    expect(end).toMatchObject({ code: expect.any(Number) })
    expect((await upgrade(url)).status).toBe(401)
    expect(untouched.socket.readyState).toBe(WebSocket.OPEN)
    untouched.socket.close()
    const ofSession = await openSocket(await subscribeUrl(person))
    must(await person.post('/auth/sign-out'), 200)
    expect(await Promise.race([ofSession.closed, pause(patienceFor(3000))])).toMatchObject({
      code: expect.any(Number),
    })
  })
})
