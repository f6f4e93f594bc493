import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as later } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createAuthenticator } from '../../../test/support/authenticator.ts'
import { newRunner } from '../../../test/support/executions.ts'
import { atSize } from '../../../test/support/sizes.ts'
import { app, baseUrl } from './support/stack.ts'

const rounds = atSize(2, 50)
/** As long as it takes to find the phone. */
const decidesAfterMs = 3000

/** Somebody with a passkey, and a key of theirs that may run nothing. */
async function newOwner() {
  const person = await newRunner(app)
  const { token } = person
  const passkey = createAuthenticator({ origin: baseUrl.replace('127.0.0.1', 'localhost') })
  const { body } = await app.call('POST', '/api/v1/passkeys/options', { token })
  const credential = passkey.register(body.registration)
  await app.call('POST', '/api/v1/passkeys', { token, body: { credential } })
  const { secret } = await app.newKey(person, { scopes: ['agent:list'] })
  const approve = async (id: string): Promise<void> => {
    await later(decidesAfterMs)
    const asked = await app.call('POST', `/api/v1/approvals/${id}/challenge`, { token, body: {} })
    const decision = { mode: 'session', device_auth: passkey.assert(asked.body.options) }
    const answer = await app.call('POST', `/api/v1/agents/request-permission/${id}/approve`, {
      token,
      body: decision,
    })
    expect(answer.status, answer.text).toBe(200)
  }
  return { secret, approve }
}

test(
  `a program that lacks a scope runs ${rounds} skills with ${rounds} questions`,
  async () => {
    const owners = []
    for (let round = 0; round < rounds; round++) owners.push(await newOwner())
    const child = spawn(process.execPath, [fileURLToPath(new URL('support/heal.ts', import.meta.url))], {
      env: { PATH: process.env['PATH'] ?? '' },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const closed = once(child, 'close')
    child.stdin.end(JSON.stringify({ baseUrl, keys: owners.map(({ secret }) => secret) }))
    const asked: number[] = []
    const ended: Record<number, string> = {}
    const executions = new Set<string>()
    const decisions: Promise<void>[] = []
    for await (const line of createInterface(child.stdout)) {
      const { person, requestId, executionId, status } = JSON.parse(line)
      if (requestId) {
        asked.push(person)
        decisions.push(owners[person]?.approve(requestId) ?? Promise.reject(new Error('Asked for nobody')))
      } else {
        ended[person] = status
        if (executionId) executions.add(executionId)
      }
    }
    await closed
    await Promise.all(decisions)
    expect(Object.values(ended)).toEqual(Array(rounds).fill('completed'))
    expect(executions.size).toBe(rounds)
    expect(asked.sort((a, b) => a - b)).toEqual(owners.map((_, person) => person))
  },
  60_000 + rounds * 4000,
)
