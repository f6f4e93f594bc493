import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeZip } from '../../../../test/support/archives.ts'
import type { Person } from '../../../../test/support/caller.ts'
import { modernMessage } from '../../../../test/support/mcp.ts'
import { skillText } from '../../../../test/support/skills.ts'
import { createDatabase, type House, openHouse } from '../support/house.ts'

/** What is asked with a good credential and done, or told, when that has ended. */
let house: House
let person: Person
/** Answers when it is told to. */
const registry = createServer((_asked: IncomingMessage, answer) => asked.resolve(answer))
let asked = Promise.withResolvers<ServerResponse>()

/** Longer than whoever was let in is believed. */
const aWhileMs = 1100

beforeAll(async () => {
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
  const { port } = registry.address() as AddressInfo
  const settings = { FETCH_ALLOW: `127.0.0.1:${port}` }
  house = await openHouse({ DATABASE_URL: await createDatabase(), ...settings })
  person = await house.newPerson()
})
afterAll(async () => {
  await house.close()
  registry.closeAllConnections()
  registry.close()
})

const revoke = (id: number) => house.call('DELETE', `/api/v1/keys/${id}`, { token: person.token })

/** The head and the first bytes now, the rest when it is told to. */
function callSlowly(key: string, name: string, args: object) {
  const { headers, body } = modernMessage('tools/call', { name, arguments: args })
  const text = JSON.stringify(body)
  const sent = request(`${house.url}/mcp/`, {
    method: 'POST',
    agent: false,
    headers: {
      ...headers,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'x-api-key': key,
    },
  })
  const status = new Promise<number>((resolve, reject) => {
    sent.on('error', reject)
    sent.on('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
  })
  sent.write(text.slice(0, 8))
  return { status, finish: () => sent.end(text.slice(8)) }
}

const tools = {
  whoami: {},
  search_skills: {},
  list_workflows: {},
  ask_person: { question: 'Still there?', wait_seconds: 0 },
  request_permission: { scope: 'profile:read', reason: 'x', wait_seconds: 0 },
}

test('a call whose body ends after its key did is refused', async () => {
  const statuses = Object.entries(tools).map(async ([name, args]) => {
    const { id, secret } = await house.newKey(person)
    const call = callSlowly(secret, name, args)
    await wait(100)
    expect((await revoke(id)).status).toBe(200)
    await wait(aWhileMs)
    call.finish()
    return [name, await call.status]
  })
  expect(await Promise.all(statuses)).toEqual(Object.keys(tools).map((name) => [name, 401]))
})

test('what a key began to bring in from elsewhere is not kept once the key has ended', async () => {
  const { id, secret } = await house.newKey(person)
  const { port } = registry.address() as AddressInfo
  const install = async (key: string, slug: string) => {
    asked = Promise.withResolvers()
    const args = { slug, registry: `http://127.0.0.1:${port}` }
    const call = house.call('POST', '/mcp/', {
      key,
      ...modernMessage('tools/call', { name: 'install_skill', arguments: args }),
    })
    return { call, answer: await asked.promise }
  }
  const give = (answer: ServerResponse, slug: string) =>
    answer
      .writeHead(200, { 'content-type': 'application/zip', 'x-commit-hash': 'c0ffee'.repeat(7).slice(0, 40) })
      .end(makeZip([{ name: 'SKILL.md', content: skillText(slug, 'Do it.') }]))
  const late = await install(secret, 'late')
  await revoke(id)
  await wait(aWhileMs)
  give(late.answer, 'late')
  expect((await late.call).status).toBe(401)
  const good = await install((await house.newKey(person)).secret, 'good')
  await wait(aWhileMs)
  give(good.answer, 'good')
  expect((await good.call).body.result.structuredContent).toMatchObject({ slug: 'good' })
  const { body } = await house.call('GET', '/api/v1/skills', { token: person.token })
  expect(body.map(({ slug }: { slug: string }) => slug)).toEqual(['good'])
})
