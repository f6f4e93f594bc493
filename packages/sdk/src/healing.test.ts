import { expect, test } from 'vitest'
import { pollPermission, requestPermission } from './generated/permissions.ts'
import { listWorkspaces } from './generated/workspaces.ts'
import { Guildhall } from './guildhall.ts'
import { answers, fakeFetch, refusal } from './testing.ts'

test('one who gives up leaves the question to the others that wait for it', async () => {
  let granted = false
  let asked = 0
  let decide = () => {}
  const decision = new Promise<void>((resolve) => {
    decide = resolve
  })
  const fetch = fakeFetch(
    answers(listWorkspaces, () => {
      if (granted) return []
      const details = { missing_scopes: ['profile:read'] }
      throw refusal({ status: 403, code: 'MISSING_SCOPE', details })
    }),
    answers(requestPermission, () => {
      asked++
      return { status: 'pending', request_id: 'r' } as never
    }),
    answers(pollPermission, async () => {
      await decision
      granted = true
      return { status: 'granted' } as never
    }),
  )
  const client = new Guildhall({
    baseUrl: 'https://guild.test',
    apiKey: 'k',
    fetch,
    permissions: { onMissing: 'ask' },
  })
  const stop = new AbortController()
  const first = client.call(listWorkspaces, {}, { signal: stop.signal })
  const second = client.call(listWorkspaces, {})
  setTimeout(() => stop.abort('enough'), 50)
  await expect(first).rejects.toBe('enough')
  decide()
  await expect(second).resolves.toEqual([])
  expect(asked).toBe(1)
})

test('what is to fit one request is asked scope by scope, each for that request alone', async () => {
  const held = new Set<string>()
  const asked: unknown[] = []
  const needed = ['billing:read', 'profile:read']
  const fetch = fakeFetch(
    answers(listWorkspaces, () => {
      const missing = needed.filter((scope) => !held.has(scope))
      if (missing.length === 0) return []
      throw refusal({ status: 403, code: 'MISSING_SCOPE', details: { missing_scopes: missing } })
    }),
    answers(requestPermission, ({ body }) => {
      asked.push(body)
      held.add(body.scope)
      return { status: 'pending', request_id: body.scope } as never
    }),
    answers(pollPermission, () => ({ status: 'granted' }) as never),
  )
  const client = new Guildhall({ baseUrl: 'https://guild.test', apiKey: 'k', fetch })
  const permission = { bind: true, mode: 'one_time', reason: 'Once' } as const
  await expect(client.call(listWorkspaces, {}, { permission })).resolves.toEqual([])
  const action = { request: { method: 'GET', path: '/api/v1/workspaces' } }
  expect(asked).toMatchObject(needed.map((scope) => ({ scope, mode: 'one_time', action })))
})
