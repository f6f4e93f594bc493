import type { Answer } from '../../support/caller.ts'
import { skillText } from '../../support/skills.ts'
import { definitionOf } from '../../support/workflows.ts'
import { readToEnd } from '../cut-reader.ts'
import type { Reading } from '../execution-history.ts'
import { isSuccess, type Operation, type Sort } from './history.ts'
import type { Lane } from './lane.ts'
import { codeOf, type Intent, perform } from './perform.ts'
import {
  errandText,
  graphOf,
  inputsOf,
  longErrandText,
  type WorkflowKind,
  workflowKinds,
} from './workflow-kinds.ts'

/** What an operation is made with; nothing when there is nothing of that sort to do in the lane now. */
type Make = (lane: Lane, id: string, random: () => number) => Promise<Operation> | undefined

/** A question is asked a while after its run was launched. */
const askedAfterMs = 2500
/** A revocation reaches every process within a second. */
const revokedAfterMs = 1500

const by = ({ person }: Lane) => ({ token: person.token })

function ask(lane: Lane, id: string, intent: Omit<Intent, 'id' | 'workspaceId'>): Promise<Operation> {
  return perform({ id, workspaceId: lane.person.workspaceId, ...intent })
}

/** A request that creates, under the operation's own Idempotency-Key. */
function create(
  lane: Lane,
  id: string,
  path: string,
  body: unknown,
  credential: { key?: string; token?: string } = by(lane),
) {
  return (_attempt: number, signal: AbortSignal) =>
    lane.app.call('POST', `/api/v1/${path}`, {
      ...credential,
      body,
      signal,
      headers: { 'idempotency-key': id },
    })
}

/** The latest made thing that an operation tells of. */
function madeBy({ attempts }: Operation): string | null {
  return attempts.findLast(isSuccess)?.told ?? null
}

async function kept(operation: Promise<Operation>, keep: (made: string) => void): Promise<Operation> {
  const done = await operation
  const made = madeBy(done)
  if (made !== null) keep(made)
  return done
}

function pick<T>(items: readonly T[], random: () => number): T | undefined {
  return items[Math.floor(random() * items.length)]
}

/** Removed, so that nobody else of the lane takes the same. */
function take<T>(items: T[], isRight: (item: T) => boolean = () => true): T | undefined {
  const index = items.findIndex(isRight)
  return index === -1 ? undefined : items.splice(index, 1)[0]
}

const isBusy = (answer: Answer) => codeOf(answer) === 'EXECUTION_RUNNING'
const isConflict = ({ status }: Answer) => status === 409

const start: Make = (lane, id, random) => {
  const isLong = random() < 0.2
  const input = isLong ? longErrandText(id, lane.longSeconds) : errandText(id)
  const isByKey = random() < 0.5
  const send = create(lane, id, 'skills/errand/run', { input }, isByKey ? { key: lane.key.secret } : by(lane))
  const keyId = isByKey ? { keyId: lane.key.id } : {}
  const told = ({ body }: Answer) => body.executionId
  return kept(ask(lane, id, { sort: 'start', ...keyId, send, told, waits: isBusy }), (made) => {
    lane.executions.push(made)
    if (isLong) lane.long.push(made)
  })
}

const rerun: Make = (lane, id, random) => {
  const target = pick(lane.executions, random)
  if (target === undefined) return undefined
  const send = create(lane, id, `executions/${target}/rerun`, { input: errandText(id) })
  const told = ({ body }: Answer) => body.executionId
  return kept(ask(lane, id, { sort: 'rerun', target, send, told, waits: isBusy }), (made) =>
    lane.executions.push(made),
  )
}

const prepare: Make = (lane, id) => {
  const send = create(lane, id, 'executions', { skill_slug: 'errand', input: errandText(id) })
  return kept(ask(lane, id, { sort: 'prepare', send, told: ({ body }) => body.id }), (made) =>
    lane.prepared.push(made),
  )
}

/** Not a creating request: what was started by an attempt without an answer refuses the next one. */
const post: Make = (lane, id) => {
  const target = take(lane.prepared)
  if (target === undefined) return undefined
  const content = [{ type: 'text', text: errandText(id) }]
  const body = { events: [{ type: 'user.message', content }], ifBusy: 'queue' }
  const send: Intent['send'] = (_attempt, signal) =>
    lane.app.call('POST', `/api/v1/executions/${target}/events`, { ...by(lane), body, signal })
  const told = ({ body }: Answer) => body.data[0]?.id
  return ask(lane, id, { sort: 'post', target, send, told, waits: isBusy, isDone: isConflict })
}

const cancel: Make = (lane, id) => {
  const target = take(lane.long)
  if (target === undefined) return undefined
  const send: Intent['send'] = (_attempt, signal) =>
    lane.app.call('POST', `/api/v1/executions/${target}/cancel`, { ...by(lane), signal })
  return ask(lane, id, { sort: 'cancel', target, send, told: ({ body }) => body.success })
}

