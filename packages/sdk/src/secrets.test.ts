import { inspect } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { atSize } from '../../../test/support/sizes.ts'
import { Client } from './client.ts'
import { listWorkspaces } from './generated/workspaces.ts'

const secrets = fc
  .string({ unit: fc.constantFrom(...'abcXYZ019_-'), minLength: 20, maxLength: 60 })
  .map((text) => `guild_live_${text}`)
const kinds = fc.constantFrom('apiKey', 'authToken', 'accessToken')

/** Ways in which the other side can give a secret back. */
const replies: ((secret: string) => Promise<Response>)[] = [
  async (secret) => new Response(`<html>x-api-key: ${secret}`, { status: 502 }),
  async (secret) => new Response(`not json ${secret}`),
  async (secret) =>
    Response.json(
      { error: { code: 'FORBIDDEN', message: secret, details: { a: [secret] } } },
      { status: 403 },
    ),
  async (secret) => Response.json({ error: secret, message: secret, [secret]: secret }, { status: 409 }),
  async (secret) =>
    Response.json({ error: 'invalid_token', error_description: `Bearer ${secret}` }, { status: 401 }),
  async (secret) => {
    throw new TypeError(`invalid header ${secret}`)
  },
  async (secret) => {
    throw new TypeError('fetch failed', { cause: new Error(`at ${secret}`) })
  },
]

const errors = atSize(1000, 10_000)

test(
  'no error and no hook holds a credential, whoever gives it back',
  async () => {
    await fc.assert(
      fc.asyncProperty(secrets, kinds, fc.constantFrom(...replies), async (secret, kind, reply) => {
        const told: unknown[] = []
        const client = new Client({
          baseUrl: 'https://guild.test',
          [kind]: secret,
          maxRetries: 0,
          fetch: (() => reply(secret)) as typeof globalThis.fetch,
          onRequest: (facts) => told.push(facts),
          onResponse: (facts) => told.push(facts),
        })
        const error = await client.call(listWorkspaces, {}).catch((thrown: unknown) => thrown)
        expect(error).toBeInstanceOf(Error)
        const shown = inspect([error, told], { depth: 10, showHidden: true }) + JSON.stringify([error, told])
        expect(shown).not.toContain(secret)
      }),
      { numRuns: errors },
    )
  },
  errors * 20,
)

test('a credential that no header takes is refused without being quoted', async () => {
  for (const apiKey of ['guild_live_secret\n', 'guild live secret', 'guild_live_sécret', '']) {
    const client = new Client({ baseUrl: 'https://guild.test', apiKey })
    const error = await client.call(listWorkspaces, {}).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'ConfigurationError' })
    expect(inspect(error, { showHidden: true }).replace(/at .*/g, '')).not.toMatch(/guild.live/)
  }
})
