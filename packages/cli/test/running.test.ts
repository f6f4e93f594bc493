import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bash, installErrand, script } from '../../../test/support/executions.ts'
import { definitionOf, runsOf } from '../../../test/support/workflows.ts'
import { app, newUser, run, start, until } from './support/guild.ts'

type User = Awaited<ReturnType<typeof newUser>>

async function newRunner(fields: Record<string, unknown> = {}): Promise<User> {
  const user = await newUser(fields)
  await installErrand(app, user.person)
  return user
}

/** Says something every second for a minute. */
const slow = script(...Array.from({ length: 60 }, () => ({ say: 'Slowly.', tools: [bash('sleep 1')] })))
const statusOf = async ({ key }: User, id: string) =>
  (await app.call('GET', `/api/v1/executions/${id}/status`, { key: key.secret })).body
const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('guild run', () => {
  test('streams every event, ends with the result, and writes the files', async () => {
    const user = await newRunner()
    const input = script(
      { say: 'Looking.', tools: [bash('mkdir -p output && echo hello > output/report.md')] },
      { say: 'The report is written.' },
    )
    const ran = await run(user.home, ['run', 'errand', input, '-o', 'out', '--json'], { env: user.env })
    expect(ran.code).toBe(0)
    const events = lines(ran.stdout)
    expect(events.slice(0, -1).map(({ sequence }) => sequence)).toEqual(
      events.slice(0, -1).map((_, at) => at + 1),
    )
    const result = events.at(-1)
    expect(result).toMatchObject({
      type: 'guild.result',
      status: 'completed',
      stopReason: 'end_turn',
      exitCode: 0,
    })
    expect(result.files).toMatchObject([{ name: expect.stringContaining('report.md') }])
    expect(result.saved).toHaveLength(1)
    expect(readFileSync(result.saved[0], 'utf8')).toBe('hello\n')
    expect(result.saved[0].startsWith(join(user.home, 'out'))).toBe(true)

    const { cost } = await statusOf(user, result.executionId)
    expect(result.cost).toBe(cost)
    const shown = await run(user.home, ['exec', 'show', result.executionId, '--get', 'status'], {
      env: user.env,
    })
    expect(shown.stdout).toBe('completed\n')
    const watched = await run(user.home, ['exec', 'watch', result.executionId, '--json'], { env: user.env })
    expect(lines(watched.stdout).slice(0, -1)).toEqual(events.slice(0, -1))
    const listed = await run(user.home, ['exec', 'list', '--source', 'cli', '--json=executionId'], {
      env: user.env,
    })
    expect(listed.json.items).toEqual([{ executionId: result.executionId }])
  })

  test('prints the final text alone into a pipe', async () => {
    const user = await newRunner()
    const ran = await run(user.home, ['run', 'errand', '-'], {
      env: user.env,
      stdin: script({ say: 'All \u001b]52;c;aGk=\u0007 done.' }),
    })
    expect(ran).toMatchObject({ code: 0, stdout: 'All \u001b]52;c;aGk=\u0007 done.\n' })
  })

  test('goes on after one ^C, and is stopped by a second', async () => {
    const user = await newRunner()
    const left = start(user.home, ['run', 'errand', slow], { env: user.env })
    const id = await until(() => /exec_\S+/.exec(left.stderr())?.[0])
    left.child.kill('SIGINT')
    const ended = await left.ended
    expect(ended.code).toBe(130)
    expect(ended.stderr).toContain(`guild exec watch ${id}`)
    expect((await statusOf(user, id)).status).toBe('working')
    expect((await run(user.home, ['exec', 'cancel', id, '--json'], { env: user.env })).code).toBe(0)

    const stopped = start(user.home, ['run', 'errand', slow, '--json'], { env: user.env })
    await until(() => stopped.stdout().includes('session.status_running'))
    stopped.child.kill('SIGINT')
    await until(() => stopped.stderr().includes('goes on'))
    stopped.child.kill('SIGINT')
    const second = await stopped.ended
    expect(second.code).toBe(10)
    const result = lines(second.stdout).at(-1)
    expect(result).toMatchObject({ type: 'guild.result', stopReason: 'interrupt', exitCode: 10 })
    expect((await statusOf(user, result.executionId)).stopReason).toBe('interrupt')
  })

  test('leaves it running at SIGTERM and when the pipe is closed', async () => {
    const user = await newRunner()
    const ended = start(user.home, ['run', 'errand', slow, '--json'], { env: user.env })
    const id = await until(() => /exec_\S+/.exec(ended.stderr())?.[0])
    ended.child.kill('SIGTERM')
    expect((await ended.ended).code).toBe(143)
    expect((await statusOf(user, id)).status).toBe('working')
    const watching = start(user.home, ['exec', 'watch', id, '--json'], { env: user.env })
    await until(() => watching.stdout().length > 0)
    watching.child.stdout?.destroy()
    await watching.ended
    expect((await statusOf(user, id)).status).toBe('working')
    await app.call('POST', `/api/v1/executions/${id}/cancel`, { key: user.key.secret })
  })

  test('leaves it running when the terminal goes away, when its reader goes, and when a watcher stops', async () => {
    const user = await newRunner()
    const hungUp = start(user.home, ['run', 'errand', slow], { env: user.env })
    const id = await until(() => /exec_\S+/.exec(hungUp.stderr())?.[0])
    hungUp.child.kill('SIGHUP')
    expect((await hungUp.ended).code).toBe(129)
    const watching = start(user.home, ['exec', 'watch', id], { env: user.env })
    await until(() => watching.stderr().includes(id))
    watching.child.kill('SIGINT')
    expect((await watching.ended).code).toBe(130)
    expect((await statusOf(user, id)).status).toBe('working')
    await app.call('POST', `/api/v1/executions/${id}/cancel`, { key: user.key.secret })

    const read = start(user.home, ['run', 'errand', slow, '--json'], { env: user.env })
    const other = await until(() => /exec_\S+/.exec(read.stderr())?.[0])
    await until(() => read.stdout().length > 0)
    read.child.stdout?.destroy()
    expect((await read.ended).code).toBe(0)
    expect((await statusOf(user, other)).status).toBe('working')
    await app.call('POST', `/api/v1/executions/${other}/cancel`, { key: user.key.secret })
  })
})

