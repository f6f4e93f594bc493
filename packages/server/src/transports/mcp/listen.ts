import { setTimeout } from 'node:timers/promises'
import { ApiError } from '#operations/errors.ts'
import { workspaceChannel } from '#platform/bus.ts'
import type { Method } from './catalogue.ts'
import type { Exchange } from './exchange.ts'
import { metaName, RpcError } from './message.ts'
import { missingCapability } from './results.ts'
import { isRecord, type RecordOf } from './shapes.ts'
import { describeTaskNow } from './task-methods.ts'
import { readTaskId, type TaskRef, taskIdOf } from './tasks.ts'

/** Of each kind that one listener names. */
const mostNamed = 50
/** What it says is kept as long as it listens. */
const mostCharacters = 32_768
/** Of one credential in this process: of more the oldest ends. */
const mostListeners = 20
/** Between two rounds of telling: what happens meanwhile is told once. */
const roundMs = 500

interface Honoured {
  readonly resourcesListChanged?: boolean
  readonly resourceSubscriptions?: readonly string[]
  readonly taskIds?: readonly string[]
}

type Tell = (method: string, told: RecordOf) => Promise<void>

/**
 * Tells a modern client of changes until it goes, its credential ends or the process stops. It hears the channel of its own
 * workspace and no other, which is what keeps tenants apart.
 */
export function listenMethods(): [string, Method][] {
  const seats = new Map<string, Set<() => void>>()
  return [['subscriptions/listen', { era: 'modern', handle: (exchange) => listen(exchange, seats) }]]
}

async function listen(exchange: Exchange, seats: Map<string, Set<() => void>>): Promise<RecordOf> {
  const { id, params } = exchange.request
  const refuse = (message: string) => new RpcError('invalidParams', message, { status: 400, id })
  const filter = params['notifications']
  if (!isRecord(filter)) throw refuse('notifications: must be an object')
  if (JSON.stringify(params).length > mostCharacters)
    throw refuse(`params: at most ${mostCharacters} characters`)
  const tasks = texts(filter['taskIds'])
  if (tasks.length > 0 && !exchange.hasTasks)
    throw missingCapability(id, { extensions: { [metaName('tasks')]: {} } })
  const honoured = await honour(exchange, filter, tasks)
  const _meta = { [metaName('subscriptionId')]: id }
  const tell = (method: string, told: RecordOf) => exchange.notify(method, { ...told, _meta })
  await exchange.openStream(() => exchange.caller.confirm())
  await tell('notifications/subscriptions/acknowledged', { notifications: honoured })
  if (!exchange.isStreaming)
    throw new RpcError('invalidRequest', 'Listening needs Accept: text/event-stream', { status: 400, id })
  const over = new AbortController()
  const end = AbortSignal.any([exchange.signal, exchange.stopping, over.signal])
  const giveUp = takeSeat(seats, exchange.credential, () => over.abort())
  try {
    await tellNews(exchange, honoured, tell, end)
  } catch {
    // Its right or what it listens to has ended; a fault was logged where it happened. The client listens anew.
  } finally {
    giveUp()
  }
  return { _meta }
}

function takeSeat(seats: Map<string, Set<() => void>>, credential: string, end: () => void): () => void {
  const own = seats.get(credential) ?? new Set()
  seats.set(credential, own.add(end))
  const [oldest] = own
  if (own.size > mostListeners && oldest) {
    own.delete(oldest)
    oldest()
  }
  return () => {
    own.delete(end)
    if (own.size === 0 && seats.get(credential) === own) seats.delete(credential)
  }
}

/**
 * One round after the other: what is new is only noted meanwhile, by the names that were honoured, so that neither the work
 * nor what waits for a slow reader grows with what happens.
 */
