import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogger, redact } from '#platform/logger.ts'
import { mintSecret, type SecretKind, secretPrefixes } from '#platform/secrets.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

let house: House

beforeAll(async () => {
  house = await openHouse({ DATABASE_URL: await createDatabase(), LOG_LEVEL: 'trace' })
})

afterAll(() => house.close())

test.each(Object.keys(secretPrefixes) as SecretKind[])('a %s secret never passes the log sink', (kind) => {
  const secret = mintSecret(kind)
  for (const line of [
    `{"msg":"${secret}"}`,
    `"url":"/x?code=${secret}&y"`,
    `err: ${secret}.`,
    `a\\n${secret}\\nb`,
  ]) {
    expect(redact(line)).not.toContain(secret.slice(secretPrefixes[kind].length))
  }
})

test('headers and passwords in addresses are taken out whatever their value', () => {
  const line =
    '{"headers":{"authorization":"Bearer a\\"b","Cookie":["x=1","y=2"]},"url":"postgres://u:p4ss@h/db"}'
  const clean = redact(line)
  for (const secret of ['Bearer', 'x=1', 'p4ss']) expect(clean).not.toContain(secret)
  expect(JSON.parse(clean).headers.authorization).toBe('[redacted]')
})

test('a canary sent through every field and error path is not in the log', async () => {
  const person = await house.newPerson()
  const canary = mintSecret('apiKey')
  const device = mintSecret('device')
  const headers = { 'x-client-label': canary, 'user-agent': canary, 'x-request-id': device, referer: canary }
  const attempts = [
    house.call('GET', `/api/v1/workspaces?x=${canary}`, { key: canary, headers }),
    house.call('GET', `/api/v1/nope/${canary}`, { token: canary }),
    house.call('POST', '/api/v1/activate', { headers }),
    house.call('POST', '/api/v1/activate/poll', { body: { device_code: device } }),
    house.call('POST', '/api/v1/activate/confirm', { token: person.token, body: { code: canary } }),
    house.call('POST', '/api/v1/keys', { token: person.token, body: `{"label":"${canary}` }),
    house.call('POST', '/api/v1/keys/report-leak', { body: { key: canary } }),
    house.call('POST', '/api/v1/auth/exchange', { body: { code: canary, verifier: device } }),
    house.call('GET', `/api/v1/auth/callback?state=${canary}&code=${device}`),
    house.call('DELETE', `/api/v1/keys/${canary}`, { token: person.token }),
  ]
  await Promise.all(attempts)
  house.deps.logger.error({ err: new Error(`failed with ${canary}`), deep: { list: [device] } }, canary)
  const log = house.log()
  expect(log).toContain('[redacted]')
  for (const secret of [canary, device, person.token]) expect(log).not.toContain(secret)
})

test('the proof itself: an unredacted logger would have shown it', () => {
  const canary = mintSecret('apiKey')
  let plain = ''
  createLogger('info', { write: (line: string) => (plain += line) } as never).info(`x ${canary}`)
  expect(plain).not.toContain(canary)
  expect(`{"msg":"x ${canary}"}`).toContain(canary)
})

test('traces go to the collector when one is configured', async () => {
  const received: { url: string | undefined; body: string }[] = []
  const collector = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      received.push({ url: request.url, body })
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  const address = collector.address()
  const port = typeof address === 'object' ? address?.port : 0
  const traced = await openHouse({
    DATABASE_URL: await createDatabase(),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  })
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  await traced.call('GET', '/api/v1/meta', { headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } })
  await traced.close()
  collector.close()
  expect(received[0]?.url).toBe('/v1/traces')
  const spans = JSON.parse(received[0]?.body ?? '{}').resourceSpans[0].scopeSpans[0].spans
  expect(spans).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'getMeta', traceId })]))
})
