import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { app, environmentOf, newHome, newUser, program, run, start, until } from './support/guild.ts'

const recorded = (name: string) => readFileSync(new URL(`recordings/${name}.json`, import.meta.url), 'utf8')
type User = Awaited<ReturnType<typeof newUser>>

const asks = async ({ person }: User, status = 'pending') =>
  (await app.call('GET', `/api/v1/approvals?kind=ask&status=${status}`, { token: person.token })).body.items
const waiting = (user: User) => until(async () => (await asks(user))[0])
const approve = ({ person }: User, id: string, body: object) =>
  app.call('POST', `/api/v1/approvals/${id}/approve`, { token: person.token, body })
const deny = ({ person }: User, id: string, reason: string) =>
  app.call('POST', `/api/v1/approvals/${id}/deny`, { token: person.token, body: { reason } })

const hook = (user: User, recording: string, flags: readonly string[] = []) =>
  start(user.home, ['hook', 'claude-code', ...flags], { env: user.env, stdin: recorded(recording) })
const decision = (permissionDecision: string, reason: unknown = expect.any(String), more = {}) => ({
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision,
    permissionDecisionReason: reason,
    ...more,
  },
})

describe('a call of Claude Code', () => {
  test('is shown word for word and allowed on the phone', async () => {
    const user = await newUser()
    const asking = hook(user, 'bash')
    const item = await waiting(user)
    expect(item.action).toEqual({
      summary: 'git push origin main',
      tool: 'Bash',
      args: JSON.parse(recorded('bash')).tool_input,
      target: '/home/ada/shop (call toolu_01QmXk3wq7r2n8)',
    })
    expect(item.ask.question).toBe('Bash in /home/ada/shop: git push origin main')
    await approve(user, item.id, { choice: 'allow' })
    expect(await asking.ended).toMatchObject({ code: 0, json: decision('allow') })
  })

  test('is denied with the reason, and left to the terminal where the person wants that', async () => {
    const user = await newUser()
    const denied = hook(user, 'write')
    await deny(user, (await waiting(user)).id, 'not that file')
    expect(await denied.ended).toMatchObject({
      code: 0,
      json: decision('deny', 'Denied by the person: not that file'),
    })
    const left = hook(user, 'bash')
    await approve(user, (await waiting(user)).id, { choice: 'terminal' })
    expect(await left.ended).toMatchObject({ code: 0, json: decision('ask') })
  })

  test('goes on with what the person made of it', async () => {
    const user = await newUser()
    const edited = { command: 'git push origin review' }
    const asking = hook(user, 'bash')
    await approve(user, (await waiting(user)).id, { choice: 'allow', edited_args: edited })
    expect((await asking.ended).json).toEqual(decision('allow', expect.any(String), { updatedInput: edited }))
  })

  test('answers a dialog in that dialog’s own words', async () => {
    const user = await newUser()
    const asking = hook(user, 'permission-request')
    await deny(user, (await waiting(user)).id, 'no')
    expect((await asking.ended).json).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PermissionRequest',
        decision: { behavior: 'deny', message: 'Denied by the person: no' },
      },
    })
  })
})

describe('what goes wrong is a no that says why', () => {
  test('when nobody answers, and the ask is taken back', async () => {
    const user = await newUser()
    const ran = await hook(user, 'bash', ['--wait=2s']).ended
    expect(ran).toMatchObject({ code: 0, json: decision('deny', expect.stringContaining('Nobody answered')) })
    expect(await asks(user)).toEqual([])
    expect((await hook(user, 'bash', ['--wait=1s', '--otherwise', 'ask']).ended).json).toEqual(
      decision('ask'),
    )
  })

  test('when the server is away', async () => {
    const env = { GUILD_BASE_URL: 'http://127.0.0.1:9', GUILD_API_KEY: 'guild_live_none' }
    const ran = await run(newHome(), ['hook', 'claude-code'], { env, stdin: recorded('bash') })
    expect(ran).toMatchObject({
      code: 0,
      json: decision(
        'deny',
        expect.stringContaining('Guildhall could not be asked, so this was not allowed'),
      ),
    })
  })

  test('when nobody is signed in', async () => {
    const ran = await run(newHome(), ['hook', 'claude-code'], { stdin: recorded('bash') })
    expect(ran).toMatchObject({ code: 0, json: decision('deny', expect.stringContaining('guild login')) })
  })

  test.each([
    ['nothing', ''],
    ['no JSON', 'git push'],
    ['another event', JSON.stringify({ hook_event_name: 'Stop' })],
    ['no tool', JSON.stringify({ hook_event_name: 'PreToolUse', tool_input: {} })],
  ])('when stdin holds %s: exit code 2, which blocks', async (_, stdin) => {
    const user = await newUser()
    expect(await run(user.home, ['hook', 'claude-code'], { env: user.env, stdin })).toMatchObject({
      code: 2,
      stdout: '',
    })
  })

  test('when the call is too large to be shown whole', async () => {
    const user = await newUser()
    const call = JSON.parse(recorded('write'))
    call.tool_input.content = 'x'.repeat(80_000)
    const ran = await run(user.home, ['hook', 'claude-code'], { env: user.env, stdin: JSON.stringify(call) })
    expect(ran).toMatchObject({ code: 0, json: decision('deny') })
  })
})

