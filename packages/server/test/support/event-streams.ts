import { randomBytes, randomUUID } from 'node:crypto'
import { get } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import pg from 'pg'
import { toOperations } from '#operations/operation.ts'
import type { Bearer } from '#operations/signed-url.ts'
import {
  appendEvents,
  appendEventsLocked,
  type NewEvent,
  publishEvents,
} from '#running/executions/event-log.ts'
import { executionStreamHandlers } from '#running/executions/routes.ts'
import { ExecutionStreams, streamUrl } from '#running/executions/stream.ts'
import { Streams } from '#streams/streams.ts'
import { createServer } from '#transports/http/server.ts'
import type { House } from './house.ts'

export interface ExecutionRow {
  id: number
  executionId: string
  workspaceId: string
}

/** Executions as rows of their own, without the work that makes them. */
export async function openExecutions(databaseUrl: string) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const checksum = randomBytes(32).toString('hex')
  await client.query('insert into bundles (checksum, files_count, size_bytes) values ($1, 1, 1)', [checksum])
  return {
    client,
    /** A working one; `id` for one of a certain partition. */
    insert: async (
      options: { workspaceId?: string; id?: number; status?: string } = {},
    ): Promise<ExecutionRow> => {
      const { workspaceId = randomUUID(), id, status = 'working' } = options
      const executionId = `exec_${randomUUID()}`
      if (!options.workspaceId) {
        await client.query(`insert into workspaces (id, name, kind) values ($1, 'Streams', 'team')`, [
          workspaceId,
        ])
      }
      const { rows } = await client.query(
        `insert into executions (${id ? 'id, ' : ''}execution_id, workspace_id, user_id, status, skill_id, skill_slug,
           skill_name, skill_version, bundle_checksum, source, interface, input_text, trace_id, attempt)
         ${id ? 'overriding system value' : ''}
         values (${id ? `${id}, ` : ''}$1, $2, $3, $4, 1, 's', 'S', 1, $5, 'api', 'api', 'hello', 't', 1) returning id`,
        [executionId, workspaceId, randomUUID(), status, checksum],
      )
      return { id: Number(rows[0].id), executionId, workspaceId }
    },
    sequences: async (id: number): Promise<number[]> => {
      const { rows } = await client.query(
        'select sequence from execution_events where execution_id = $1 order by sequence',
        [id],
      )
      return rows.map(({ sequence }) => sequence)
    },
    close: () => client.end(),
  }
}

export type Executions = Awaited<ReturnType<typeof openExecutions>>

