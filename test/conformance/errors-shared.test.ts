import { randomUUID } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { expect, inject, test } from 'vitest'
import {
  confirm,
  deny,
  lookup,
  must,
  newKey,
  newPerson,
  newVisitor,
  type Person,
  startPairing,
} from './support/actors.ts'
import type { Answer, Caller } from './support/client.ts'
import { connect, denyConsent, mustConnect, mustRequest, request } from './support/consent.ts'
import { openStream } from './support/event-streams.ts'
import { errand, mustRun, newRunner, prepare, quick, runThrough, statusOf } from './support/executions.ts'
import { callRoute, publishedRoutes } from './support/published.ts'
import { expectRefusal } from './support/shapes.ts'
import { installText, newArtifact, skillText } from './support/skills.ts'
import { begin, echo, flow, install, launch, mustInstall, nap } from './support/workflows.ts'
import { verifies } from './verifies.ts'

/** One id of each kind, and the calls that take it. */
interface Ids {
  consent: string
  request: string
  skill: string
  artifact: string
  workflow: string
  run: string
  job: string
  execution: string
  key: string
  agent: string
}

const unknownIds = (): Ids => ({
  consent: randomUUID(),
  request: randomUUID(),
  skill: `no-${randomUUID()}`,
  artifact: `artifact_${randomUUID()}`,
  workflow: `no-${randomUUID()}`,
  run: `run_${randomUUID()}`,
  job: `run_${randomUUID()}`,
  execution: `exec_${randomUUID()}`,
  key: '999999999',
  agent: `no-${randomUUID()}`,
})

/** What the service has of somebody else, one of each. */
async function idsOf(person: Person): Promise<Ids> {
  const key = await newKey(person, { scopes: ['agent:list'] })
  const skill = `skill-${randomUUID()}`
  await installText(person, skill)
  const workflow = `flow-${randomUUID()}`
  await mustInstall(person, flow([echo]), workflow)
  const agent = `agent-${randomUUID()}`
  must(await person.post('/agents', { slug: agent }), 201)
  return {
    consent: (await mustConnect(key, ['profile:read'])).consent_id,
    request: (await mustRequest(key, 'billing:read')).request_id,
    skill,
    artifact: await newArtifact(person, skillText()),
    workflow,
    run: await begin(person, [nap]),
    job: await begin(person, [nap]),
    execution: await prepare(person),
    key: String(key.id),
    agent,
  }
}

const calls: Readonly<Record<string, (person: Person, key: Caller, ids: Ids) => Promise<Answer>>> = {
  'connect poll': (_person, key, { consent }) => key.get(`/agents/connect/poll/${consent}`),
  'consent deny': (person, _key, { consent }) => person.post(`/agents/connect/${consent}/deny`, {}),
  'permission poll': (_person, key, { request }) => key.get(`/agents/request-permission/poll/${request}`),
  'permission deny': (person, _key, { request }) =>
    person.post(`/agents/request-permission/${request}/deny`, {}),
  skill: (person, _key, { skill }) => person.get(`/skills/${skill}`),
  'skill uninstall': (person, _key, { skill }) => person.post(`/skills/${skill}/uninstall`),
  versions: (person, _key, { skill }) => person.get(`/skills/${skill}/versions`),
  version: (person, _key, { skill }) => person.post(`/skills/${skill}/versions/1/restore`),
  artifact: (person, _key, { artifact }) => person.get(`/artifacts/${artifact}`),
  'artifact content': (person, _key, { artifact }) => person.get(`/artifacts/${artifact}/content`),
  workflow: (person, _key, { workflow }) => person.get(`/workflows/${workflow}`),
  launch: (person, _key, { workflow }) => launch(person, {}, workflow),
  run: (person, _key, { run }) => person.get(`/workflows/runs/${run}`),
  'run cancel': (person, _key, { run }) => person.post(`/workflows/runs/${run}/cancel`),
  job: (person, _key, { job }) => person.delete(`/workflows/queue/${job}`),
  execution: (person, _key, { execution }) => person.get(`/executions/${execution}/status`),
  rerun: (person, _key, { execution }) => person.post(`/executions/${execution}/rerun`, { input: quick }),
  key: (person, _key, { key }) => person.delete(`/keys/${key}`),
  agent: (person, _key, { agent }) => person.get(`/agents/${agent}`),
}

test('what is not there is not found, of whatever kind, and what is somebody else’s is not there', async () => {
  verifies('errors:code:not-found', 'errors:code:not-found-byte-equal')
  const [person, other] = [await newRunner(), await newRunner()]
  const key = await newKey(person)
  const [unknown, foreign] = [unknownIds(), await idsOf(other)]
  for (const [name, call] of Object.entries(calls)) {
    const missing = await call(person, key, unknown)
    const code = expectRefusal(missing, 404, 'NOT_FOUND')
    expect(code.message, name).toMatch(/./)
    expect((await call(person, key, foreign)).text, name).toBe(missing.text)
  }
  expectRefusal(await lookup(person, 'ZZZZ-ZZZZ'), 404, 'NOT_FOUND')
  await installText(person, 'own')
  expectRefusal(await person.post('/skills/own/versions/999/restore'), 404, 'NOT_FOUND')
})

test('what has been settled cannot be settled again, and the refusal says how it was', async () => {
  verifies('errors:code:conflict')
  const person = await newPerson()
  const { userCode } = await startPairing()
  must(await deny(person, userCode), 200)
  const settled = expectRefusal(await confirm(person, userCode), 409, 'CONFLICT')
  expect(settled.message).toContain('denied')
  const key = await newKey(person, { scopes: ['agent:list'] })
  const { consent_id } = await mustConnect(key, ['profile:read'])
  must(await denyConsent(person, consent_id), 200)
  const again = expectRefusal(await denyConsent(person, consent_id), 409, 'CONFLICT')
  expect(again.message).toContain('denied')
})

