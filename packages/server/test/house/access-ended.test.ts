import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { StepCall, StepOutcome } from '#machinery/graph/graph.ts'
import { createModels } from '#machinery/models/models.ts'
import { executionReconcilers } from '#running/executions/reconcile.ts'
import { createRunRecords, createStepWork } from '#running/runs/runs.ts'
import { until } from '../../../../test/support/processes.ts'
import { expectWithin } from '../../../../test/support/proof.ts'
import { skillText } from '../../../../test/support/skills.ts'
import { type HeardSocket, movedTo, openSocket } from '../../../../test/support/sockets.ts'
import { definitionOf } from '../../../../test/support/workflows.ts'
import { type Headers, type Holder, newHolder } from '../support/credentials.ts'
import { type App, type OAuthHouse, openOAuthHouse, registerApp } from '../support/oauth.ts'
import { runParts } from '../support/runs.ts'

/**
 * Access that ended: every way in which it ends, against everything that would act on it later. No run may advance in
 * this house and there is no engine, so whatever is launched waits; then a worker's own parts are asked to go on with it.
 */
let set: OAuthHouse
let team: string
let people = 0

beforeAll(async () => {
  set = await openOAuthHouse({ STARTING_CREDITS: '10000', DEV_TOOLS: '1', RUNS_PER_WORKSPACE: '0' })
})

afterAll(() => set?.close())

interface Credential {
  readonly headers: Headers
  readonly keyId?: number
}

interface Scene {
  readonly holder: Holder
  readonly app: App
}

interface Case {
  /** Through what everything is started. */
  through(scene: Scene): Promise<Credential> | Credential
  end(scene: Scene, credential: Credential): Promise<unknown>
  /** Reading needs no scope, so a scope that is taken ends no stream. */
  staysOpen?: true
  /** Who signs out does not stop what they began. */
  goesOn?: true
  /** May begin anew, and goes on with nothing. */
  comesBack?: true
}

const must = async (answer: Promise<{ status: number; text: string }>) => {
  const { status, text } = await answer
  if (status >= 300) throw new Error(`${status}: ${text}`)
}
const remove = ({ holder }: Scene) =>
  must(
    set.house.call('DELETE', `/api/v1/workspaces/current/members/${holder.userId}`, {
      token: set.owner.token,
      headers: { 'x-workspace-id': team },
    }),
  )
const join = ({ holder }: Scene) =>
  set.query("insert into workspace_members (workspace_id, user_id, role) values ($1, $2, 'member')", [
    team,
    holder.userId,
  ])
const keyWith =
  (fields: object) =>
  async ({ holder }: Scene) => {
    const { id, headers } = await holder.newKey(fields)
    return { headers, keyId: id }
  }
const narrowKey = keyWith({ access: 'declared', scopes: ['tool:execute'] })
const grantedKey = async (scene: Scene) => {
  const key = await keyWith({ access: 'declared', scopes: ['profile:read'] })(scene)
  await set.query(
    `insert into grants (key_id, workspace_id, scope, mode, expires_at)
     values ($1, $2, 'tool:execute', 'session', guild_now() + interval '1 hour')`,
    [key.keyId, team],
  )
  return key
}
const session = ({ holder }: Scene) => ({ headers: holder.session })
const oauth = ({ holder }: Scene) => ({ headers: holder.oauth })