async function tellNews(exchange: Exchange, honoured: Honoured, tell: Tell, end: AbortSignal): Promise<void> {
  // A task may have ended while it was asked for; each is told once to begin with.
  const news = new Set<string>(honoured.taskIds)
  const told = new Map<string, string>()
  let woken = Promise.withResolvers<void>()
  const wake = () => woken.resolve()
  if (news.size > 0) wake()
  const leave = exchange.bus.listen(workspaceChannel(exchange.caller.principal.workspaceId), (text) => {
    for (const name of namesOf(honoured, JSON.parse(text))) news.add(name)
    if (news.size > 0) wake()
  })
  end.addEventListener('abort', wake, { once: true })
  try {
    while (!end.aborted) {
      await woken.promise
      woken = Promise.withResolvers()
      const round = [...news]
      news.clear()
      for (const name of round) {
        if (end.aborted) return
        await pass(exchange, name, told, tell)
        await exchange.drained()
      }
      await setTimeout(roundMs, undefined, { signal: end, ref: false }).catch(() => {})
    }
  } finally {
    leave()
    end.removeEventListener('abort', wake)
  }
}

/** What is named and is not this workspace's is left out, as if it were not there. */
async function honour(exchange: Exchange, filter: RecordOf, tasks: readonly string[]): Promise<Honoured> {
  const uris = texts(filter['resourceSubscriptions'])
  const refs = [...uris.map(refOf), ...tasks.map(readTaskId)]
  for (const kind of ['execution', 'run'] as const)
    if (refs.some((ref) => ref?.kind === kind)) await requireRight(exchange, kind)
  const own = async (ref: TaskRef | undefined) =>
    ref !== undefined && (await exchange.findMark(ref.kind, ref.id)) !== undefined
  const ownUris = await keep(uris, (uri) => own(refOf(uri)))
  const ownTasks = await keep(tasks, (task) => own(readTaskId(task)))
  return {
    ...(filter['resourcesListChanged'] === true && { resourcesListChanged: true }),
    ...(ownUris.length > 0 && { resourceSubscriptions: ownUris }),
    ...(ownTasks.length > 0 && { taskIds: ownTasks }),
  }
}

async function keep(names: readonly string[], isOwn: (name: string) => Promise<boolean>): Promise<string[]> {
  const kept: string[] = []
  for (const name of names) if (await isOwn(name)) kept.push(name)
  return kept
}

/** Asks for what there cannot be: whoever may read is told that it is not there, and nothing has to be read for it. */
async function requireRight({ caller }: Exchange, kind: TaskRef['kind']): Promise<void> {
  try {
    if (kind === 'execution') await caller.perform('getExecutionStatus', { params: { executionId: '-' } })
    else await caller.perform('getWorkflowRun', { params: { runId: '-' } })
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') throw error
  }
}

function refOf(uri: string): TaskRef | undefined {
  const match = /^guildhall:\/\/(executions|runs)\/([^/]{1,100})$/.exec(uri)
  if (!match) return undefined
  return { kind: match[1] === 'runs' ? 'run' : 'execution', id: match[2] ?? '' }
}

function texts(value: unknown): string[] {
  const listed = Array.isArray(value) ? value.slice(0, mostNamed) : []
  return [...new Set(listed.filter((each) => typeof each === 'string'))]
}

const skills = 'skills'

/** Which of the names that are listened for an event is about. */
function namesOf(honoured: Honoured, event: RecordOf): string[] {
  if (event['type'] === 'cache-invalidate') {
    const { keys } = event
    return honoured.resourcesListChanged && Array.isArray(keys) && keys.includes(skills) ? [skills] : []
  }
  const ref = subjectOf(event)
  if (!ref) return []
  const uri = `guildhall://${ref.kind}s/${ref.id}`
  const task = taskIdOf(ref)
  return [
    ...(honoured.resourceSubscriptions?.includes(uri) ? [uri] : []),
    ...(honoured.taskIds?.includes(task) ? [task] : []),
  ]
}

async function pass(exchange: Exchange, name: string, told: Map<string, string>, tell: Tell): Promise<void> {
  if (name === skills) return tell('notifications/resources/list_changed', {})
  const task = readTaskId(name)
  if (!task) return tell('notifications/resources/updated', { uri: name })
  // A task is told anew when its state is another one, and read only then: what it has said so far is no part of it.
  const [state = ''] = (await exchange.findMark(task.kind, task.id))?.split(' ') ?? []
  if (told.get(name) === state) return
  told.set(name, state)
  await tell('notifications/tasks', await describeTaskNow(exchange, task))
}

function subjectOf({ executionId, runId }: RecordOf): TaskRef | undefined {
  if (typeof executionId === 'string') return { kind: 'execution', id: executionId }
  return typeof runId === 'string' ? { kind: 'run', id: runId } : undefined
}
