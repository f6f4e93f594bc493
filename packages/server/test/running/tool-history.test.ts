import { afterAll, expect, test, vi } from 'vitest'
import type { Person } from '../../../../test/support/caller.ts'
import { type ChatHouse, openChatHouse, scripted } from '../support/threads.ts'

/** Providers refuse a request with calls and results of tools that offers none: what was done is told in words then. */
const houses: ChatHouse[] = []
afterAll(() => Promise.all(houses.map((house) => house.close())))

test.each(['anthropic', 'openai-compatible'])(
  'an agent that has lost its tools goes on in its thread (%s)',
  async (provider) => {
    const house = await openChatHouse({}, { provider })
    houses.push(house)
    const person: Person = await house.newPerson()
    const { token } = person
    const look = { say: 'Let me see.', tools: [{ name: 'list_workflows', input: {} }] }
    const ended = (count: number) =>
      vi.waitFor(
        async () => {
          const runs = await house.call('GET', '/api/v1/threads/t/runs', { token })
          const all: { status: string; errorCode: string | null }[] = runs.body.items
          expect(all.filter(({ status }) => status === 'completed' || status === 'failed')).toHaveLength(
            count,
          )
          return all
        },
        { timeout: 60_000, interval: 50 },
      )
    await house.send(person, 't', scripted(look, { say: 'None.' }))
    expect(await ended(1)).toMatchObject([{ status: 'completed' }])
    await house.call('PATCH', '/api/v1/agents/assistant', { token, body: { tools: [] } })
    await house.send(person, 't', scripted({ say: 'Still here.' }))
    expect(await ended(2)).toMatchObject([{ status: 'completed' }, { status: 'completed' }])
  },
)