describe('an ask is taken back', () => {
  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'at %s, as when the terminal answered first',
    async (name) => {
      const user = await newUser()
      const asking = hook(user, 'permission-request')
      const { id } = await waiting(user)
      asking.child.kill(name)
      expect((await asking.ended).code).toBe(2)
      const [item] = await until(async () => {
        const items = await asks(user, 'expired')
        return items.length > 0 ? items : undefined
      })
      expect(item).toMatchObject({ id, ask: { withdrawn: { because: 'The agent stopped waiting' } } })
    },
  )

  test('when the agent that asked was killed', async () => {
    const user = await newUser()
    const agent = spawn(
      process.execPath,
      [
        '-e',
        'const c=require("child_process").spawn(process.execPath,process.argv.slice(1),{stdio:["pipe","inherit","inherit"]});c.stdin.end(process.env.CALL);setInterval(()=>{},1e6)',
        program,
        'hook',
        'claude-code',
      ],
      { env: { ...environmentOf(user.home, user.env), CALL: recorded('bash') }, stdio: 'ignore' },
    )
    await waiting(user)
    agent.kill('SIGKILL')
    await until(async () => (await asks(user)).length === 0)
  })
})

describe('the generic form', () => {
  const call = JSON.stringify({ tool: 'bash', args: { command: 'git push' }, summary: 'Push', cwd: '/srv' })

  test('says yes with 0 and only with 0', async () => {
    const user = await newUser()
    const yes = start(user.home, ['hook', 'generic'], { env: user.env, stdin: call })
    const item = await waiting(user)
    expect(item.action).toEqual({
      summary: 'Push',
      tool: 'bash',
      args: { command: 'git push' },
      target: expect.stringMatching(/^\/srv \(call [0-9a-f]{12}\)$/),
    })
    await approve(user, item.id, { choice: 'allow' })
    expect(await yes.ended).toMatchObject({ code: 0, json: { decision: 'allow' } })
    const no = start(user.home, ['hook', 'generic'], { env: user.env, stdin: call })
    await deny(user, (await waiting(user)).id, 'no')
    expect(await no.ended).toMatchObject({ code: 5, json: { decision: 'deny' } })
    expect((await run(user.home, ['hook', 'generic'], { stdin: call })).code).toBe(5)
    expect((await run(user.home, ['hook', 'generic'], { env: user.env, stdin: 'x' })).code).toBe(2)
  })
})

describe('guild ask', () => {
  test('is answered, denied, left unanswered, and taken back at ^C', async () => {
    const user = await newUser()
    const args = ['ask', 'Push to main?', '--action', 'git push origin main', '--json']
    const yes = start(user.home, [...args, '--choice', 'main=Main', '--choice', 'deny:none=None'], {
      env: user.env,
    })
    const item = await waiting(user)
    expect(item).toMatchObject({
      ask: { question: 'Push to main?' },
      action: { args: { command: 'git push origin main' } },
    })
    await approve(user, item.id, { choice: 'main' })
    expect(await yes.ended).toMatchObject({ code: 0, json: { status: 'answered', choice: 'main' } })

    const no = start(user.home, args, { env: user.env })
    await deny(user, (await waiting(user)).id, 'later')
    expect(await no.ended).toMatchObject({ code: 5, stdout: '', error: { message: 'No: "later"' } })
    expect(await run(user.home, [...args, '--wait=1s'], { env: user.env })).toMatchObject({
      code: 6,
      stdout: '',
    })

    const stopped = start(user.home, args, { env: user.env })
    await waiting(user)
    stopped.child.kill('SIGINT')
    expect((await stopped.ended).code).toBe(130)
    await until(async () => (await asks(user)).length === 0)
  })
})