async function launchKind(
  lane: Lane,
  id: string,
  kind: WorkflowKind,
  { sort, credential, keyId }: { sort: Sort; credential?: { key: string }; keyId?: number },
): Promise<Operation> {
  const send = create(lane, id, `workflows/${kind}/launch`, { inputs: inputsOf(kind, id) }, credential)
  const about = { sort, kind, ...(keyId === undefined ? {} : { keyId }) }
  return kept(ask(lane, id, { ...about, send, told: ({ body }) => body.runId }), (made) => {
    lane.runs.push({ id: made, kind, at: Date.now() })
    if (kind === 'ask') lane.questions.push({ id: made, at: Date.now() })
  })
}

export function launchOf(kind: WorkflowKind): Make {
  return (lane, id) => launchKind(lane, id, kind, { sort: 'launch' })
}

const launch: Make = (lane, id, random) =>
  launchKind(lane, id, pick(workflowKinds, random) ?? 'line', { sort: 'launch' })

const notYet = ['NOT_SUSPENDED', 'RESUME_IN_PROGRESS', 'NO_SUSPEND_FRAME']

const resume: Make = (lane, id) => {
  const question = take(lane.questions, ({ at }) => Date.now() - at > askedAfterMs)
  if (question === undefined) return undefined
  const said = (attempt: number) => `${id}/${attempt}`
  const send: Intent['send'] = (attempt, signal) =>
    lane.app.call('POST', `/api/v1/workflows/runs/${question.id}/resume`, {
      ...by(lane),
      body: { resumeData: said(attempt) },
      signal,
    })
  // A run that has ended says so beside the code; one that still runs may yet ask.
  const hasEnded = ({ body }: Answer) => body?.cancelled === true
  return ask(lane, id, {
    sort: 'resume',
    target: question.id,
    send,
    said,
    waits: (answer) => notYet.includes(codeOf(answer) ?? '') && !hasEnded(answer),
    isDone: hasEnded,
  })
}

const stopRun = (sort: 'cancel-run' | 'unqueue'): Make => {
  return (lane, id) => {
    const kinds: WorkflowKind[] = sort === 'unqueue' ? ['nap', 'skill', 'fan'] : ['ask', 'nap', 'skill']
    const recent = lane.runs.findLast(({ kind, at }) => kinds.includes(kind) && Date.now() - at < 5000)
    if (!recent) return undefined
    const target = recent.id
    const send: Intent['send'] = (_attempt, signal) =>
      sort === 'unqueue'
        ? lane.app.call('DELETE', `/api/v1/workflows/queue/${target}`, { ...by(lane), signal })
        : lane.app.call('POST', `/api/v1/workflows/runs/${target}/cancel`, { ...by(lane), signal })
    // One that ended in the meantime cannot be stopped.
    const isDone = ({ status }: Answer) => status === 409 || status === 404
    return ask(lane, id, { sort, target, send, isDone })
  }
}

const makeKey: Make = (lane, id) => {
  const send = create(lane, id, 'keys', { label: id })
  let secret: string | undefined
  const told = ({ body }: Answer) => {
    secret = body.api_key
    return body.id
  }
  // The secret was in an answer that did not come; the key is there.
  const isDone = ({ body }: Answer) => body?.error?.details?.id !== undefined
  return kept(ask(lane, id, { sort: 'make-key', send, told, isDone }), (made) =>
    lane.keys.push({ id: Number(made), secret }),
  )
}

const useKey: Make = (lane, id, random) => {
  const key = pick(
    lane.keys.filter(({ secret }) => secret !== undefined),
    random,
  )
  if (key?.secret === undefined) return undefined
  const kind = pick(['line', 'nap', 'skill'] as const, random) ?? 'line'
  return launchKind(lane, id, kind, { sort: 'use-key', credential: { key: key.secret }, keyId: key.id })
}

const revokeKey: Make = (lane, id, random) => {
  const key = take(lane.keys)
  return key && revoke(lane, id, key, random() < 0.5)
}

async function revoke(
  lane: Lane,
  id: string,
  key: Lane['keys'][number],
  stopRunning: boolean,
): Promise<Operation> {
  const send: Intent['send'] = (_attempt, signal) =>
    lane.app.call('DELETE', `/api/v1/keys/${key.id}?stopRunning=${stopRunning}`, { ...by(lane), signal })
  const isDone = ({ status }: Answer) => status === 404
  const about = { sort: 'revoke-key', target: String(key.id), kind: String(stopRunning) } as const
  const done = await ask(lane, id, { ...about, send, isDone })
  if (done.succeeded && key.secret !== undefined)
    lane.revoked.push({ id: key.id, secret: key.secret, at: Date.now() })
  return done
}

/** Succeeds when it is refused. */
const tryRevoked: Make = (lane, id) => {
  const key = take(lane.revoked, ({ at }) => Date.now() - at > revokedAfterMs)
  if (!key) return undefined
  const credential = { key: key.secret }
  const tried = launchKind(lane, id, 'line', { sort: 'try-revoked', credential, keyId: key.id })
  return tried.then((done) => ({ ...done, succeeded: done.attempts.at(-1)?.status === 401 }))
}

