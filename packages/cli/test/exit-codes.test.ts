import { beforeAll, describe, expect, test } from 'vitest'
import { bash, installErrand, script } from '../../../test/support/executions.ts'
import { exit, exitMeanings } from '../src/exit-codes.ts'
import { app, newHome, newUser, run, start, until } from './support/guild.ts'

let user: Awaited<ReturnType<typeof newUser>>

beforeAll(async () => {
  user = await newUser()
  await installErrand(app, user.person)
})

interface Row {
  situation: string
  code: number
  args: readonly string[]
  env?: () => Promise<Record<string, string>>
}

const limited = async (fields: Record<string, unknown>) => {
  const { secret } = await app.newKey(user.person, fields)
  return { ...user.env, GUILD_API_KEY: secret }
}

/** At least one way to each number that a command ends with by itself; signals stand in running.test.ts. */
const rows: readonly Row[] = [
  { situation: 'done', code: 0, args: ['whoami'] },
  {
    situation: 'the run failed',
    code: 1,
    args: ['run', 'errand', script({ fail: { status: 400, times: 99 } })],
  },
  { situation: 'no such command', code: 2, args: ['skils'] },
  { situation: 'no such flag', code: 2, args: ['whoami', '--wat'] },
  { situation: 'a flag without its value', code: 2, args: ['whoami', '--get'] },
  { situation: 'a missing argument', code: 2, args: ['exec', 'show'] },
  { situation: 'no such thing', code: 3, args: ['exec', 'show', 'exec_none'] },
  { situation: 'no key', code: 4, args: ['whoami'], env: async () => ({}) },
  {
    situation: 'a key that is none',
    code: 4,
    args: ['whoami'],
    env: async () => ({ ...user.env, GUILD_API_KEY: 'guild_live_none' }),
  },
  {
    situation: 'a key before its first consent',
    code: 4,
    args: ['whoami'],
    env: () => limited({ access: 'declared' }),
  },
  { situation: 'a person’s command without a person', code: 4, args: ['keys', 'list'] },
  { situation: 'another workspace', code: 4, args: ['whoami', '--workspace', 'Elsewhere'] },
  {
    situation: 'a missing scope',
    code: 5,
    args: ['run', 'errand', 'x'],
    env: () => limited({ scopes: ['agent:list'] }),
  },
  {
    situation: 'nobody decides in time',
    code: 6,
    args: ['perms', 'ask', 'profile:read', '--reason', 'to see', '--wait=1s'],
    env: () => limited({ scopes: ['agent:list'] }),
  },
  {
    situation: 'its limit is reached',
    code: 7,
    args: ['run', 'errand', script({ say: 'x' })],
    env: () => limited({ spendLimit: 0 }),
  },
  {
    situation: 'not reached',
    code: 11,
    args: ['whoami'],
    env: async () => ({ ...user.env, GUILD_BASE_URL: 'http://127.0.0.1:9' }),
  },
  {
    situation: 'a bug',
    code: 70,
    args: ['whoami'],
    env: async () => ({
      ...user.env,
      NODE_OPTIONS: '--import=data:text/javascript,delete%20globalThis.AbortController',
    }),
  },
  { situation: 'a folder that is not there', code: 13, args: ['skills', 'upload', './none-such'] },
  { situation: 'not valid', code: 13, args: ['api', 'POST', '/api/v1/agents/ask', '-f', 'question='] },
]

describe('the exit code', () => {
  test.each(rows)('is $code: $situation', async ({ args, code, env }) => {
    const ran = await run(user.home, [...args, '--json'], { env: env ? await env() : user.env })
    expect(ran, ran.stderr).toMatchObject({ code })
    if (code === 0 || code === 1) return
    expect(ran.stdout.trim().split('\n').at(-1) ?? '').not.toContain('error')
    if (code !== 7)
      expect(ran.error).toMatchObject({
        exitCode: code,
        message: expect.any(String),
        next: expect.any(Array),
      })
  })

  test('is 8 while another runs, 5 when denied, 12 when decided already', async () => {
    const busy = start(user.home, ['run', 'errand', script({ tools: [bash('sleep 60')] })], { env: user.env })
    const id = await until(() => /exec_\S+/.exec(busy.stderr())?.[0])
    const second = await run(user.home, ['run', 'errand', 'x', '--json'], { env: user.env })
    expect(second).toMatchObject({
      code: 8,
      error: { next: [`guild exec watch ${id}`, expect.stringContaining('--queue')] },
    })
    expect((await run(user.home, ['exec', 'cancel', id, '--json'], { env: user.env })).code).toBe(0)
    expect((await busy.ended).code).toBe(10)

    const env = await limited({ scopes: ['agent:list'] })
    const asked = await run(user.home, ['perms', 'ask', 'profile:read', '--reason', 'to see', '--json'], {
      env,
    })
    await app.call('POST', `/api/v1/agents/request-permission/${asked.json.request_id}/deny`, {
      token: user.person.token,
      body: { reason: 'no' },
    })
    expect(await run(user.home, ['perms', 'wait', asked.json.request_id, '--json'], { env })).toMatchObject({
      code: 5,
      error: { message: 'Denied: "no"' },
    })
    const token = { GUILD_BASE_URL: user.env.GUILD_BASE_URL, GUILD_AUTH_TOKEN: user.person.token }
    const late = ['approvals', 'deny', asked.json.request_id, '--json']
    expect(await run(user.home, late, { env: token })).toMatchObject({ code: 12 })
  })

  test('is 9 when something was tried too often', async () => {
    const { env, home } = await newUser()
    const wrong = ['api', 'POST', '/api/v1/traces/pickup', '-f', 'code=AAAA-AAAA', '--json']
    const codes: (number | null)[] = []
    for (let tries = 0; tries < 11; tries++) codes.push((await run(home, wrong, { env })).code)
    expect(codes).toEqual([...Array<number>(10).fill(3), 9])
  })

  test('has a row here for each number that there is', () => {
    const elsewhere = [8, 9, 10, 12, exit.hangUp, exit.interrupted, exit.terminated]
    const provoked = new Set<number>([...rows.map(({ code }) => code), ...elsewhere])
    expect(
      Object.keys(exitMeanings)
        .map(Number)
        .filter((code) => !provoked.has(code)),
    ).toEqual([])
  })

  test('lets --ask heal a missing scope through a person', async () => {
    const { person, env, home } = await newUser({ scopes: ['agent:list'] })
    const asking = start(home, ['api', 'GET', '/api/v1/profile', '--ask=to see', '--json'], { env })
    const item = await until(async () => {
      const path = '/api/v1/approvals?kind=permission&status=pending'
      return (await app.call('GET', path, { token: person.token })).body.items[0]
    })
    const path = `/api/v1/agents/request-permission/${item.id}/approve`
    await app.call('POST', path, { token: person.token, body: { mode: 'session' } })
    expect((await asking.ended).code).toBe(0)
  })

  test('is 4 for an approval that no person types', async () => {
    const env = { GUILD_BASE_URL: user.env.GUILD_BASE_URL, GUILD_AUTH_TOKEN: user.person.token }
    expect((await run(newHome(), ['approvals', 'approve', 'ask_x', '--yes'], { env })).code).toBe(4)
  })
})
