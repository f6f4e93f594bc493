import { createHash } from 'node:crypto'
import { anySkill, type Route, routes } from '@guildhall/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createGrants } from '#access/consent/consent.ts'
import type { Access } from '#operations/access.ts'
import type { Authority } from '#operations/authority.ts'
import type { Call } from '#operations/bind.ts'
import { toOperations } from '#operations/operation.ts'
import { createPerform } from '#operations/perform.ts'
import type { Answer, Caller, Person } from '../../../../test/support/caller.ts'
import { isProof } from '../../../../test/support/sizes.ts'
import { innerCaller } from '../support/inner-caller.ts'
import { bearer, grantToken } from '../support/oauth.ts'
import { readingCase, readingRoutes } from '../support/reading-cases.ts'
import { openTwins, type Twins, withoutLots } from '../support/twin-stages.ts'
import { sendBy, writingCase, writingRoutes } from '../support/writing-cases.ts'
import { by, newOAuthClient, type Stage, type WritingCall } from '../support/writing-stage.ts'

/**
 * Every route of the contract, called over HTTP on one stage and without it on another that began with the same records:
 * the answer is the same, the refusal is the same, and so is what is left behind.
 */
let twins: Twins
let overHttp: Side
let inside: Side

interface Side {
  readonly stage: Stage
  readonly caller: Pick<Caller, 'call'>
}

beforeAll(async () => {
  twins = await openTwins()
  overHttp = { stage: twins.first, caller: twins.first.house }
  inside = { stage: twins.second, caller: innerCaller(twins.second.house) }
})

afterAll(() => twins?.close())

/** Plays the same on both sides, which answer alike. */
async function expectAlike(play: (side: Side) => Promise<Answer>): Promise<Answer> {
  const [expected, found] = await Promise.all([play(overHttp), play(inside)])
  expect([found.status, withoutDrawn(found.text)]).toEqual([expected.status, withoutDrawn(expected.text)])
  return found
}

/** A case that is made anew once it had an effect: what is refused leaves it as good as it was. */
function makingAgain(make: (stage: Stage) => Promise<WritingCall>) {
  const made = new Map<Side, WritingCall>()
  return {
    async alike(play: (side: Side, call: WritingCall) => Promise<Answer>): Promise<void> {
      const answer = await expectAlike(async (side) => {
        const call = made.get(side) ?? (await make(side.stage))
        made.set(side, call)
        return play(side, call)
      })
      if (answer.status < 400) made.clear()
    },
  }
}

/** What was played has left the same behind on both sides. */
async function leavingAlike(play: () => Promise<void>): Promise<void> {
  const before = await twins.lastDifferences()
  await play()
  await twins.expectNoneBut(before)
}

