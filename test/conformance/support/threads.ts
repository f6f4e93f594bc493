import { inject } from 'vitest'
import type { Key, Person } from './actors.ts'
import { type OpenStream, openStream } from './event-streams.ts'

export interface Frame {
  id: string
  type: string
  sequence: number
  threadId: string
  runId?: string
  payload: Record<string, unknown>
  at: string
}

export interface Sent {
  accepted: boolean
  messageId: string
  runId: string
  threadId: string
  delivery: string
}

type Speaker = Person | Key

const headersOf = (speaker: Speaker): Record<string, string> =>
  'token' in speaker ? { 'x-auth-token': speaker.token } : { 'x-api-key': speaker.secret }

const addressOf = (path: string) => `${inject('baseUrl')}/api/v1${path}`

/** Opens the stream of a thread; the body may say more, or something else. */
export function subscribe(speaker: Speaker, body: object, agent = 'assistant'): Promise<OpenStream> {
  return openStream(addressOf(`/agents/${agent}/subscribe-thread`), headersOf(speaker), body)
}

/** Chats with an agent, reading along. */
export function chatStream(speaker: Speaker, body: object): Promise<OpenStream> {
  return openStream(addressOf('/chat/assistant'), headersOf(speaker), { stream: true, ...body })
}

export function send(speaker: Speaker, body: object, agent = 'assistant') {
  return speaker.post<Sent>(`/agents/${agent}/send-message`, body)
}

export const framesOf = ({ frames }: OpenStream): Frame[] => frames.map(({ data }) => JSON.parse(data))

export const typesOf = (stream: OpenStream): string[] => framesOf(stream).map(({ type }) => type)

/** The first frame of a type of one run, or of any; come or still to come. */
export async function frameOf(stream: OpenStream, type: string, runId?: string): Promise<Frame> {
  const isIt = (frame: Frame) => frame.type === type && (runId === undefined || frame.runId === runId)
  const { data } = await stream.next((one) => isIt(JSON.parse(one.data)))
  return JSON.parse(data)
}