/** A server that has nothing but streams, in the given house's process. */
export async function openStreamServer(house: House, options: { beatEveryMs?: number } = {}) {
  const streams = new Streams({ ...house.deps, sockets: house.sockets }, options)
  const nobody = () => Promise.reject(new Error('no credential is read here'))
  const server = createServer({
    deps: house.deps,
    socketDoor: house.sockets.door,
    authenticators: { key: nobody, session: nobody, oauth: nobody, enterWorkspace: nobody },
    grants: {} as never,
    operations: toOperations(executionStreamHandlers(new ExecutionStreams(house.deps, streams)), house.bus),
    closing: [() => streams.close()],
  })
  await server.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`
  return {
    url,
    address: (bearer: Bearer, executionId: string) =>
      streamUrl({ ...house.deps.config, streamUrl: url }, bearer, executionId),
    /** A reader that takes the beginning of the answer and nothing after it. */
    openStalled: async (address: string): Promise<void> => {
      const { pathname, search } = new URL(address)
      await new Promise<void>((opened) => {
        const connection = new Duplex({
          read: () => {},
          // Not calling back is how a connection says that it has no room; the kernel keeps nothing here.
          write: (_chunk, _encoding, done) => {
            if (connection.listenerCount('taken') === 0) return
            connection.emit('taken')
            done()
          },
        })
        connection.once('taken', opened)
        server.server.emit('connection', Object.assign(connection, { remoteAddress: '127.0.0.1' }))
        connection.push(`GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\n\r\n`)
      })
    },
    close: () => server.close(),
  }
}

interface Frame {
  id?: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events whose shape they assert
  data: any
}

export interface OpenStream {
  readonly status: number
  readonly headers: Record<string, unknown>
  readonly frames: Frame[]
  /** Lines that are no frames: comments and `retry:`. */
  readonly remarks: string[]
  /** Everything as it came. */
  text(): string
  sequences(): number[]
  readonly closed: Promise<{ at: number; aborted: boolean }>
  close(): void
}

export function openStream(url: string, headers: Record<string, string> = {}): Promise<OpenStream> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers, agent: false }, (response) => {
      const frames: Frame[] = []
      const remarks: string[] = []
      let text = ''
      let parsed = 0
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        for (let end = text.indexOf('\n\n', parsed); end !== -1; end = text.indexOf('\n\n', parsed)) {
          const frame = parseFrame(text.slice(parsed, end))
          if (typeof frame === 'string') remarks.push(frame)
          else frames.push(frame)
          parsed = end + 2
        }
      })
      response.on('error', () => {})
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        frames,
        remarks,
        text: () => text,
        sequences: () => frames.flatMap(({ id }) => id ?? []),
        closed: new Promise((done) => {
          response.on('close', () => done({ at: performance.now(), aborted: !response.complete }))
        }),
        close: () => request.destroy(),
      })
    })
    request.on('error', reject)
  })
}

function parseFrame(text: string): Frame | string {
  const fields = new Map(
    text.split('\n').map((line) => [line.split(': ', 1)[0], line.slice(line.indexOf(': ') + 2)]),
  )
  const data = fields.get('data')
  if (data === undefined) return text
  const id = fields.get('id')
  return { ...(id === undefined ? {} : { id: Number(id) }), data: JSON.parse(data) }
}

/** A stream on a bare connection of which nothing more is read once it is open. */
export function openUnreadStream(url: string): Promise<Socket> {
  const { hostname, port, pathname, search } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', reject)
    socket.once('data', (answer) => {
      socket.pause()
      if (String(answer).startsWith('HTTP/1.1 200')) resolve(socket)
      else reject(new Error(`no stream: ${String(answer).slice(0, 60)}`))
    })
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\n\r\n`)
  })
}

export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

export function message(text: string): NewEvent {
  return { type: 'agent.message', payload: { content: [{ type: 'text', text }] } }
}

export async function droppedStreams(house: House): Promise<Record<string, number>> {
  const { values } = await house.deps.metrics.droppedStreams.get()
  return Object.fromEntries(values.map(({ labels, value }) => [labels.reason, value]))
}

export async function openStreamCount(house: House): Promise<number> {
  return (await house.deps.metrics.openStreams.get()).values[0]?.value ?? 0
}

const idle: NewEvent = { type: 'session.status_idle', payload: { stop_reason: { type: 'end_turn' } } }

/** The way an execution ends: state and last event in one transaction. */
export async function finishExecution(house: House, execution: ExecutionRow): Promise<void> {
  const { database, redis } = house.deps
  const stored = await database.transaction(async (tx) => {
    const ended = { status: 'completed', completed_at: new Date().toISOString() } as const
    await tx.updateTable('executions').set(ended).where('id', '=', execution.id).execute()
    return appendEventsLocked(tx, execution.id, [idle])
  })
  publishEvents(redis, execution.id, stored)
}

/** As the first attempt, and told to readers at once. */
export async function appendNow(
  house: House,
  execution: ExecutionRow,
  events: readonly NewEvent[],
): Promise<void> {
  const { database, redis } = house.deps
  const stored = await appendEvents(database, execution.id, 1, events)
  if (stored?.length !== events.length) throw new Error('the attempt may not write any more')
  publishEvents(redis, execution.id, stored)
}