const cases: Record<string, Case> = {
  'the key is revoked': {
    through: keyWith({}),
    end: ({ holder }, { keyId }) => must(holder.call(holder.session, 'DELETE', `/keys/${keyId}`)),
  },
  'the key is reported as leaked': {
    through: keyWith({}),
    end: ({ holder }, { headers }) =>
      must(holder.call({}, 'POST', '/keys/report-leak', { key: headers['x-api-key'] })),
  },
  'the key has expired': {
    through: keyWith({}),
    end: ({ holder }, { keyId }) =>
      must(holder.call(holder.session, 'PATCH', `/keys/${keyId}`, { expiresAt: '2020-01-01T00:00:00Z' })),
  },
  'the scope is taken': {
    through: narrowKey,
    end: ({ holder }, { keyId }) =>
      must(holder.call(holder.session, 'DELETE', `/agents/${keyId}/scopes/tool:execute`)),
    staysOpen: true,
  },
  'the grant of the scope is over': {
    through: grantedKey,
    end: (_scene, { keyId }) => set.query('delete from grants where key_id = $1', [keyId]),
    staysOpen: true,
  },
  'the member is removed, who had a session': { through: session, end: remove },
  'the member is removed and comes back': {
    through: session,
    end: async (scene) => {
      await remove(scene)
      await join(scene)
    },
    comesBack: true,
  },
  'the member is removed, who had a key': { through: keyWith({}), end: remove },
  'the member is removed, who had let an app in': { through: oauth, end: remove },
  'the grant of the app is revoked': {
    through: oauth,
    end: ({ holder, app }) =>
      must(
        set.house.call('POST', '/oauth/revoke', {
          body: {
            token: String(holder.oauth['authorization']).slice('Bearer '.length),
            client_id: app.id,
            client_secret: app.secret,
          },
        }),
      ),
  },
  'the app is deleted': {
    through: oauth,
    end: ({ app }) =>
      must(set.house.call('DELETE', `/api/v1/oauth/clients/${app.id}`, { token: set.owner.token })),
  },
  'the person signs out': {
    through: session,
    end: ({ holder }) => must(holder.call(holder.session, 'POST', '/auth/sign-out')),
    goesOn: true,
  },
}

const flow = definitionOf('flow', [{ type: 'tool', id: 'step', toolId: 'echo' }])

interface OpenStream {
  isOpen: boolean
  leave(): void
}

async function openStream(path: string, headers: Headers): Promise<OpenStream> {
  const leaving = new AbortController()
  const response = await fetch(`${set.house.url}/api/v1${path}`, {
    headers: { ...headers, accept: 'text/event-stream' },
    signal: leaving.signal,
  })
  expect(response.status, path).toBe(200)
  const state = { isOpen: true, leave: () => leaving.abort() }
  void (async () => {
    try {
      for await (const _chunk of response.body ?? []);
    } catch {
      // Left by the test itself.
    }
    state.isOpen = false
  })()
  return state
}

