import { expect } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { skillText } from '../../../../test/support/skills.ts'
import { definitionOf } from '../../../../test/support/workflows.ts'
import type { House } from './house.ts'

/** What the house needs so that things start in it: an engine that takes all it is given, and money. */
export const busyHouse = (ingressUrl: string) => ({
  RESTATE_INGRESS_URL: ingressUrl,
  STARTING_CREDITS: '10000',
  MODELS: JSON.stringify([
    {
      id: 'none',
      provider: 'anthropic',
      baseUrl: 'http://127.0.0.1:9/',
      apiKey: 'k',
      inputPricePerMillion: 1,
      outputPricePerMillion: 1,
      default: true,
    },
  ]),
})

/** Somebody with a skill and a workflow that keys can start. */
export async function newBusyPerson(house: House): Promise<Person> {
  const person = await house.newPerson()
  const as = async (method: string, path: string, body: unknown) => {
    const answer = await house.call(method, `/api/v1${path}`, { token: person.token, body })
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.body
  }
  const files = [{ path: 'SKILL.md', content: skillText('errand', 'Run the errand.') }]
  const { id: artifactId } = await as('POST', '/artifacts', { type: 'skill', files })
  await as('POST', '/skills/errand/install', { artifactId })
  const definition = definitionOf('nap', [{ type: 'sleep', id: 's', duration: 60_000 }])
  await as('POST', '/workflows/nap/install', { definition })
  return person
}

/** Starts one thing of each kind by this key. */
export async function keepBusy(house: House, { workspaceId }: Person, key: string) {
  const start = async (path: string, body: unknown) => {
    const answer = await house.call('POST', `/api/v1${path}`, { key, body })
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.body
  }
  const { executionId } = await start('/skills/errand/run', { input: 'Go.', ifBusy: 'queue' })
  const { runId } = await start('/workflows/nap/launch', { inputs: {} })
  const message = { resourceId: workspaceId, threadId: `of-${executionId.slice(-12)}`, message: 'Hello.' }
  const { threadId } = await start('/agents/assistant/send-message', message)
  return { executionId, runId, threadId }
}

/** A permission for a time, as a person's yes leaves it. */
export async function giveGrant(
  house: House,
  keyId: number,
  { workspaceId }: Person,
  { scope = 'profile:read', mode = 'session' as 'session' | 'one_time', seconds = 600 } = {},
): Promise<number> {
  const { id } = await house.deps.database.db
    .insertInto('grants')
    .values({
      key_id: keyId,
      workspace_id: workspaceId,
      scope,
      mode,
      request_id: null,
      bound_method: null,
      bound_path: null,
      bound_body_sha256: null,
      approved_by: null,
      passkey: null,
      spent_for: null,
      expires_at: new Date(Date.now() + seconds * 1000),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return Number(id)
}
