import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Authenticator } from '../../../../test/support/authenticator.ts'
import type { Answer, Person } from '../../../../test/support/caller.ts'
import { tell } from '../../../../test/support/proof.ts'
import { atSize } from '../../../../test/support/sizes.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'
import { newPersonWithPasskey } from '../support/passkeys.ts'

/**
 * Random histories of one key: connect, approve a subset, request, grant, use, remove a scope, revoke. After every
 * step the server's idea of what the key may do equals the model's. Runs of several histories go side by side.
 */
const sequences = atSize(120, 2000)
const sideBySide = 4

let house: House

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase(), LOG_LEVEL: 'silent' })
})

afterAll(() => house.close())

type Mode = 'persistent' | 'session' | 'one_time'
const scopes = ['profile:read', 'profile:search', 'profile:write', 'agent:list'] as const
const sensitive = new Set(['profile:write'])
const routes: Record<string, [string, string]> = {
  'profile:read': ['GET', '/api/v1/profile'],
  'profile:search': ['GET', '/api/v1/profile/search?q=a'],
  'profile:write': ['PATCH', '/api/v1/profile'],
}

interface Model {
  activated: boolean
  revoked: boolean
  own: Set<string>
  session: Set<string>
  oneTime: string[]
  pending: {
    id: string
    kind: 'connect' | 'request-permission'
    scopes: string[]
    mode: Mode
    twin: string
  }[]
}

interface Owner {
  person: Person
  authenticator: Authenticator
}

interface Real extends Owner {
  id: number
  secret: string
}

const covers = (model: Model, scope: string) =>
  model.own.has('*') || model.own.has(scope) || model.session.has(scope)

/** Who is told what before anything else is looked at. */
function shutOut(model: Model, servesUnactivated: boolean): number | undefined {
  if (model.revoked) return 401
  return model.activated || servesUnactivated ? undefined : 403
}

abstract class Step implements fc.AsyncCommand<Model, Real> {
  check(): boolean {
    return true
  }
  abstract run(model: Model, real: Real): Promise<void>
  abstract toString(): string

  protected asAgent(real: Real, method: string, path: string, body?: unknown): Promise<Answer> {
    return house.call(method, path, { key: real.secret, ...(body === undefined ? {} : { body }) })
  }

  protected asPerson({ person }: Owner, method: string, path: string, body?: unknown): Promise<Answer> {
    return house.call(method, path, { token: person.token, ...(body === undefined ? {} : { body }) })
  }

  protected expectPending(model: Model, answer: Answer, asked: Omit<Model['pending'][number], 'id'>): void {
    const twin = model.pending.find((request) => request.twin === asked.twin)
    if (!twin && model.pending.length >= 5) {
      expect(answer.status).toBe(429)
      return
    }
    expect(answer.status, answer.text).toBe(202)
    const id = answer.body.consent_id ?? answer.body.request_id
    if (twin) expect(id).toBe(twin.id)
    else model.pending.push({ id, ...asked })
  }
}

class Connect extends Step {
  readonly wanted: string[]
  constructor(wanted: string[]) {
    super()
    this.wanted = wanted
  }
  async run(model: Model, real: Real) {
    const answer = await this.asAgent(real, 'POST', '/api/v1/agents/connect', {
      requestedScopes: this.wanted,
    })
    const refused = shutOut(model, true)
    if (refused) return expect(answer.status).toBe(refused)
    const wanted = [...new Set(this.wanted.length > 0 ? this.wanted : ['profile:read', 'agent:list'])].sort()
    if (model.activated && !model.own.has('*') && wanted.every((scope) => model.own.has(scope))) {
      expect(answer.body).toEqual({ status: 'active', scopes: [...model.own].sort() })
    } else {
      const twin = `connect ${wanted}`
      this.expectPending(model, answer, { kind: 'connect', scopes: wanted, mode: 'persistent', twin })
    }
  }
  toString = () => `connect(${this.wanted})`
}