describe.each(Object.entries(cases))('%s', (_name, { through, end, staysOpen, goesOn, comesBack }) => {
  let holder: Holder
  let credential: Credential
  let runIds: Record<string, string>
  let idle: string
  let queued: string
  let streams: OpenStream[]
  let socket: HeardSocket
  let socketOpen = true
  let endedAt: number

  beforeAll(async () => {
    team = await set.house.newTeam(set.owner)
    const app = await registerApp(set.house, set.owner)
    holder = await newHolder(set, app, `ends-${++people}`, team)
    const scene = { holder, app }
    const files = [{ path: 'SKILL.md', content: skillText('errand', 'Run the errand.') }]
    const made = await holder.call(holder.session, 'POST', '/artifacts', { type: 'skill', files })
    await must(holder.call(holder.session, 'POST', '/skills/errand/install', { artifactId: made.body.id }))
    await must(holder.call(holder.session, 'POST', '/workflows/flow/install', { definition: flow }))
    credential = await through(scene)
    const { headers } = credential
    const launch = async () => {
      const answer = await holder.call(headers, 'POST', '/workflows/flow/launch', {})
      expect(answer.status, answer.text).toBe(201)
      return answer.body.runId as string
    }
    runIds = Object.fromEntries(
      await Promise.all(Object.keys(kinds).map(async (kind) => [kind, await launch()] as const)),
    )
    const prepare = async () => {
      const body = { skill_slug: 'errand', input: 'Go.' }
      const answer = await holder.call(headers, 'POST', '/executions', body)
      expect(answer.status, answer.text).toBe(200)
      return answer.body.id as string
    }
    idle = await prepare()
    queued = await prepare()
    // Somebody else has the slot, so this one waits.
    await set.query(
      `insert into workspace_slots (workspace_id, execution_id) values ($1, 0)
       on conflict (workspace_id) do update set execution_id = 0`,
      [team],
    )
    const waits = await holder.call(headers, 'POST', `/executions/${queued}/events`, {
      events: [{ type: 'user.message', content: [{ type: 'text', text: 'Now.' }] }],
      ifBusy: 'queue',
    })
    expect(waits.status, waits.text).toBe(200)
    streams = [
      await openStream(`/executions/${idle}/stream-token`, headers),
      await openStream(`/workflows/runs/${runIds['tool']}/events`, headers),
    ]
    const address = await holder.call(headers, 'GET', '/events/subscribe-url')
    socket = await openSocket(movedTo(address.body.url, set.house.url))
    void socket.closed.then(() => {
      socketOpen = false
    })
    await end(scene, credential)
    endedAt = performance.now()
  })

  afterAll(() => {
    for (const stream of streams ?? []) stream.leave()
    socket?.socket.close()
  })

  test('streams and sockets are closed within two seconds, and only then', async () => {
    const open = () => [...streams.map(({ isOpen }) => isOpen), socketOpen]
    if (staysOpen) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      expect(open()).toEqual([true, true, true])
      return
    }
    await until(() => open().every((isOpen) => !isOpen), 5000)
    expectWithin(performance.now() - endedAt, 2000)
  })

  test.each(Object.keys(kinds))('a run is stopped before its %s', async (kind) => {
    const runId = runIds[kind] ?? ''
    const outcome = await kinds[kind]?.({ runId, holder, keyId: credential.keyId ?? null })
    if (goesOn) expect(outcome).not.toMatchObject({ error: { code: 'ACCESS_ENDED' } })
    else if (kind === 'waking') expect(outcome).toBe('refused')
    else expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'ACCESS_ENDED' } })
  })

  test('what waits in the queue does not start', async () => {
    await set.query('update workspace_slots set execution_id = null where workspace_id = $1', [team])
    for (const { run } of executionReconcilers(runParts(set.house))) await run()
    const [row] = await set.query(
      'select status, error_code, started_at from executions where execution_id = $1',
      [queued],
    )
    if (goesOn) expect(row.started_at).not.toBeNull()
    else expect(row).toEqual({ status: 'failed', error_code: 'ACCESS_ENDED', started_at: null })
  })

  test('nothing starts what was prepared', async () => {
    const message = { type: 'user.message', content: [{ type: 'text', text: 'Now.' }] }
    const answer = await holder.call(credential.headers, 'POST', `/executions/${idle}/events`, {
      events: [message],
    })
    expect([401, 403], answer.text).toContain(answer.status)
    const launched = await holder.call(credential.headers, 'POST', '/workflows/flow/launch', {})
    expect(comesBack ? [201] : [401, 403], launched.text).toContain(launched.status)
  })

  test('nothing is set aside or charged', async () => {
    if (goesOn) return
    const entries = await set.query("select * from ledger where user_id = $1 and kind <> 'grant'", [
      holder.userId,
    ])
    expect(entries).toEqual([])
  })
})

/** Somebody with a key that may do nothing but what is granted to it. */
async function newNarrowKey() {
  team = await set.house.newTeam(set.owner)
  const app = await registerApp(set.house, set.owner)
  const holder = await newHolder(set, app, `ends-${++people}`, team)
  await must(holder.call(holder.session, 'POST', '/workflows/flow/install', { definition: flow }))
  const { id: keyId, headers } = await holder.newKey({ access: 'declared', scopes: ['profile:read'] })
  const grant = (mode: 'session' | 'one_time') =>
    set.query(
      `insert into grants (key_id, workspace_id, scope, mode, expires_at)
       values ($1, $2, 'tool:execute', $3, guild_now() + interval '5 minutes')`,
      [keyId, team, mode],
    )
  return { holder, keyId, headers, grant }
}