test('what is malformed is invalid input, wherever it is sent', async () => {
  verifies('errors:code:invalid-input')
  const person = await newRunner()
  const key = await newKey(person, { scopes: ['agent:list'] })
  await mustInstall(person, flow([echo], { inputSchema: { type: 'object', required: ['text'] } }))
  const artifactId = await newArtifact(person, skillText())
  const answers: Record<string, Answer> = {
    'no activation code': await person.post('/activate/confirm', {}),
    'an unknown scope': await request(key, 'no:such:scope'),
    'an unknown scope to connect with': await connect(key, ['no:such:scope']),
    'no reason': await request(key, 'profile:read', { reason: '' }),
    'too long a reason': await request(key, 'profile:read', { reason: 'a'.repeat(281) }),
    'a definition that does not compile': await install(person, flow([])),
    'no definition': await person.post('/workflows/other/install', {}),
    'no artifactId': await person.post('/workflows/install-from-artifact', {}),
    'an artifact that is no workflow': await person.post('/workflows/install-from-artifact', { artifactId }),
    'version 0': await person.post(`/skills/${errand}/versions/0/restore`),
    'inputs that the workflow does not take': await launch(person, {}),
  }
  for (const [name, answer] of Object.entries(answers)) {
    expect([name, answer.status], answer.text).toEqual([name, 400])
    expectRefusal(answer, 400, 'INVALID_INPUT')
  }
})

test('a key with every scope is never told that it lacks one', async () => {
  verifies('keys:scopes:wildcard-full-access')
  const person = await newPerson()
  const key = await newKey(person)
  await installText(key, errand)
  await mustInstall(key, flow([echo]))
  const started = await mustRun(key, quick)
  must(await launch(key, {}), 201)
  expect((await statusOf(key, started)).executionId).toBe(started)
  const open = (await publishedRoutes()).filter(({ path }) => path.startsWith('/api/v1/'))
  expect(open.length).toBeGreaterThan(30)
  for (const route of open) {
    const { body, text } = await callRoute(key, route)
    const { error } = body as { error?: { details?: { missing_scopes?: string[] } } }
    expect(error?.details?.missing_scopes, `${route.path} ${text}`).toBeUndefined()
  }
})

test('an execution goes on with a trace by its id alone', async () => {
  verifies('executions:create:session-id')
  const person = await newRunner()
  const { executionId } = await runThrough(person, quick)
  const { traceId } = must(await person.get<{ traceId: string }>(`/executions/${executionId}/status`), 200)
  const made = await person.post<{ id: string; skill_slug: string }>('/executions', { sessionId: traceId })
  expect(must(made, 200)).toMatchObject({ skill_slug: errand, status: 'idle' })
  const { body } = await person.get<{ traceId: string }>(`/executions/${made.body.id}/status`)
  expect(body.traceId).toBe(traceId)
  const event = { type: 'user.message', content: [{ type: 'text', text: quick }] }
  must(await person.post(`/executions/${made.body.id}/events`, { events: [event] }), 200)
  const unknown = await person.post('/executions', { sessionId: randomUUID() })
  expectRefusal(unknown, 404, 'NOT_FOUND')
  const foreign = await (await newRunner()).post('/executions', { sessionId: traceId })
  expect(foreign.text).toBe(unknown.text)
})

test('every answer tells how much of the window is left', async () => {
  verifies('rate-limit:header:every-response')
  const person = await newRunner()
  const { executionId } = await runThrough(person, quick)
  const names = ['limit', 'remaining', 'reset'].map((name) => `x-ratelimit-${name}`)
  const stream = await openStream(
    new URL(`/api/v1/executions/${executionId}/stream-token`, inject('baseUrl')).href,
    {
      accept: 'text/event-stream',
      'x-auth-token': person.token,
    },
  )
  stream.close()
  const answers: [string, Pick<Answer, 'headers'>][] = [
    ['stream', stream],
    ['no such route', await newVisitor().get('/nope')],
    ['no credential', await newVisitor().get('/keys')],
    ['not allowed', await person.get('/agents/me')],
    [
      'malformed',
      await person.send('POST', '/keys', { rawBody: '{', headers: { 'content-type': 'application/json' } }),
    ],
    ['oauth', await newVisitor().post('root:/oauth/token', {})],
    ['refused socket', await byHand('/api/v1/events/socket?token=none', socketHeaders)],
    ['headers too large', await byHand('/api/v1/meta', { 'x-large': 'x'.repeat(20_000) })],
    ['preflight', await byHand('/api/v1/keys', { 'access-control-request-method': 'GET' }, 'OPTIONS')],
  ]
  for (const route of (await publishedRoutes()).filter(({ path }) => path.startsWith('/api/v1/'))) {
    const caller = await newPerson()
    answers.push([`${route.method} ${route.path}`, await callRoute(caller, route)])
  }
  for (const [name, { headers }] of answers) {
    for (const header of names)
      expect([name, header, headers[header]]).toEqual([name, header, expect.stringMatching(/^\d+$/)])
  }
})

const socketHeaders = {
  connection: 'upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
}

/** Headers that fetch does not let anybody send. */
function byHand(
  path: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<Pick<Answer, 'headers'>> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(new URL(path, inject('baseUrl')), { method, headers }, (response) => {
      response.resume()
      resolve({ headers: response.headers as Record<string, string> })
    })
    request.on('error', reject).end()
  })
}