class Request extends Step {
  readonly scope: string
  readonly mode: Mode
  constructor(scope: string, mode: Mode) {
    super()
    this.scope = scope
    this.mode = mode
  }
  async run(model: Model, real: Real) {
    const { scope, mode } = this
    const body = { scope, mode, reason: 'r' }
    const answer = await this.asAgent(real, 'POST', '/api/v1/agents/request-permission', body)
    if (model.revoked) return expect(answer.status).toBe(401)
    if (!model.activated) return expect(answer.body.error.code).toBe('ACTIVATION_REQUIRED')
    if (covers(model, scope))
      return expect(answer.body).toEqual({ status: 'already_granted', grant_token: null })
    const twin = `request ${scope} ${mode}`
    this.expectPending(model, answer, { kind: 'request-permission', scopes: [scope], mode, twin })
  }
  toString = () => `request(${this.scope}, ${this.mode})`
}

class Decide extends Step {
  readonly pick: number
  readonly approve: boolean
  readonly mask: number
  readonly mode: Mode
  constructor(pick: number, approve: boolean, mask: number, mode: Mode) {
    super()
    this.pick = pick
    this.approve = approve
    this.mask = mask
    this.mode = mode
  }
  async run(model: Model, real: Real) {
    const request = model.pending[this.pick % Math.max(1, model.pending.length)]
    if (!request) return
    const path = `/api/v1/agents/${request.kind}/${request.id}`
    const isConsent = request.kind === 'connect'
    const chosen = request.scopes.filter((_, index) => !isConsent || this.mask & (1 << index))
    if (chosen.length === 0 || !this.approve) {
      expect((await this.asPerson(real, 'POST', `${path}/deny`)).status).toBe(200)
      model.pending = model.pending.filter(({ id }) => id !== request.id)
      return
    }
    const mode = isConsent ? this.mode : request.mode
    const modes = isConsent ? Object.fromEntries(chosen.map((scope) => [scope, mode])) : undefined
    const choice = isConsent ? { scopes: chosen, modes } : {}
    const proof = chosen.some((scope) => sensitive.has(scope))
      ? { device_auth: await this.prove(real, request.id, choice) }
      : {}
    const answer = await this.asPerson(real, 'POST', `${path}/approve`, { ...choice, ...proof })
    expect(answer.status, answer.text).toBe(200)
    model.pending = model.pending.filter(({ id }) => id !== request.id)
    if (isConsent && model.own.has('*')) model.own.clear()
    if (mode === 'persistent') for (const scope of chosen) model.own.add(scope)
    if (mode === 'session') for (const scope of chosen) model.session.add(scope)
    if (mode === 'one_time') model.oneTime.push(...chosen)
    model.activated = true
  }
  async prove(real: Real, id: string, choice: object) {
    const challenge = await this.asPerson(real, 'POST', `/api/v1/approvals/${id}/challenge`, choice)
    return real.authenticator.assert(challenge.body.options)
  }
  toString = () => `decide(${this.pick}, ${this.approve}, ${this.mask}, ${this.mode})`
}

class Use extends Step {
  readonly scope: string
  constructor(scope: string) {
    super()
    this.scope = scope
  }
  async run(model: Model, real: Real) {
    const [method, path] = routes[this.scope] ?? ['', '']
    const answer = await this.asAgent(real, method, path, method === 'PATCH' ? {} : undefined)
    const refused = shutOut(model, false)
    if (refused) return expect(answer.status).toBe(refused)
    if (covers(model, this.scope)) return expect(answer.status).toBe(200)
    const spendable = model.oneTime.indexOf(this.scope)
    expect(answer.status, answer.text).toBe(spendable >= 0 ? 200 : 403)
    if (spendable >= 0) model.oneTime.splice(spendable, 1)
  }
  toString = () => `use(${this.scope})`
}

class Remove extends Step {
  readonly scope: string
  constructor(scope: string) {
    super()
    this.scope = scope
  }
  async run(model: Model, real: Real) {
    const answer = await this.asPerson(
      real,
      'DELETE',
      `/api/v1/agents/${real.id}/scopes/${encodeURIComponent(this.scope)}`,
    )
    if (model.revoked) return expect(answer.status).toBe(404)
    expect(answer.status).toBe(200)
    model.own.delete(this.scope)
    model.session.delete(this.scope)
    model.oneTime = model.oneTime.filter((scope) => scope !== this.scope)
    expect(answer.body.scopes).toEqual([...model.own].sort())
  }
  toString = () => `remove(${this.scope})`
}