test('what a one_time grant allowed goes on after the grant is used up, and ends with its key', async () => {
  const { holder, keyId, headers, grant } = await newNarrowKey()
  await grant('one_time')
  const launched = await holder.call(headers, 'POST', '/workflows/flow/launch', {})
  expect(launched.status, launched.text).toBe(201)
  expect((await holder.call(headers, 'POST', '/workflows/flow/launch', {})).status).toBe(403)
  const asked = { runId: launched.body.runId as string, holder, keyId }
  expect(await kinds['tool']?.(asked)).toMatchObject({ kind: 'success' })
  // The run was allowed, and not the key: nothing that is said about its scopes later changes that.
  await set.query('delete from grants where key_id = $1', [keyId])
  expect(await kinds['tool']?.(asked)).toMatchObject({ kind: 'success' })
  await must(holder.call(holder.session, 'DELETE', `/keys/${keyId}`))
  expect(await kinds['tool']?.(asked)).toMatchObject({ kind: 'failed', error: { code: 'ACCESS_ENDED' } })
})

test('what a session grant allowed ends with it, although a one_time grant was used just before', async () => {
  const { holder, keyId, headers, grant } = await newNarrowKey()
  const launch = async () => {
    const launched = await holder.call(headers, 'POST', '/workflows/flow/launch', {})
    expect(launched.status, launched.text).toBe(201)
    return { runId: launched.body.runId as string, holder, keyId }
  }
  await grant('one_time')
  const once = await launch()
  await grant('session')
  const inSession = await launch()
  expect(await kinds['tool']?.(inSession)).toMatchObject({ kind: 'success' })
  await set.query("delete from grants where key_id = $1 and mode = 'session'", [keyId])
  expect(await kinds['tool']?.(inSession)).toMatchObject({ error: { code: 'ACCESS_ENDED' } })
  expect(await kinds['tool']?.(once)).toMatchObject({ kind: 'success' })
})

interface Asked {
  readonly runId: string
  readonly holder: Holder
  readonly keyId: number | null
}

/** What a worker does next for a run, by kind of step. */
const kinds: Record<string, (asked: Asked) => Promise<StepOutcome | boolean | 'refused' | undefined>> = {
  tool: (asked) => records().perform(callerOf(asked), call(asked, tool('echo'), {}), signal),
  'tool beside others': (asked) => performed(asked, call(asked, tool('echo'), {})),
  agent: (asked) => performed(asked, call(asked, { kind: 'agent', slug: 'assistant' }, { prompt: 'Hello.' })),
  skill: async (asked) => {
    const input = { slug: 'errand', input: 'Go.' }
    const begun = await steps().beginSkill(callerOf(asked), call(asked, tool('execute-skill'), input), 'none')
    return 'outcome' in begun ? begun.outcome : undefined
  },
  question: (asked) =>
    records().perform(callerOf(asked), call(asked, tool('ask-human'), { question: 'Go?' }), signal),
  'answered question': (asked) =>
    records().perform(
      callerOf(asked),
      { ...call(asked, tool('ask-human'), { question: 'Go?' }), answer: { data: 'Yes', at: 1 } },
      signal,
    ),
  waking: (asked) => records().wake({ runId: asked.runId, opened: 0 }, callerOf(asked), 'place:1'),
}

async function performed(asked: Asked, step: StepCall): Promise<StepOutcome | undefined> {
  const done = await steps().perform(callerOf(asked), step, 'none', signal)
  return done.kind === 'begun' ? undefined : done
}

const { signal } = new AbortController()
const tool = (toolId: string) => ({ kind: 'tool' as const, toolId })
const workParts = () => ({ ...runParts(set.house), models: createModels(set.house.deps.config.models) })
const records = () => createRunRecords(workParts())
const steps = () => createStepWork(workParts())
const callerOf = ({ holder, keyId }: Asked) => ({ workspaceId: team, userId: holder.userId, apiKeyId: keyId })

function call({ runId }: Asked, target: StepCall['target'], input: unknown): StepCall {
  const turn = { stepId: 'step', index: 0, iteration: 0, attempt: 0, alone: true, mayRetry: true }
  const keys = { questionKey: 'step:0:0', idempotencyKey: `${runId}:step:0:0:0` }
  return { ...turn, ...keys, runId, target, input }
}