/** Times, secrets and numbers that stand for rows. */
function withoutDrawn(text: string): string {
  return withoutLots(text)
    .replace(/"timestamp":\d+/g, '<time>')
    .replace(/\b[A-Za-z]+_(?:live|test)_[A-Za-z0-9]+/g, '<secret>')
    .replace(/"[A-Za-z0-9_-]{22,}(?:\.[A-Za-z0-9_.-]+)?"/g, '"<drawn>"')
    .replace(/((?:token|ticket|code|code_challenge|state|nonce)=)[^"&]+/g, '$1<drawn>')
    .replace(/"(?:hint|expires_in|expiresIn)":(?:"[^"]*"|\d+)/g, '"<drawn>"')
}

/** The operator's token is HTTP's: whoever performs has none. */
const called = writingRoutes.filter(({ route }) => route.audience !== 'operator')

const hasBody = ({ route }: { route: Route }) => route.body !== undefined && !route.optionalBody

/** What they refuse is compared for every route in a proof; the gate has every eighth. */
const refusing = (name: string) =>
  test.skipIf(!isProof && called.findIndex((route) => route.name === name) % 8 !== 0)

describe.each(called)('$name', ({ name, route }) => {
  const make = writingCase(name)

  test('does the same', () =>
    leavingAlike(async () => {
      const answer = await expectAlike(async ({ stage, caller }) => sendBy(caller, route, await make(stage)))
      expect(answer.status, answer.text).toBeLessThan(500)
    }))

  refusing(name)('refuses the same: what is malformed, what never was', async () => {
    const cases: ((call: WritingCall) => WritingCall)[] = [
      ...(hasBody({ route }) ? [(call: WritingCall) => ({ ...call, body: 12 })] : []),
      ...(hasBody({ route }) ? [(call: WritingCall) => ({ ...call, body: {} })] : []),
      (call) => ({ ...call, body: { ...(call.body as object), 'a\u0000b': 'a\u0000b' } }),
      (call) => ({
        ...call,
        params: Object.fromEntries(Object.keys(call.params ?? {}).map((field) => [field, 'never-was'])),
      }),
    ]
    await leavingAlike(async () => {
      const made = makingAgain(make)
      for (const change of cases) {
        await made.alike(async ({ caller }, call) => sendBy(caller, route, change(call)))
      }
    })
  })

  refusing(name)('does or refuses the same for other credentials', () =>
    leavingAlike(async () => {
      const made = makingAgain(make)
      for (const credential of others) {
        await made.alike(async ({ stage, caller }, call) =>
          sendBy(caller, route, heldBy(call, await credentialOf(stage, credential))),
        )
      }
      if (route.audience === 'public') return
      // An app that the case's own person let in: good, repeated where that can be, malformed.
      const answer = await expectAlike(async ({ stage, caller }) => {
        const made = await throughApp(stage, await make(stage))
        const headers = { ...made.headers, ...(route.creates && { 'idempotency-key': `app-${name}` }) }
        const again = route.creates ? [made] : []
        const calls = [made, ...again, { ...made, body: 12 }].map((call) => ({ ...call, headers }))
        return oneAfterAnother(calls.map((call) => () => sendBy(caller, route, call)))
      })
      expect(answer.status, answer.text).not.toBe(401)
      if (route.audience !== 'credential') expect(answer.status, answer.text).toBe(403)
    }),
  )

  if (route.creates) {
    test('repeats the same under one key, and refuses another request under it', () =>
      leavingAlike(async () => {
        await expectAlike(async ({ stage, caller }) => {
          const made = await make(stage)
          const call = { ...made, headers: { ...made.headers, 'idempotency-key': `of-${name}` } }
          const another = { ...call, body: { ...(call.body as object), label: 'b' } }
          const answers = [call, call, another].map((each) => () => sendBy(caller, route, each))
          return oneAfterAnother(answers)
        })
      }))
  }

  const [scope] = route.scopes ?? []
  if (scope && route.audience === 'credential') {
    test('spends the same grant, which is bound to the exact request, once', () =>
      leavingAlike(async () => {
        const answer = await expectAlike(async ({ stage, caller }) => {
          const { token, ...made } = await make(stage)
          const person = await ownerOf(stage, token ?? '')
          // An artifact is named only by who may read it.
          const names = Object.hasOwn((made.body as object | undefined) ?? {}, 'artifactId')
          const scopes = ['profile:read', ...(names ? ['workspace:files:read'] : [])]
          const { id, secret } = await stage.house.newKey(person, { scopes })
          await bindGrant(stage, { keyId: id, person, scope, route, made })
          const call = { ...made, key: secret }
          return oneAfterAnother([call, call].map((each) => () => sendBy(caller, route, each)))
        })
        // What only a person may answer is refused to any key, and spends nothing.
        if (answer.text.includes('for a person to answer')) return
        expect(answer.status, answer.text).not.toBe(403)
        expect(answer.text).toContain('\n403 ')
      }))
  }
})

async function oneAfterAnother(calls: readonly (() => Promise<Answer>)[]): Promise<Answer> {
  const answers: Answer[] = []
  for (const call of calls) answers.push(await call())
  const [first] = answers
  if (!first) throw new Error('nothing was called')
  return { ...first, text: answers.map(({ status, text }) => `${status} ${text}`).join('\n') }
}

async function bindGrant(
  stage: Stage,
  grant: { keyId: number; person: Person; scope: string; route: Route; made: WritingCall },
): Promise<void> {
  const { keyId, person, scope, route, made } = grant
  const path = route.path.replace(/:(\w+)/g, (_text, field) => made.params?.[field] ?? '')
  const sent = made.body === undefined ? '' : JSON.stringify(made.body)
  const hash = createHash('sha256').update(sent).digest('hex')
  await twinOf(stage).client.query(
    `insert into grants (key_id, workspace_id, scope, mode, expires_at, bound_method, bound_path, bound_body_sha256)
     values ($1, $2, $3, 'one_time', guild_now() + interval '5 minutes', $4, $5, $6)`,
    [keyId, person.workspaceId, granted(scope, made.params), route.method, path, hash],
  )
}

const twinOf = (stage: Stage) => (stage === twins.first ? twins.first : twins.second)

function granted(scope: string, params: WritingCall['params']): string {
  if (scope === anySkill) return 'tool:execute'
  return scope.replace(/\{(\w+)\}/g, (_text, field) => params?.[field] ?? '')
}

/** Whose session the case is played with. */
async function ownerOf(stage: Stage, token: string): Promise<Person> {
  const { body } = await stage.house.call('GET', '/api/v1/auth/session', { token })
  const { body: workspaces } = await stage.house.call('GET', '/api/v1/workspaces', { token })
  const own = workspaces.items ?? workspaces
  return { token, userId: body.user.id, workspaceId: own[0].id, email: body.user.email }
}

/** The same call by an app of the person whose session it is; a case that a key plays is another person's. */
async function throughApp(stage: Stage, { token, key: _key, ...call }: WritingCall): Promise<WritingCall> {
  const person = token === undefined ? await stage.newPerson() : await ownerOf(stage, token)
  const { 'x-workspace-id': workspaceId = person.workspaceId, ...headers } = call.headers ?? {}
  const app = { id: await newOAuthClient(stage, person) }
  const granted = await grantToken(stage.house, app, { userId: person.userId, workspaceId })
  return { ...call, headers: { ...headers, ...bearer(granted.token).headers } }
}

const others = ['narrow', 'waiting', 'revoked', 'app', 'ended app', 'nobody', 'stranger'] as const
type Credential = Pick<WritingCall, 'key' | 'token' | 'headers'>
const credentials = new Map<string, Credential>()

/** Made once on each side; a stranger's session is another each time, because some calls end it. */
async function credentialOf(stage: Stage, which: (typeof others)[number]): Promise<Credential> {
  if (which === 'nobody') return {}
  if (which === 'stranger') return { token: (await stage.newPerson()).token }
  const name = `${stage === twins.first} ${which}`
  const known = credentials.get(name)
  if (known) return known
  const made =
    which === 'app' || which === 'ended app'
      ? await appOf(stage, which === 'ended app')
      : { key: await keyOf(stage, which) }
  credentials.set(name, made)
  return made
}

/** The call with another credential than its own. */
function heldBy({ token: _token, key: _key, ...call }: WritingCall, credential: Credential): WritingCall {
  return { ...call, ...credential, headers: { ...call.headers, ...credential.headers } }
}

async function appOf(stage: Stage, hasEnded: boolean): Promise<Credential> {
  const person = await stage.newPerson()
  const call = await throughApp(stage, { token: person.token })
  if (hasEnded) {
    const [{ id }] = await by(stage, person)('GET', '/oauth/grants')
    await by(stage, person)('DELETE', `/oauth/grants/${id}`)
  }
  return call
}

async function keyOf(stage: Stage, which: 'narrow' | 'waiting' | 'revoked'): Promise<string> {
  const person = await stage.newPerson()
  const fields = which === 'waiting' ? { access: 'declared' } : { scopes: ['profile:read'] }
  const { id, secret } = await stage.house.newKey(person, fields)
  if (which === 'revoked') await stage.house.call('DELETE', `/api/v1/keys/${id}`, { token: person.token })
  return secret
}

describe.each(readingRoutes)('$name', ({ name, route }) => {
  test('answers and refuses the same', () =>
    leavingAlike(async () => {
      const make = readingCase(name)
      const [made, twin] = [await make(overHttp.stage), await make(inside.stage)]
      const read = (change: (call: WritingCall, stage: Stage) => Promise<WritingCall>, query = '') =>
        expectAlike(async ({ stage, caller }) =>
          sendBy(caller, route, await change(stage === overHttp.stage ? made : twin, stage), query),
        )
      await read(async (call) => call)
      if (route.audience !== 'public') await read(async (call, stage) => throughApp(stage, call))
      await read(async (call) => call, '?limit=no&offset=-1&cursor=!&category=%20&q=x')
      for (const credential of others) {
        await read(async (call, stage) => heldBy(call, await credentialOf(stage, credential)))
      }
    }))
})

describe('a call that is made for an agent', () => {
  const forPeople = Object.entries<Route>(routes).filter(([, { audience }]) => audience === 'session')

  test.each(forPeople)('%s is refused, whoever sent it', async (_name, route) => {
    const person = await inside.stage.newPerson()
    const agent = innerCaller(inside.stage.house, 'agent')
    const path = route.path.replace(/:\w+/g, '1')
    const answer = await agent.call(route.method, path, { token: person.token })
    expect([answer.status, answer.body.error.details]).toEqual([403, { via: 'agent' }])
  })
})

test('whoever records an effect is told by which grants it was allowed', async () => {
  const { stage } = inside
  const { deps, authenticators } = stage.house
  const person = await stage.newPerson()
  const { id, secret } = await stage.house.newKey(person, { scopes: ['profile:read'] })
  const grants = [
    ['workspace:files:write', 'session'],
    ['agent:list', 'one_time'],
  ]
  const ids: number[] = []
  for (const [scope, mode] of grants) {
    const { rows } = await twins.second.client.query(
      `insert into grants (key_id, workspace_id, scope, mode, expires_at)
       values ($1, $2, $3, $4, guild_now() + interval '5 minutes') returning id`,
      [id, person.workspaceId, scope, mode],
    )
    ids.push(Number(rows[0].id))
  }
  const seen: Authority[] = []
  const route: Route = {
    ...routes.createWorkspace,
    audience: 'credential',
    scopes: ['profile:read', 'workspace:files:write', 'agent:list'],
  }
  const handler = async (call: Call) => {
    await deps.database.transaction((tx) => (call.access as unknown as Access).spend(tx))
    seen.push(call.authority)
    return { id: '1', name: 'n', kind: 'team', role: 'owner', current: false, createdAt: '' }
  }
  const operations = toOperations([{ name: 'recorded', route, handler }], stage.house.bus)
  const perform = createPerform({ deps, grants: createGrants(deps), operations })
  const principal = await authenticators.key(secret, '127.0.0.1')
  await perform('recorded', {
    principal,
    client: { address: '127.0.0.1', userAgent: '', label: undefined, via: 'workflow' },
    body: { name: 'n' },
    signal: new AbortController().signal,
    requestId: 'inner',
  })
  const approvedAt = expect.any(String)
  const own = { scope: 'profile:read', via: 'key', approvedBy: person.userId, approvedAt }
  expect(seen).toEqual([
    [
      own,
      { scope: 'workspace:files:write', via: 'grant', grantId: ids[0], approvedAt },
      { scope: 'agent:list', via: 'grant', grantId: ids[1], approvedAt },
    ],
  ])
})
