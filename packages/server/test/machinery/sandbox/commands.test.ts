import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { createSandboxDriver, type Sandbox, type SandboxSpec } from '#machinery/sandbox/sandbox.ts'
import {
  kinds,
  makeConfig,
  processesOf,
  removeConfig,
  smallLimits,
  stubbornTree,
  waitUntil,
} from './support.ts'

const megabyte = 1024 * 1024

describe.each(kinds)('%s', (kind) => {
  const config = makeConfig(kind)
  const driver = createSandboxDriver(config)
  let opened: Sandbox[] = []
  let last = 0

  const open = async (more: Partial<SandboxSpec> = {}) => {
    const spec = { id: `commands-${kind}-${last++}`, skillFiles: [], limits: smallLimits, env: {}, ...more }
    const sandbox = await driver.create(spec)
    opened.push(sandbox)
    return sandbox
  }
  const run = (sandbox: Sandbox, shell: string, more: Partial<Parameters<Sandbox['run']>[0]> = {}) =>
    sandbox.run({ shell, timeoutMs: 20_000, maxOutputBytes: 10_000, ...more })

  afterEach(async () => {
    for (const sandbox of opened) expect(await sandbox.destroy()).toBe(true)
    opened = []
  })
  afterAll(() => removeConfig(config))

  test('a command has the skill, the workspace, its input and only the environment it was given', async () => {
    const script = {
      path: 'bin/greet.sh',
      bytes: Buffer.from('#!/bin/bash\necho "hello $1"'),
      executable: true,
    }
    const data = { path: 'data.txt', bytes: Buffer.from('from the skill'), executable: false }
    const sandbox = await open({ skillFiles: [script, data], env: { TOPIC: 'bees' } })
    const first = await run(sandbox, '/skill/bin/greet.sh you; cat - /skill/data.txt; echo no >&2; exit 7', {
      stdin: Buffer.from('typed '),
    })
    expect(first).toEqual({
      exitCode: 7,
      signal: null,
      stdout: 'hello you\ntyped from the skill',
      stderr: 'no\n',
      truncated: false,
      timedOut: false,
      outOfMemory: false,
    })
    const { stdout } = await run(
      sandbox,
      'pwd; id -u; python3 -c "import os; print(sorted(os.environ))"; env',
    )
    expect(stdout).toContain('/workspace\n1000\n')
    expect(stdout).toContain('TOPIC=bees')
    expect(stdout).toContain('LANG=C.UTF-8')
    const own = ['HOME', 'LANG', 'PATH', 'PWD', 'SHLVL', 'TMPDIR', 'TOPIC', 'USER', '_']
    expect(stdout).toContain(`[${own.map((name) => `'${name}'`).join(', ')}]`)
  })

  test('nothing dumps core', async () => {
    const sandbox = await open()
    const raise = 'import resource as r; r.setrlimit(r.RLIMIT_CORE, (r.RLIM_INFINITY,) * 2)'
    const { stdout } = await run(
      sandbox,
      `python3 -c '${raise}' 2>&1 | tail -1; ulimit -c hard; bash -c 'kill -SEGV $$'; ls`,
    )
    expect(stdout).toBe('ValueError: not allowed to raise maximum limit\n')
  })

  test('files stay from one command to the next, processes do not', async () => {
    const sandbox = await open()
    await run(sandbox, 'echo kept > note; (setsid sleep 1000 &) ; sleep 1000 & echo $! > pid')
    const { stdout } = await run(
      sandbox,
      'cat note; echo /proc/[0-9]* | wc -w; kill -0 $(cat pid) || echo gone',
    )
    // The first process, this bash, its copy for echo, and wc.
    expect(stdout).toMatch(/^kept\n[2345]\ngone\n$/)
  })

  test('output is capped for each stream and never stops the command', async () => {
    const sandbox = await open()
    const shell = 'head -c 5000000 /dev/zero | tr "\\0" x; echo done > done; printf €€ >&2'
    const result = await run(sandbox, shell, { maxOutputBytes: 5 })
    expect(result).toMatchObject({ exitCode: 0, stdout: 'xxxxx', truncated: true })
    expect(result.stderr).toBe('€\ufffd')
    expect(await sandbox.readFile('done', 100)).toBeDefined()
  })

  test('time over, and CPU time over: the whole tree ends and the sandbox goes on', async () => {
    const sandbox = await open({ limits: { ...smallLimits, cpuSeconds: 1 } })
    const slow = await run(sandbox, stubbornTree, { timeoutMs: 500 })
    expect(slow).toMatchObject({ exitCode: null, signal: 'SIGKILL', timedOut: true, outOfMemory: false })
    // With time enough that only the CPU time can have ended it.
    const busy = await run(sandbox, 'for i in 1 2 3; do (while :; do :; done) & done; wait', {
      timeoutMs: 600_000,
    })
    expect(busy).toMatchObject({ signal: 'SIGKILL', timedOut: true })
    expect(await run(sandbox, 'echo on')).toMatchObject({ stdout: 'on\n', timedOut: false })
  })

  test('an aborted command has ended when the promise rejects', async () => {
    const sandbox = await open()
    const stop = new AbortController()
    const command = run(sandbox, `touch started; ${stubbornTree}`, { signal: stop.signal })
    const next = run(sandbox, 'ls; echo next')
    const refused = expect(command).rejects.toThrow('enough')
    await waitUntil(() => processesOf(config, sandbox.id).size >= 11, 20_000)
    stop.abort(new Error('enough'))
    await refused
    expect((await next).stdout).toBe('started\nnext\n')
    await expect(run(sandbox, 'true', { signal: AbortSignal.abort() })).rejects.toThrow()
  })

  test('memory over: the command ends, and says so', async () => {
    const sandbox = await open()
    const result = await run(sandbox, 'python3 -c "x = bytearray(1 << 30); print(len(x))"')
    expect(result).toMatchObject({ signal: 'SIGKILL', stdout: '', outOfMemory: true })
  })

  test('a full workspace refuses more and loses nothing', async () => {
    const sandbox = await open()
    await sandbox.writeFile('kept', Buffer.from('kept'))
    await expect(sandbox.writeFile('big', Buffer.alloc(9 * megabyte))).rejects.toThrow(
      'No space left on device',
    )
    expect((await sandbox.readFile('kept', 10))?.bytes.toString()).toBe('kept')
    expect((await run(sandbox, 'cat kept; rm big; echo more > more && cat more')).stdout).toBe('keptmore\n')
  })

  test('an id is taken until it is destroyed, and a destroyed sandbox answers nothing', async () => {
    const sandbox = await open({ id: `taken-${kind}` })
    await expect(open({ id: `taken-${kind}` })).rejects.toThrow('exists already')
    expect((await run(sandbox, 'echo still here')).stdout).toBe('still here\n')
    const command = run(sandbox, 'sleep 1000')
    const refused = expect(command).rejects.toMatchObject({ reason: 'lost' })
    await waitUntil(() => processesOf(config, sandbox.id).size > 0, 5000)
    expect(await sandbox.destroy()).toBe(true)
    await refused
    await expect(sandbox.readFile('x', 1)).rejects.toMatchObject({ reason: 'lost' })
    await open({ id: `taken-${kind}` })
  })

  test('what cannot be a sandbox is refused and leaves nothing', async () => {
    for (const id of ['', '..', 'a/b', '-x', 'a b'])
      await expect(open({ id })).rejects.toThrow('cannot be the id')
    for (const path of ['../x', '/etc/x', 'a//b', 'a/../../b', '']) {
      const file = { path, bytes: Buffer.from('x'), executable: false }
      await expect(open({ id: `bad-${kind}`, skillFiles: [file] })).rejects.toThrow(
        'cannot be a file of a skill',
      )
    }
    await open({ id: `bad-${kind}` })
  })
})
