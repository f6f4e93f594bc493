import { expect, test } from 'vitest'
import { listWorkflowRuns } from './generated/runs.ts'
import { getWorkflow } from './generated/workflows.ts'
import { createWorkspace, listWorkspaces } from './generated/workspaces.ts'
import { Guildhall } from './guildhall.ts'
import { answers, type FakeHandler, fakeFetch, refusal } from './testing.ts'

const guildWith = (...handlers: FakeHandler[]) =>
  new Guildhall({
    baseUrl: 'https://guild.test',
    apiKey: 'guild_test_key',
    maxRetries: 0,
    fetch: fakeFetch(...handlers),
  })

test('handlers answer the operation they are for, with what it was given', async () => {
  const seen: unknown[] = []
  const guild = guildWith(
    answers(getWorkflow, ({ params }) => ({ slug: params.slug }) as never),
    answers(listWorkflowRuns, ({ query }) => {
      seen.push(query)
      return { runs: [], nextCursor: null }
    }),
    answers(createWorkspace, ({ body }, headers) => {
      seen.push([body, headers.has('idempotency-key'), headers.get('x-api-key')])
      return { id: 'w' } as never
    }),
  )
  expect(await guild.workflows.get('a b')).toEqual({ slug: 'a b' })
  // A path that is named goes before one with a parameter there.
  expect(await guild.runs.list({ status: 'failed' }).take(5)).toEqual([])
  await guild.workspaces.create({ name: 'n' })
  expect(seen).toEqual([{ status: 'failed' }, [{ name: 'n' }, true, 'guild_test_key']])
})

test('a handler refuses as the server does', async () => {
  const guild = guildWith(
    answers(listWorkspaces, () => {
      throw refusal({ status: 402, code: 'INSUFFICIENT_CREDITS', details: { balance: 1 } })
    }),
  )
  await expect(guild.workspaces.list()).rejects.toMatchObject({
    name: 'InsufficientCreditsError',
    balance: 1,
  })
})

test('what no handler is for is said', async () => {
  await expect(guildWith().workspaces.list()).rejects.toMatchObject({
    name: 'ConnectionError',
    cause: { message: 'No handler is for GET /api/v1/workspaces: give fakeFetch one' },
  })
})