class Revoke extends Step {
  async run(model: Model, real: Real) {
    const answer = await this.asPerson(real, 'DELETE', `/api/v1/keys/${real.id}`)
    expect(answer.status).toBe(model.revoked ? 404 : 200)
    model.revoked = true
    model.pending = []
  }
  toString = () => 'revoke'
}

/** The comparison itself: what the server says the key may do right now. */
class Compare extends Step {
  async run(model: Model, real: Real) {
    const answer = await this.asAgent(real, 'GET', '/api/v1/agents/me')
    const refused = shutOut(model, false)
    if (refused) return expect(answer.status).toBe(refused)
    const told = (mode: Mode) =>
      answer.body.scopes
        .filter((each: { mode: Mode }) => each.mode === mode)
        .map((each: { scope: string }) => each.scope)
    expect(told('persistent')).toEqual([...model.own].sort())
    expect(new Set(told('session'))).toEqual(model.session)
    expect(told('one_time').sort()).toEqual([...model.oneTime].sort())
  }
  toString = () => 'compare'
}

const scope = fc.constantFrom(...scopes)
const mode = fc.constantFrom<Mode>('persistent', 'session', 'one_time')
const steps = [
  fc.subarray([...scopes]).map((wanted) => new Connect(wanted)),
  fc.tuple(scope, mode).map(([wanted, how]) => new Request(wanted, how)),
  fc
    .tuple(fc.nat(4), fc.boolean(), fc.integer({ min: 1, max: 15 }), mode)
    .map(([pick, no, mask, how]) => new Decide(pick, !no || mask > 7, mask, how)),
  fc.tuple(fc.nat(4), mode).map(([pick, how]) => new Decide(pick, true, 15, how)),
  fc.constantFrom('profile:read', 'profile:search', 'profile:write').map((wanted) => new Use(wanted)),
  fc.constantFrom(...scopes, '*').map((wanted) => new Remove(wanted)),
  fc.constant(new Compare()),
]
const rarely = fc.constant(new Revoke())

test(`the server and the model agree over ${sequences} histories`, { timeout: 300_000 }, async () => {
  let stepsRun = 0
  const runs = Array.from({ length: sideBySide }, async (_, index) => {
    // A person of its own: a passkey counts its uses, so one cannot sign for two histories at a time.
    const owner = await newPersonWithPasskey(house)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('declared' as const, 'scopes' as const, 'full' as const),
        fc.commands([...steps, ...steps, rarely], { maxCommands: 14 }),
        async (start, commands) => {
          const real = { ...owner, ...(await newKeyFor(owner, start)) }
          const model: Model = {
            activated: start !== 'declared',
            revoked: false,
            own: new Set(start === 'full' ? ['*'] : start === 'scopes' ? ['agent:list'] : []),
            session: new Set(),
            oneTime: [],
            pending: [],
          }
          await fc.asyncModelRun(() => ({ model, real }), commands)
          await new Compare().run(model, real)
          stepsRun += [...commands].length
        },
      ),
      { numRuns: sequences / sideBySide, seed: 20261115 + index, endOnFailure: true },
    )
  })
  await Promise.all(runs)
  tell(`${sequences} histories, ${stepsRun} steps`)
  expect(stepsRun).toBeGreaterThan(sequences * 4)
})

async function newKeyFor({ person, authenticator }: Owner, start: 'declared' | 'scopes' | 'full') {
  if (start === 'declared') return house.newKey(person, { access: 'declared' })
  if (start === 'scopes') return house.newKey(person, { scopes: ['agent:list'] })
  const options = await house.call('POST', '/api/v1/passkeys/options', {
    token: person.token,
    body: { purpose: 'create-key', access: 'full' },
  })
  return house.newKey(person, { access: 'full', device_auth: authenticator.assert(options.body.assertion) })
}