/** Each time for a connector that nobody asked about before, so that no two requests are one. */
const askPermission: Make = (lane, id) => {
  if (lane.requests.length > 3) return undefined
  const body = { scope: `connector:${id}:read`, mode: 'session', reason: id }
  const send: Intent['send'] = (_attempt, signal) =>
    lane.app.call('POST', '/api/v1/agents/request-permission', { key: lane.asker.secret, body, signal })
  const operation = ask(lane, id, {
    sort: 'ask',
    keyId: lane.asker.id,
    send,
    told: ({ body }) => body.request_id,
  })
  return kept(operation, (made) => lane.requests.push(made))
}

const decide: Make = (lane, id, random) => {
  const target = take(lane.requests)
  if (target === undefined) return undefined
  const kind = random() < 0.5 ? 'approve' : 'deny'
  const path = `/api/v1/agents/request-permission/${target}/${kind}`
  const send: Intent['send'] = (_attempt, signal) =>
    lane.app.call('POST', path, { ...by(lane), body: {}, signal })
  return ask(lane, id, { sort: 'decide', target, kind, send, isDone: isConflict })
}

const artifact: Make = (lane, id) => {
  const files = [
    { path: 'SKILL.md', content: skillText('extra', `Do ${id}.`) },
    { path: 'data.txt', content: `${id}\n`.repeat(50) },
  ]
  const send = create(lane, id, 'artifacts', { type: 'skill', name: id, files })
  return kept(ask(lane, id, { sort: 'artifact', send, told: ({ body }) => body.id }), (made) =>
    lane.artifacts.push(made),
  )
}

/** A workflow under a name of its own, or the next version of a skill. */
const install: Make = (lane, id) => {
  const artifactId = take(lane.artifacts)
  if (artifactId === undefined) {
    const definition = definitionOf(id, graphOf('line'))
    const send = create(lane, id, `workflows/${id}/install`, { definition })
    return ask(lane, id, { sort: 'install', kind: 'workflow', send, told: ({ body }) => body.slug })
  }
  const send = create(lane, id, 'skills/extra/install', { artifactId })
  const about = { sort: 'install', kind: 'skill', target: artifactId } as const
  return ask(lane, id, { ...about, send, waits: isBusy })
}

const lists = [
  'executions?limit=20',
  'workflows/runs?limit=20',
  'workflows/queue',
  'workflows',
  'approvals?limit=20',
  'keys',
  'skills',
]

const read: Make = (lane, id, random) => {
  const execution = random() < 0.4 ? pick(lane.executions, random) : undefined
  const run = random() < 0.5 ? pick(lane.runs, random)?.id : undefined
  const byKey = random() < 0.3
  const known = execution === undefined ? run : execution
  const path =
    execution !== undefined
      ? `executions/${execution}/status`
      : run !== undefined
        ? `workflows/runs/${run}`
        : byKey
          ? 'agents/me'
          : pick(lists, random)
  const credential = byKey ? { key: lane.key.secret } : by(lane)
  const send: Intent['send'] = (_attempt, signal) =>
    lane.app.call('GET', `/api/v1/${path}`, { ...credential, signal })
  const told = ({ body }: Answer) => (execution !== undefined ? body.status : body.run?.status) ?? 'list'
  return ask(lane, id, { sort: 'read', ...(known === undefined ? {} : { target: known }), send, told })
}

const makers: Readonly<Record<Exclude<Sort, 'stream'>, Make>> = {
  read,
  start,
  prepare,
  post,
  cancel,
  rerun,
  launch,
  resume,
  'cancel-run': stopRun('cancel-run'),
  unqueue: stopRun('unqueue'),
  'make-key': makeKey,
  'use-key': useKey,
  'revoke-key': revokeKey,
  'try-revoked': tryRevoked,
  ask: askPermission,
  decide,
  artifact,
  install,
}

/** Does one thing of a sort, or undefined when there is nothing of that sort to do. */
export function operate(
  lane: Lane,
  sort: Exclude<Sort, 'stream'>,
  random: () => number,
  make: Make = makers[sort],
): Promise<Operation> | undefined {
  return make(lane, `op-${lane.name}-${++lane.count}`, random)
}

const streamWithinMs = 90_000

/** Reads along, broken off now and then, from the last event on each time. */
export async function readAlong(
  lane: Lane,
  executionId: string,
): Promise<{ operation: Operation; reading: Reading | undefined }> {
  const id = `op-${lane.name}-${++lane.count}`
  const sentAt = Date.now()
  const how = { reader: 'the one that was cut', cuts: 3, withinMs: streamWithinMs }
  let failure = ''
  const reading = await readToEnd(lane.app, lane.person, executionId, how).catch((error) => {
    failure = String(error)
    return undefined
  })
  const status = reading ? 200 : null
  const attempt = { sentAt, answeredAt: Date.now(), status, code: null, told: null, text: failure }
  const { workspaceId } = lane.person
  const about = { target: executionId, keyId: null, kind: null }
  return {
    operation: {
      id,
      sort: 'stream',
      workspaceId,
      ...about,
      attempts: [attempt],
      succeeded: reading !== undefined,
    },
    reading,
  }
}