describe('guild wf', () => {
  test('launches, waits at a question with 6, is answered in another terminal and watched to its end', async () => {
    const user = await newUser()
    const mapConfig = JSON.stringify({ question: { value: 'Which?' }, answerableBy: { value: 'agent' } })
    const definition = definitionOf('ask-on', [
      { type: 'mapping', id: 'words', mapConfig: JSON.parse(mapConfig) },
      { type: 'tool', id: 'question', toolId: 'ask-human' },
    ])
    writeFileSync(join(user.home, 'workflow.json'), JSON.stringify({ $schema: 'x', ...definition }))
    const options = { env: user.env }
    expect(await run(user.home, ['wf', 'validate', '--json'], options)).toMatchObject({
      code: 0,
      json: { valid: true },
    })
    expect((await run(user.home, ['wf', 'install', '--json'], options)).code).toBe(0)
    const launched = await run(
      user.home,
      ['wf', 'launch', 'ask-on', '-i', 'a=1', '--watch', '--json'],
      options,
    )
    expect(launched.code).toBe(6)
    const { runId, suspended } = lines(launched.stdout).at(-1)
    expect(suspended).toEqual(['question'])
    const watching = start(user.home, ['wf', 'watch', runId, '--through', '--json'], options)
    await until(() => watching.stdout().includes('suspended'))
    expect((await run(user.home, ['wf', 'resume', runId, '--answer', 'this one'], options)).code).toBe(0)
    const watched = await watching.ended
    expect(watched.code).toBe(0)
    expect(lines(watched.stdout).at(-1)).toMatchObject({ type: 'guild.result', runId, status: 'success' })
    expect((await run(user.home, ['wf', 'resume', runId, '--answer', 'again', '--json'], options)).code).toBe(
      12,
    )
    const graph = await run(user.home, ['wf', 'graph', 'ask-on'], options)
    expect(graph.stdout).toContain('ask-human')
    const again = await run(user.home, ['wf', 'rerun', runId, '--json'], options)
    expect(await run(user.home, ['wf', 'cancel', again.json.runId, '--json'], options)).toMatchObject({
      code: 0,
    })
    expect((await runsOf(app, user.person).get(runId)).body.run.status).toBe('success')
  })

  test('never says yes to an approval with a key', async () => {
    const user = await newUser()
    const ran = await run(user.home, ['wf', 'resume', 'run_x', '--approve', '--json'], { env: user.env })
    expect(ran).toMatchObject({ code: 4, stdout: '' })
  })
})

describe('guild skills', () => {
  test('go from a folder into the library and back, without what must not come along', async () => {
    const user = await newUser()
    const options = { env: user.env }
    await run(user.home, ['skills', 'init', 'my-skill'], options)
    mkdirSync(join(user.home, 'my-skill', '.git'))
    writeFileSync(join(user.home, 'my-skill', '.git', 'config'), 'secret')
    expect((await run(user.home, ['skills', 'lint', 'my-skill', '--json'], options)).json).toMatchObject({
      valid: true,
    })
    const installed = await run(user.home, ['skills', 'install', './my-skill', '--json'], options)
    expect(installed).toMatchObject({ code: 0, json: { slug: 'my-skill', versionNumber: 1, filesCount: 1 } })
    const pulled = await run(user.home, ['skills', 'pull', 'my-skill', '-o', 'copy', '--json'], options)
    expect(pulled.code).toBe(0)
    expect(pulled.json.files.some((name: string) => name.endsWith('SKILL.md'))).toBe(true)
    expect(existsSync(join(user.home, 'copy', '.git'))).toBe(false)
    expect((await run(user.home, ['skills', 'list'], options)).stdout).toMatch(/^my-skill\t1\t/)
    expect((await run(user.home, ['skills', 'uninstall', 'my-skill', '--json'], options)).code).toBe(0)
  })
})
