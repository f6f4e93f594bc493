import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Guildhall } from './guildhall.ts'
import { tokenSource } from './oauth.ts'

/** A computer whose clock is set by hours while a program runs, or that slept: tokens last as long as the server says. */

const hourMs = 3_600_000
let close = () => {}

/** The clocks are ours; timers and the network go on as they are. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
  close()
})

const setClockBy = (ms: number) => vi.setSystemTime(Date.now() + ms)
const pass = (ms: number) => vi.advanceTimersByTime(ms)

async function serve(answer: (request: IncomingMessage, response: ServerResponse, own: string) => void) {
  const server = createServer((request, response) => answer(request, response, address))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  close = () => {
    server.closeAllConnections()
    server.close()
  }
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return address
}

/** Tokens for an hour, and how often they were asked for. */
async function openSource() {
  let renewals = 0
  const baseUrl = await serve((request, response, own) => {
    const isMetadata = request.url?.startsWith('/.well-known')
    if (!isMetadata) renewals++
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify(
        isMetadata
          ? { issuer: own, authorization_endpoint: `${own}/authorize`, token_endpoint: `${own}/token` }
          : { access_token: `a${renewals}`, refresh_token: `r${renewals}`, expires_in: 3600 },
      ),
    )
  })
  const expiresAt = new Date(Date.now() + hourMs)
  const given = { accessToken: 'a0', refreshToken: 'r0', expiresAt, scope: undefined }
  const credential = tokenSource({ baseUrl, clientId: 'c' }, given, () => {})
  return { renewals: () => renewals, many: () => Promise.all(Array.from({ length: 20 }, () => credential())) }
}

test('a clock that is set forward costs one renewal, not one for each call', async () => {
  const { many, renewals } = await openSource()
  await many()
  expect(renewals()).toBe(0)
  setClockBy(7 * hourMs)
  for (let round = 0; round < 5; round++) await many()
  expect(renewals()).toBe(1)
})

test('a clock that is set back keeps no token alive that the server has let go', async () => {
  const { many, renewals } = await openSource()
  setClockBy(-7 * hourMs)
  await many()
  expect(renewals()).toBe(0)
  for (let hour = 1; hour <= 3; hour++) {
    pass(hourMs)
    expect(await many()).toEqual(Array(20).fill({ accessToken: `a${hour}` }))
    expect(renewals()).toBe(hour)
  }
})

test('a computer that slept, so that its own time stood still, renews when it wakes', async () => {
  const { many, renewals } = await openSource()
  setClockBy(hourMs)
  await many()
  expect(renewals()).toBe(1)
})

test.each([7, -7])('a stream goes on with one address when the clock is set by %i hours', async (hours) => {
  let [addresses, openings] = [0, 0]
  const baseUrl = await serve((request, response, own) => {
    if (request.url?.includes('stream-token')) {
      addresses++
      response.setHeader('content-type', 'application/json')
      return response.end(JSON.stringify({ sseUrl: `${own}/stream?token=${addresses}` }))
    }
    openings++
    response.setHeader('content-type', 'text/event-stream')
    const type = openings === 6 ? 'session.status_idle' : 'agent.info'
    return response.end(`retry: 1\ndata: ${JSON.stringify({ sequence: openings, type, payload: {} })}\n\n`)
  })
  const guild = new Guildhall({ baseUrl, apiKey: 'guild_live_x' })
  const seen: unknown[] = []
  for await (const event of guild.executions.events('exec_x')) {
    seen.push('sequence' in event && event.sequence)
    setClockBy(hours * hourMs)
  }
  expect(seen).toEqual([1, 2, 3, 4, 5, 6])
  expect(addresses).toBe(1)
})
